#pragma once

#include <string_view>
#include <tuple>

#include "data/skew/feature_skew.hpp"

namespace fedstride {

/// How colours differ. permute: client k's channels are in the permutation of number k modulo all permutations, in lexicographic
/// order (of red, green and blue RGB, RBG, GRB, GBR, BRG, BGR). tint: client k keeps its channel of number k modulo the channels,
/// and the others are darker by the share `tint`, rounded to whole numbers.
enum class ColourChange { permute, tint };
constexpr auto choice_names(ColourChange) { return names("permute", "tint"); }

/// Colours that differ by the client's number: a shift of all inputs that leaves forms and labels as they are.
struct ColourSkew : FeatureSkewDefaults {
  ColourChange colour = ColourChange::permute;
  double tint = 0.5;

  static constexpr std::string_view kName = "colour";
  static constexpr std::string_view kSummary = "channels of pictures permuted or tinted, by the client's number";
  static constexpr auto kFields = std::tuple{
      Field{"colour", &ColourSkew::colour, "the change: another order of channels, or all of them but one darker"},
      Field{"tint", &ColourSkew::tint, "colour tint: share of its value that a darker channel loses", kFraction},
  };

  static void check_data(const Dataset& data);
  static bool redraws(std::uint32_t) { return true; }
  void redraw(std::uint32_t client, const std::uint8_t* from, const Shape& shape, std::uint8_t* to) const;
};

}  // namespace fedstride
