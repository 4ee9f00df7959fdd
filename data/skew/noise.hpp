#pragma once

#include "core/choice.hpp"
#include "data/skew/feature_skew.hpp"

namespace fedstride {

/// The quantity that the noise level specifies.
enum class NoiseUnit { variance, deviation };
constexpr auto choice_names(NoiseUnit) { return names("variance", "deviation"); }

/// Client k's share of the noise level: (k + 1) / K, or k / (K - 1), which leaves the first client without noise.
enum class NoiseScale { from_one, from_zero };
constexpr auto choice_names(NoiseScale) { return names("from-one", "from-zero"); }

/// When a training example's noise is drawn: once for all epochs, or at every reading.
enum class NoiseDrawn { once, anew };
constexpr auto choice_names(NoiseDrawn) { return names("once", "anew"); }

/// Whether the test part is unchanged, or each row has a client's noise.
enum class NoiseOnTest { none, clients };
constexpr auto choice_names(NoiseOnTest) { return names("none", "clients"); }

struct NoiseSettings {
  double noise_level = 0.1;  ///< sigma: the last client's variance or standard deviation
  NoiseUnit unit = NoiseUnit::variance;
  NoiseScale scale = NoiseScale::from_one;
  NoiseDrawn drawn = NoiseDrawn::once;
  NoiseOnTest on_test = NoiseOnTest::none;

  static constexpr auto kFields =
      fields(Field{"noise-level", &NoiseSettings::noise_level,
                   "noise of the last client; pixels range from 0 to 1, columns are in standard deviations",
                   Valid{.low = 0, .high = 1e6}},
             Field{"noise-unit", &NoiseSettings::unit, "whether the noise level is a variance or a standard deviation"},
             Field{"noise-scale", &NoiseSettings::scale,
                   "noise of client k = 0, 1, ... of K: (k + 1) / K of the level (from-one) or k / (K - 1) (from-zero)"},
             Field{"noise-drawn", &NoiseSettings::drawn, "draw a training example's noise once, or anew at every read"},
             Field{"noise-on-test", &NoiseSettings::on_test, "noise on the test set: none, or on row r that of client r mod K"});
};

/// Noise-based feature imbalance (Li, Diao, Chen & He 2022, NIID-Bench): client k of K, counted from 0, has Gaussian noise on
/// every value, with variance sigma (k + 1) / K; the paper writes Gau(sigma i / N) for party i of N. The authors' code uses sigma
/// k / (K - 1) as a standard deviation, draws the noise at every reading, and tests on rows with every party's noise; the
/// settings deviation, from-zero, anew and clients reproduce this. An example's noise is drawn at (feature_noise, client, row) of
/// the seed, so it is the same in every epoch; `anew` adds round and step to the address. Test row r has the noise of client r
/// mod K.
struct NoiseSkew final : PartBase<FeatureSkewPart, NoiseSkew, NoiseSettings> {
  static constexpr std::string_view kName = "noise";
  static constexpr std::string_view kSummary = "Gaussian noise that grows with the client number";

  std::string objection(const Dataset& data) const override {
    const bool has_numbers = !data.pixels.empty() || !data.features.empty();
    return has_numbers ? "" : "which adds noise to numbers; data set '" + data.name + "' has none";
  }
  double noise(std::uint32_t client, std::uint32_t clients) const override {
    const double number = client;
    const double count = clients;
    double amount = noise_level * (number + 1) / count;
    if (scale == NoiseScale::from_zero) amount = clients > 1 ? noise_level * number / (count - 1) : 0;
    return unit == NoiseUnit::deviation ? amount * amount : amount;
  }
  bool draws_anew() const override { return drawn == NoiseDrawn::anew; }
  bool is_on_test() const override { return on_test == NoiseOnTest::clients; }
};

}  // namespace fedstride
