#pragma once

#include "data/skew/feature_skew.hpp"

namespace fedstride {

/// How the clients' colors differ. permute: client k's channels are in permutation k modulo the number of permutations, in
/// lexicographic order (of red, green and blue: RGB, RBG, GRB, GBR, BRG, BGR). tint: client k keeps channel k modulo the number
/// of channels; the others are darkened by the share `tint`, rounded to whole numbers.
enum class ColorChange { permute, tint };
constexpr auto choice_names(ColorChange) { return names("permute", "tint"); }

struct ColorSettings {
  ColorChange color = ColorChange::permute;
  double tint = 0.5;

  bool is_tinted() const { return color == ColorChange::tint; }
  static constexpr auto kFields =
      fields(Field{"color", &ColorSettings::color, "permute the channels, or darken all but one of them"},
             Field{"tint", &ColorSettings::tint, "color tint: fraction by which the other channels are darkened", kFraction,
                   Shapes::model, &ColorSettings::is_tinted});
};

/// Colors that depend on the client's number: a shift in the distribution of inputs that preserves shapes and labels.
struct ColorSkew final : PartBase<FeatureSkewPart, ColorSkew, ColorSettings> {
  static constexpr std::string_view kName = "color";
  static constexpr std::string_view kSummary = "image channels permuted or tinted, by client number";

  std::string objection(const Dataset& data) const override;
  bool redraws(std::uint32_t) const override { return true; }
  void redraw(std::uint32_t client, const std::uint8_t* from, const Shape& shape, std::uint8_t* to) const override;
};

}  // namespace fedstride
