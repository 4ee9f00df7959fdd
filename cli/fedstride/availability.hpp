#pragma once

#include "sim/time/availability.hpp"

// To add an availability, define struct MyHours final : SometimesThere<MyHours, MySettings>, where MySettings derives from
// AwaySettings (sim/time/availability.hpp), and register it with add_part<Availability>(MyHours{}).
