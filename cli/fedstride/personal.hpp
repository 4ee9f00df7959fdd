#pragma once

#include "client/personal/personal.hpp"

// Your own kind of personal model: struct MyKind final : PartBase<PersonalPart, MyKind> (client/personal/personal.hpp), registered by
// add_part<Personal>(MyKind{}).
