#pragma once

#include "client/objectives/local_objective.hpp"

// Your own local objective: a class derived from ObjectiveBase (client/objectives/local_objective.hpp), registered by
// add_part<LocalObjective>(MyObjective{}).
