#pragma once

#include "sim/time/devices.hpp"

// To add devices, define struct MyDevices final : DrawnDevices<MyDevices> (sim/time/devices.hpp) and register it with
// add_part<Devices>(MyDevices{}).
