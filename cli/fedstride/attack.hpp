#pragma once

#include "client/attacks/attack.hpp"

// To add an attack, define struct MyAttack final : AttackBase<MyAttack, MySettings>, where MySettings derives from Attackers
// (client/attacks/attack.hpp), and register it with add_part<Attack>(MyAttack{}).
