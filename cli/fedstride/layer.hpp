#pragma once

#include "nn/model.hpp"
#include "nn/network.hpp"

// Models of layers, their scores and gradients. Layers are a list fixed when fedstride is compiled (CONTRIBUTING.md).
