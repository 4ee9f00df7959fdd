#pragma once

#include <cstdint>
#include <string>

#include "core/part.hpp"
#include "data/dataset.hpp"

namespace fedstride {

/// Inputs that differ from client to client. The skew belongs to a client's examples: it is the same in every epoch (unless noise
/// is drawn at every reading), and the client is tested on examples with the same skew. The test part and the validation rows
/// belong to no client and have no skew, unless a kind of skew reads test rows like clients' rows.
class FeatureSkewPart : public Part {
 public:
  static PartFamily& family();  ///< data/skew/feature_skews.cpp has the list

  /// Why the skew does not apply to these data, as in "which changes images; data set 'file' has none"; "" if it applies.
  virtual std::string objection(const Dataset& /*data*/) const { return {}; }
  /// Throws Error (usage) if there is an objection, listing the kinds of skew that apply.
  void check_data(const Dataset& data) const;

  /// True if the skew transforms the client's images; redraw then writes the client's version of the image `from` (planes, as in
  /// Dataset) to `to`.
  virtual bool redraws(std::uint32_t /*client*/) const { return false; }
  virtual void redraw(std::uint32_t /*client*/, const std::uint8_t* /*from*/, const Shape&, std::uint8_t* /*to*/) const {}
  /// The variance of the Gaussian noise on each value of the client's inputs; 0 for none. Pixel values range from 0 to 1; other
  /// features are in standard deviations of their columns.
  virtual double noise(std::uint32_t /*client*/, std::uint32_t /*clients*/) const { return 0; }
  virtual bool draws_anew() const { return false; }  ///< a training example's noise is drawn at every reading, not just once
  virtual bool is_on_test() const { return false; }  ///< test rows are read like clients' rows, row r as client r mod K's
};

/// The chosen feature skew; none by default.
using FeatureSkew = Chosen<FeatureSkewPart>;

}  // namespace fedstride
