#pragma once

#include "core/random.hpp"
#include "partitions/partitions.hpp"

// To add a partition, define struct MyPartition final : PartBase<PartitionPart, MyPartition>, which overrides assign and dealing,
// and register it with add_part<Partitioner>(MyPartition()).
