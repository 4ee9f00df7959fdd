#pragma once

#include "server/cohort.hpp"

// Your own cohort: struct MyCohort final : PartBase<CohortPart, MyCohort> (server/cohort.hpp), registered by
// add_part<Cohort>(MyCohort{}).
