#pragma once

#include "nn/model.hpp"
#include "nn/network.hpp"

// Models made of layers, with their scores and gradients. The layers are fixed when fedstride is compiled (CONTRIBUTING.md).
