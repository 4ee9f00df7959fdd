#pragma once

#include "core/random.hpp"
#include "partitions/partitions.hpp"

// A partition of one's own: a struct that is a Partition (partitions/partition.hpp), made known by
// add_part<Partitioner>(MyPartition{}).
