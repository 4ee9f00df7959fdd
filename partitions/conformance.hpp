#pragma once

#include <string>
#include <vector>

#include "partitions/partitions.hpp"

namespace fedstride {

/// The promises of partitions/partition.hpp that a partition, with its settings, does not keep: a line each, none if all is well.
/// It deals out some fifty inputs of 1 to 500 drawn rows, of which it may refuse some (Error, usage), but not all. That it
/// ends in a time bounded by the sizes is the caller's to see. For the test of a partition of one's own:
///   CHECK(complaints(Partitioner(MyPartition{})).empty());
std::vector<std::string> complaints(const Partitioner& partitioner);

}  // namespace fedstride
