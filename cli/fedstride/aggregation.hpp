#pragma once

#include "server/aggregation.hpp"
#include "server/aggregation/coordinates.hpp"

// To add an aggregation, derive a class from SummingAggregation or ComparingAggregation (server/aggregation.hpp) and register it
// with add_part<Aggregation>(MyAggregation{}).
