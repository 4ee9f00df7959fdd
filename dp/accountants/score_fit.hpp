#pragma once

#include <cstdint>

namespace fedstride {

/// Fits a Gaussian to scores. If the program's claim holds, a score has mean x and standard deviation 1, where x is the known
/// content of the release in multiples of the claimed noise (0 if nothing was included). Both mean and deviation are estimated.
class ScoreFit {
 public:
  void add(double x, double score);
  /// The estimate of (mean / x) / standard deviation: 1 if the claim holds, 2 if the noise is halved; 0 if nothing was included.
  double ratio() const;
  /// The lower confidence bound on the ratio at this significance, valid for any number of scores: Student's t for the mean and
  /// chi-squared for the standard deviation, half of the significance each. Throws Error (usage) for a significance outside (0,
  /// 1).
  double least_ratio(double significance) const;
  /// The probability that least_ratio would exceed `threshold`, had the noise been `factor` times as large as claimed with the same
  /// contents; estimated from the number of trials that a stream of draws gives.
  double power(double factor, double threshold, double significance, std::uint32_t trials) const;

 private:
  double squares_about_fit() const;

  std::uint64_t scores_ = 0;
  double xx_ = 0, xy_ = 0, yy_ = 0;
};

/// The Clopper-Pearson lower bound on a probability, given `hits` successes in `trials`.
double least_probability(std::uint64_t hits, std::uint64_t trials, double significance);

/// The lower confidence bound, as in ScoreFit::least_ratio, on a quantity in true standard deviations. `estimate` is in estimated
/// standard deviations (`freedom` degrees of freedom); `spread` is the standard deviation of `estimate`.
double least_in_deviations(double estimate, double spread, double freedom, double significance);

}  // namespace fedstride
