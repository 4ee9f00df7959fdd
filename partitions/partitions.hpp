#pragma once

#include <string>
#include <string_view>

#include "core/part.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// A rule that assigns rows to clients. The same input always gives the same lists.
class PartitionPart : public Part {
 public:
  static PartFamily& family();  ///< listed in partitions/partitions.cpp

  /// Assigns every row of the input to exactly one list, leaving no list empty, in time bounded by the input's size. A part whose
  /// settings or file limit the number of rows may omit some rows. Throws Error (usage) with the reason.
  virtual ClientRows assign(const PartitionInput& input) const = 0;
  virtual Dealing dealing() const = 0;
  /// The property of examples that this part needs in the input ("mean", "7"); empty: none.
  virtual std::string_view needs_property() const { return {}; }
  /// How many classes each client holds, if the part deals the classes out in turn; otherwise nullptr.
  virtual const AutoWhole* classes_in_turn() const { return nullptr; }
  /// The setting with the path of the file that determines the lists; nullptr if no file is read.
  virtual const std::string* reads() const { return nullptr; }
  std::string* reads() { return const_cast<std::string*>(std::as_const(*this).reads()); }
};

/// A chosen partition; the default is pathological.
using Partitioner = Chosen<PartitionPart>;

/// Assigns the rows. Throws Error (usage) if the settings or the input are invalid (partition.hpp).
ClientRows assign(const Partitioner& partitioner, const PartitionInput& input);

}  // namespace fedstride
