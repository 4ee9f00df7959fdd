#pragma once

#include "server/cohort.hpp"

// To add a cohort, define struct MyCohort final : PartBase<CohortPart, MyCohort> (server/cohort.hpp) and register it with
// add_part<Cohort>(MyCohort{}).
