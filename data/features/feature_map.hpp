#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/shape.hpp"

namespace fedstride {

struct Dataset;
struct DataPair;

/// Maps pictures to features, channels innermost. `values` are the pictures' planes (channel, row, column), from 0 to 1.
using MapPictures = std::function<void(std::span<const float> values, std::span<float> features)>;

/// A fixed map from each example's picture to features, a function of that example alone. Computed once, when a data set is read.
class FeatureMap {
 public:
  virtual ~FeatureMap() = default;
  /// Name and constants: equal texts mean equal features.
  virtual std::string text() const = 0;
  /// The shape of a picture's features. Throws Error (usage) for pictures that it cannot read.
  virtual Shape output(const Shape& picture) const = 0;
  /// For pictures of this shape. Not thread-safe: it keeps scratch memory.
  virtual MapPictures mapper(const Shape& picture) const = 0;
};

/// The map that a setting names: nothing for "" and "none". Throws Error (usage) with what is valid.
std::unique_ptr<const FeatureMap> feature_map(std::string_view setting);

/// Replaces both parts' pictures by the features that a setting names, if any, which have no normalization yet. Throws Error
/// (usage) unless there are pictures.
void map_pictures(DataPair& pair, std::string_view setting);

}  // namespace fedstride
