#pragma once

#include "client/objectives/local_objective.hpp"

// To add a local objective, derive a class from ObjectiveBase (client/objectives/local_objective.hpp) and register it with
// add_part<LocalObjective>(MyObjective{}).
