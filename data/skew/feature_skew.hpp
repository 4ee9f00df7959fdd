#pragma once

#include <cstdint>
#include <string>

#include "core/part.hpp"
#include "data/dataset.hpp"

namespace fedstride {

/// Inputs that differ from client to client. The skew belongs to a client's examples: they are the same in every epoch, and the client
/// is tested on examples of the same kind. The test part of the data set and the validation rows are nobody's and have none, unless a
/// kind says that test rows are read as the clients have theirs.
class FeatureSkewPart : public Part {
 public:
  static PartFamily& family();  ///< data/skew/feature_skews.cpp has the list

  /// The reason why it means nothing for these data, as in "which changes pictures; data set 'csv' has none"; "": it does.
  virtual std::string objection(const Dataset& /*data*/) const { return {}; }
  /// Throws Error (usage) if it has an objection, with the kinds that have none.
  void check_data(const Dataset& data) const;

  /// True if the client's pictures are drawn anew, by redraw, which writes the picture `from` (planes, as in Dataset) as the client
  /// has it.
  virtual bool redraws(std::uint32_t /*client*/) const { return false; }
  virtual void redraw(std::uint32_t /*client*/, const std::uint8_t* /*from*/, const Shape&, std::uint8_t* /*to*/) const {}
  /// The variance of the normal noise on each value of the client's inputs, 0 for none. Values of pictures count from 0 to 1, other
  /// features in standard deviations of their columns.
  virtual double noise(std::uint32_t /*client*/, std::uint32_t /*clients*/) const { return 0; }
  virtual bool draws_anew() const { return false; }  ///< a training example's noise is drawn whenever it is read, and not once
  virtual bool is_on_test() const { return false; }  ///< the test part is read as clients have theirs: row r as client r mod K
};

/// A feature skew that has been chosen; the default is none.
using FeatureSkew = Chosen<FeatureSkewPart>;

}  // namespace fedstride
