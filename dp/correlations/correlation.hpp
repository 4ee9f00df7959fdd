#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/function_ref.hpp"
#include "core/part.hpp"
#include "core/term.hpp"

namespace fedstride {

// The privacy cost of noise correlated between rounds. Round t publishes x_t + (C^-1 Z)_t, which determines C x + Z and vice
// versa: one Gaussian release of sensitivity sens(C), even if x_t depends on earlier outputs (Denisov et al. 2022). C is lower
// triangular, so the first t rounds together are one such release with C's upper left t x t corner.

/// The name of a mechanism; dp/correlations/correlations.hpp has the list. The first entry is independent noise.
enum class NoiseMechanism : int;

/// A mechanism with its parameters, fixed before the first of `horizon` rounds. Any two rounds with the same record are at least
/// `separation` apart.
struct Correlation {
  NoiseMechanism mechanism = {};
  std::uint64_t separation = 1;
  std::uint64_t horizon = 0;
  std::uint64_t restart = 0;              ///< rounds after which the noise restarts; 0: never
  std::vector<double> coefficients = {};  ///< the mechanism's coefficients

  bool is_independent() const { return mechanism == NoiseMechanism{}; }
  /// False for independent noise if each record may be in every round; such noise is accounted for round by round.
  bool on() const { return !is_independent() || separation > 1; }
  auto operator<=>(const Correlation&) const = default;

  static constexpr auto kTerms = terms(Term{"mechanism", &Correlation::mechanism}, Term{"separation", &Correlation::separation},
                                       Term{"horizon", &Correlation::horizon}, Term{"restart", &Correlation::restart},
                                       Term{"coefficients", &Correlation::coefficients});
};

/// A stretch of one round's vector, which encode() or correlate() changes in place.
struct NoiseRow {
  std::uint64_t t = 0;    ///< the round, from 0
  std::size_t first = 0;  ///< index of the stretch's start in the vectors
  std::span<double> values;
  /// Model-sized vectors kept from round to round; each of the two functions has its own.
  std::vector<std::vector<double>>& kept;
};

/// A mechanism that correlates noise. It plans a Correlation, which all other functions take.
class MechanismPart : public Part {
 public:
  static constexpr std::string_view kKey = "noise-mechanism";
  static constexpr std::string_view kPurpose =
      "how noise is correlated between rounds, so that part of it cancels in their sum; needs client-noise central";
  static PartFamily& family();

  /// True if the noise is independent for this separation.
  virtual bool is_independent(std::uint64_t /*separation*/) const { return false; }
  /// Sets the best parameters for the separation and the horizon, using the mechanism's settings. Throws Error (usage) for
  /// numbers out of range.
  virtual void plan(Correlation& /*planned*/) const {}
  virtual bool restarts() const { return false; }
  /// Why the parameters are invalid, phrased to follow the mechanism's name ("has ..."); empty if they are valid.
  virtual std::string objection(const Correlation& correlation) const = 0;
  /// The settings that the parameters imply, by name.
  virtual std::vector<std::pair<std::string_view, std::uint64_t>> stated(const Correlation& /*correlation*/) const { return {}; }

  /// Like correlated_sensitivity below; `rounds` is above 0.
  virtual double sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) const = 0;
  /// Returns the norm, rounded up, with which each of a record's rounds counts if sampling within the `separation` groups
  /// amplifies privacy (Choquette-Choo et al. 2023, Theorem 1); otherwise 0.
  virtual double norm_in_groups(const Correlation& /*correlation*/) const { return 0; }

  // A round's sum x_t is encoded, noised on the grid and decoded (dp/noise/correlated_noise.hpp), so that the result is a function of
  // noisy whole numbers, however it rounds: with z_t added in between, decoding gives x_t + (C^-1 z)_t.

  /// The number of model-sized vectors that encode() and correlate() keep, each.
  virtual std::size_t kept_vectors(const Correlation& correlation) const = 0;
  /// How many roundings of a number as large as the sums a number of an encoded vector has at most.
  virtual double roundings(const Correlation& correlation) const {
    const auto added = static_cast<double>(kept_vectors(correlation)) + 1;
    return added * added;  // terms, with coefficients of at most 1
  }
  /// Replaces x_t by (C x)_t. Passes what else is noised in this round to `put`, with its number from 1.
  virtual void encode(const Correlation& correlation, const NoiseRow& row,
                      function_ref<void(std::size_t, std::span<const double>)> put) const = 0;
  /// Replaces the encoded vector with noise by the released one, or z_t by (C^-1 z)_t. draw(number) returns what else was noised;
  /// valid until the next call.
  virtual void correlate(const Correlation& correlation, const NoiseRow& row,
                         function_ref<std::span<const double>(std::size_t)> draw) const = 0;
};

/// The correlation's mechanism, with default settings.
const MechanismPart& mechanism_of(const Correlation& correlation);

/// The best parameters for `horizon` rounds under the mechanism's settings. Throws Error (usage) for numbers out of range.
Correlation plan_correlation(const MechanismPart& mechanism, std::uint64_t separation, std::uint64_t horizon);

/// For mechanisms without coefficients: why a correlation with coefficients is invalid; empty if it has none.
std::string refuse_coefficients(const Correlation& correlation);

/// Why the correlation cannot be accounted for, in one line; empty if it can.
std::string objection(const Correlation& correlation);

/// MechanismPart::kept_vectors.
inline std::size_t kept_vectors(const Correlation& correlation) { return mechanism_of(correlation).kept_vectors(correlation); }

inline constexpr double kSensitivityRoundedUp = 1 + 1e-12;

/// The maximum number of the first `rounds` rounds that one record can be in; at most `most` if that is not 0.
std::uint64_t participations(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most);

/// The largest change that a record in at most `most` of the first `rounds` rounds (0: as many as the separation allows) can make
/// to the noise-free part of their releases, for a clip bound of 1, rounded up.
double correlated_sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most = 0);

/// The standard deviation of sum_t f_t w_t, where w = C^-1 z and z is independent standard normal: |C^-T f| for factors f of the
/// first rounds, at most `horizon` of them. Takes time quadratic in their number.
double combined_deviation(const Correlation& correlation, std::span<const double> factors);

/// The Cholesky factor of the covariance of the noise w of the first `rounds` rounds, in squared standard deviations, row by row: a
/// reader who solves it for the noise of each round has independent numbers. Takes time cubic in the number of rounds.
std::vector<std::vector<double>> noise_factor(const Correlation& correlation, std::size_t rounds);

inline bool is_amplified_in_groups(const Correlation& correlation) {
  return mechanism_of(correlation).norm_in_groups(correlation) > 0;
}

}  // namespace fedstride
