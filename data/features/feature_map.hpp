#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/shape.hpp"

namespace fedstride {

struct DataPair;

/// Maps images to features, channels innermost. `values` has the images' planes (channel, row, column), scaled to [0, 1].
using MapPictures = std::function<void(std::span<const float> values, std::span<float> features)>;

/// A fixed map from an image to features, which depend on that image alone and are computed once, when a data set is read.
class FeatureMap {
 public:
  virtual ~FeatureMap() = default;
  /// The map's name and constants; equal strings mean equal features.
  virtual std::string text() const = 0;
  /// Returns the shape of the features of an image of this shape. Throws Error (usage) for images that the map cannot read.
  virtual Shape output(const Shape& picture) const = 0;
  /// Returns the map for images of this shape. The result is not thread-safe, since it keeps scratch memory.
  virtual MapPictures mapper(const Shape& picture) const = 0;
};

/// The map that a setting specifies; null for "" and "none". For an invalid setting, throws Error (usage) listing the valid ones.
std::unique_ptr<const FeatureMap> feature_map(std::string_view setting);

/// If the setting specifies a map, replaces both parts' images with its features and clears their normalization. Throws Error
/// (usage) if there are no images.
void map_pictures(DataPair& pair, std::string_view setting);

}  // namespace fedstride
