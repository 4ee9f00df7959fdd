#pragma once

#include "sim/time/availability.hpp"

// Your own availability: struct MyHours final : SometimesThere<MyHours, MySettings>, where MySettings derives from AwaySettings
// (sim/time/availability.hpp), registered by add_part<Availability>(MyHours{}).
