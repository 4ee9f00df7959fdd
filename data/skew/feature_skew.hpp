#pragma once

#include <cstdint>
#include <string>

#include "core/part.hpp"
#include "data/dataset.hpp"

namespace fedstride {

/// Inputs that differ from client to client. The skew belongs to a client's examples: they are the same in every epoch, and the
/// client is tested on examples of the same kind. The test part and the validation rows belong to no client and have none, unless
/// a kind reads test rows like the clients' rows.
class FeatureSkewPart : public Part {
 public:
  static PartFamily& family();  ///< data/skew/feature_skews.cpp has the list

  /// Why the skew does not apply to these data, as in "which changes pictures; data set 'csv' has none"; "" if it applies.
  virtual std::string objection(const Dataset& /*data*/) const { return {}; }
  /// Throws Error (usage) if it has an objection, listing the kinds that do not.
  void check_data(const Dataset& data) const;

  /// True if redraw transforms the client's pictures: it writes the client's version of the picture `from` (planes, as in
  /// Dataset).
  virtual bool redraws(std::uint32_t /*client*/) const { return false; }
  virtual void redraw(std::uint32_t /*client*/, const std::uint8_t* /*from*/, const Shape&, std::uint8_t* /*to*/) const {}
  /// The variance of the normal noise on each value of the client's inputs, 0 for none. Picture values range from 0 to 1, other
  /// features are in standard deviations of their columns.
  virtual double noise(std::uint32_t /*client*/, std::uint32_t /*clients*/) const { return 0; }
  virtual bool draws_anew() const { return false; }  ///< a training example's noise is drawn at every reading, not once
  virtual bool is_on_test() const { return false; }  ///< the test part is read like clients' rows: row r as client r mod K
};

/// A feature skew that has been chosen; the default is none.
using FeatureSkew = Chosen<FeatureSkewPart>;

}  // namespace fedstride
