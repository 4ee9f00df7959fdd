#pragma once

#include "client/attacks/attack.hpp"

// Your own attack: struct MyAttack final : AttackBase<MyAttack, MySettings>, where MySettings derives from Attackers
// (client/attacks/attack.hpp), registered by add_part<Attack>(MyAttack{}).
