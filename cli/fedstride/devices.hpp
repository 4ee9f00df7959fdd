#pragma once

#include "sim/time/devices.hpp"

// Your own devices: struct MyDevices final : DrawnDevices<MyDevices> (sim/time/devices.hpp), registered by
// add_part<Devices>(MyDevices{}).
