#pragma once

#include "nn/model.hpp"
#include "nn/network.hpp"

// Models of layers, their scores and gradients. The list of layers is fixed when fedstride is compiled (CONTRIBUTING.md).
