#pragma once

#include <string>
#include <string_view>

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
  virtual Dealing dealing() const = 0;
  /// The property of examples that it needs in the input, or "".
  virtual std::string_view needs_property() const = 0;
  /// The path of the file that its lists follow from, or nullptr if it reads none.
  virtual std::string* reads() = 0;
  virtual bool reads_file() const = 0;
};

template <Partition P>
class PartitionOf final : public PartOf<PartitionPart, PartitionOf<P>, P> {
 public:
  using PartOf<PartitionPart, PartitionOf<P>, P>::PartOf;
  ClientRows assign(const PartitionInput& input) const final { return this->part_.assign(input); }
  Dealing dealing() const final { return P::kDealing; }
  std::string_view needs_property() const final {
    if constexpr (requires(const P& part) { part.needs_property(); }) return this->part_.needs_property();
    return {};
  }
  bool reads_file() const final {
    return requires(P & part) { part.reads(); };
  }
  std::string* reads() final {
    if constexpr (requires(P & part) { part.reads(); }) return &this->part_.reads();
    return nullptr;
  }
};

/// A partition that has been chosen; the default is the pathological one.
using Partitioner = Chosen<PartitionPart>;

/// Deals the rows out. Throws Error (usage) if the settings or the input are not valid (partition.hpp).
ClientRows assign(const Partitioner& partitioner, const PartitionInput& input);

}  // namespace fedstride
