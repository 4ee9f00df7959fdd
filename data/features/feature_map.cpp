#include "data/features/feature_map.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "data/dataset.hpp"
#include "data/features/scattering.hpp"

namespace fedstride {
namespace {

void map_part(Dataset& part, const FeatureMap& map) {
  if (part.size() == 0 && part.pixels.empty()) {
    part.shape = map.output(part.shape);
    return;
  }
  constexpr std::size_t kAtOnce = 256;
  const Shape picture = part.shape;
  const Shape shape = map.output(picture);
  const std::size_t count = part.pixels.size() / picture.size();
  const MapPictures map_pictures = map.mapper(picture);
  const Borrowable<std::uint8_t>& pixels = part.pixels;
  std::vector<float> features(count * shape.size());
  std::vector<float> values(kAtOnce * picture.size());
  for (std::size_t first = 0; first < count; first += kAtOnce) {
    check_stop();
    const std::size_t some = std::min(kAtOnce, count - first);
    for (std::size_t i = 0; i < some * picture.size(); ++i)
      values[i] = static_cast<float>(pixels[first * picture.size() + i]) / 255;
    map_pictures(std::span(values).first(some * picture.size()),
                 std::span(features).subspan(first * shape.size(), some * shape.size()));
  }
  part.features = std::move(features);
  part.pixels = {};
  part.shape = shape;
}

}  // namespace

std::unique_ptr<const FeatureMap> feature_map(std::string_view setting) {
  std::vector<std::string_view> words = split(setting, ' ');
  std::erase(words, std::string_view());
  if (words.empty() || (words.size() == 1 && words[0] == "none")) return nullptr;
  if (words[0] == Scattering::kWord) return std::make_unique<Scattering>(Scattering::read(words));
  throw usage_error("features is '" + std::string(setting) + "'; valid: none, " + std::string(Scattering::kSyntax));
}

void map_pictures(DataPair& pair, std::string_view setting) {
  const auto map = feature_map(setting);
  if (!map) return;
  if (pair.train.pixels.empty() && pair.test.pixels.empty())
    throw usage_error("features is '" + map->text() + "', which reads 8-bit images; data set '" + pair.train.name +
                      "' has none, so use none");
  map_part(pair.train, *map);
  map_part(pair.test, *map);
  pair.train.mean.clear();
  pair.train.deviation.clear();
  pair.features = map->text();
}

}  // namespace fedstride
