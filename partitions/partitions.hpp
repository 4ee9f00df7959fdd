#pragma once

#include "core/part.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

template <Partition P>
class PartitionOf;

/// The abstract interface of a partition.
class PartitionPart : public Part {
 public:
  static PartFamily& family();  ///< partitions/partitions.cpp has the list
  template <Partition P>
  using Of = PartitionOf<P>;

  virtual ClientRows assign(const PartitionInput& input) const = 0;
};

template <Partition P>
class PartitionOf final : public PartOf<PartitionPart, PartitionOf<P>, P> {
 public:
  using PartOf<PartitionPart, PartitionOf<P>, P>::PartOf;
  ClientRows assign(const PartitionInput& input) const final { return this->part_.assign(input); }
};

/// A partition that has been chosen; the default is the pathological one.
using Partitioner = Chosen<PartitionPart>;

/// Deals the rows out. Throws Error (usage) if the settings or the input are not valid (partition.hpp).
ClientRows assign(const Partitioner& partitioner, const PartitionInput& input);

}  // namespace fedstride
