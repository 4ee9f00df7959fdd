#pragma once

#include "sim/time/mode.hpp"
#include "sim/time/timed_run.hpp"

// Your own mode of virtual time: struct MyMode final : PartBase<ModePart, MyMode>, which makes a TimedRun (sim/time/mode.hpp), registered
// by add_part<Mode>(MyMode{}).
