#pragma once

#include <cstdint>

namespace fedstride {

/// The fit of scores that are Gaussian with mean ratio x and deviation 1 if the program does as it claims, x being what is known to be
/// in the release in multiples of the claimed noise, 0 for nothing. Mean and deviation are both estimated.
class ScoreFit {
 public:
  void add(double x, double score);
  /// The estimate of (mean / x) / deviation: 1 as claimed, 2 with halved noise. 0 if nothing was in.
  double ratio() const;
  /// Its lower end at this significance: Student's t for the mean and chi-squared for the deviation, half of it each, exact for any
  /// number of scores. Throws Error (usage) for a significance outside (0, 1).
  double least_ratio(double significance) const;
  std::uint64_t scores() const { return scores_; }

 private:
  double squares_about_fit() const;

  std::uint64_t scores_ = 0;
  double xx_ = 0, xy_ = 0, yy_ = 0;
};

/// Of `trials`, `hits` came true: the least probability of that, by Clopper and Pearson.
double least_probability(std::uint64_t hits, std::uint64_t trials, double significance);

/// The lower end of (an estimate in standard deviations, whose own deviation is `spread` of one) / deviation, that of one estimated
/// with this many degrees of freedom: as ScoreFit::least_ratio.
double least_in_deviations(double estimate, double spread, double freedom, double significance);

}  // namespace fedstride
