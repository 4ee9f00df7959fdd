#pragma once

#include "nn/model.hpp"
#include "nn/network.hpp"

// Models of layers, their scores and gradients. Layers are a list that is fixed when fedstride is compiled (CONTRIBUTING.md).
