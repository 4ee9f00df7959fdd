#pragma once

#include <string>
#include <variant>

#include "partitions/dirichlet.hpp"
#include "partitions/dirichlet_balanced.hpp"
#include "partitions/from_file.hpp"
#include "partitions/iid.hpp"
#include "partitions/interpolated.hpp"
#include "partitions/own_rows.hpp"
#include "partitions/pathological.hpp"
#include "partitions/shards.hpp"

namespace fedstride {

/// Every partition there is; the first is the default.
using Partitioner = std::variant<Pathological, Iid, Interpolated, Shards, Dirichlet, DirichletBalanced, FromFile, OwnRows>;

/// Deals the rows out. Throws Error (usage) if the settings or the input are not valid (partition.hpp).
Assignment assign(const Partitioner& partitioner, const PartitionInput& input);

}  // namespace fedstride
