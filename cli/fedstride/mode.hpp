#pragma once

#include "sim/time/mode.hpp"
#include "sim/time/timed_run.hpp"

// To add a mode of virtual time, define struct MyMode final : PartBase<ModePart, MyMode>, which makes a TimedRun
// (sim/time/mode.hpp), and register it with add_part<Mode>(MyMode{}).
