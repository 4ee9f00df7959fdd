#pragma once

#include <string_view>
#include <tuple>

#include "core/choice.hpp"
#include "data/skew/feature_skew.hpp"

namespace fedstride {

/// The quantity that the noise level counts.
enum class NoiseUnit { variance, deviation };
constexpr auto choice_names(NoiseUnit) { return names("variance", "deviation"); }

/// A client's part of the noise level: (k + 1) / K, or k / (K - 1), so that the first has none.
enum class NoiseScale { from_one, from_zero };
constexpr auto choice_names(NoiseScale) { return names("from-one", "from-zero"); }

/// The moment at which a training example's noise is drawn: once for all epochs, or whenever the example is read.
enum class NoiseDrawn { once, anew };
constexpr auto choice_names(NoiseDrawn) { return names("once", "anew"); }

/// The test part as it is, or each row with the noise of a client.
enum class NoiseOnTest { none, clients };
constexpr auto choice_names(NoiseOnTest) { return names("none", "clients"); }

/// Noise-based feature imbalance (Li, Diao, Chen & He 2022, NIID-Bench): client k of K, counted from 0, has normal noise on every
/// value, of variance sigma (k + 1) / K, as the paper writes Gau(sigma i / N) for party i of N. The authors' code has sigma k / (K - 1)
/// as a standard deviation, draws it whenever an example is read, and tests on rows with every party's noise: deviation, from-zero,
/// anew, clients. An example's noise is drawn at (feature_noise, client, row) of the seed, so it is the same in every epoch; `anew`
/// adds round and step to the address. Test row r has the noise of client r mod K.
struct NoiseSkew : FeatureSkewDefaults {
  double noise_level = 0.1;  ///< sigma: the last client's variance or deviation
  NoiseUnit unit = NoiseUnit::variance;
  NoiseScale scale = NoiseScale::from_one;
  NoiseDrawn drawn = NoiseDrawn::once;
  NoiseOnTest on_test = NoiseOnTest::none;

  static constexpr std::string_view kName = "noise";
  static constexpr std::string_view kSummary = "normal noise that grows with the client's number";
  static constexpr auto kFields = std::tuple{
      Field{"noise-level", &NoiseSkew::noise_level,
            "the last client's noise: pictures count from 0 to 1, columns in standard deviations", Valid{.low = 0, .high = 1e6}},
      Field{"noise-unit", &NoiseSkew::unit, "the noise level is a variance, or a standard deviation"},
      Field{"noise-scale", &NoiseSkew::scale,
            "client k of K, from 0, has (k + 1) / K of the noise level (from-one), or k / (K - 1) (from-zero)"},
      Field{"noise-drawn", &NoiseSkew::drawn, "a training example's noise is drawn once, or anew whenever it is read"},
      Field{"noise-on-test", &NoiseSkew::on_test, "noise on the test part: none, or on row r that of client r mod K"},
  };

  static void check_data(const Dataset& data);
  double noise(std::uint32_t client, std::uint32_t clients) const;
  bool draws_anew() const { return drawn == NoiseDrawn::anew; }
  bool is_on_test() const { return on_test == NoiseOnTest::clients; }
};

}  // namespace fedstride
