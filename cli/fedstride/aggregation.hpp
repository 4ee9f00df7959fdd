#pragma once

#include "server/aggregation.hpp"
#include "server/aggregation/coordinates.hpp"

// Your own aggregation: a class derived from SummingAggregation or ComparingAggregation (server/aggregation.hpp), registered by
// add_part<Aggregation>(MyAggregation{}).
