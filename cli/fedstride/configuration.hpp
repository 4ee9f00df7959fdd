#pragma once

#include "sim/run/run.hpp"
#include "sim/settings/configuration.hpp"

// resolve(settings) makes a Configuration, which a program may change before calling run(configuration, settings, observer).
