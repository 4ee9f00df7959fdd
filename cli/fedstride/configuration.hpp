#pragma once

#include "sim/run/configuration.hpp"
#include "sim/run/run.hpp"

// resolve(settings) makes a Configuration, which a program may change before run(configuration, settings, observer).
