#pragma once

#include "core/random.hpp"
#include "partitions/partitions.hpp"

// Your own partition: struct MyPartition final : PartBase<PartitionPart, MyPartition>, which overrides assign and dealing,
// registered by add_part<Partitioner>(MyPartition()).
