#pragma once

#include "client/personal/personal.hpp"

// To add a kind of personal model, define struct MyKind final : PartBase<PersonalPart, MyKind> (client/personal/personal.hpp) and
// register it with add_part<Personal>(MyKind{}).
