#include "dp/accountants/score_fit.hpp"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

void check_fit_significance(double significance) {
  if (!(significance > 0) || !(significance < 1))
    throw usage_error("significance is " + number_text(significance) + "; it must be between 0 and 1");
}

}  // namespace

void ScoreFit::add(double x, double score) {
  ++scores_;
  xx_ += x * x;
  xy_ += x * score;
  yy_ += score * score;
}

double ScoreFit::squares_about_fit() const { return std::max(0.0, yy_ - xy_ * xy_ / xx_); }

double ScoreFit::ratio() const {
  if (scores_ < 2 || !(xx_ > 0)) return 0;
  return xy_ / xx_ / std::sqrt(squares_about_fit() / static_cast<double>(scores_ - 1));
}

double ScoreFit::least_ratio(double significance) const {
  check_fit_significance(significance);
  if (scores_ < 2 || !(xx_ > 0) || !(squares_about_fit() > 0)) return 0;
  return std::max(0.0, least_in_deviations(ratio(), 1 / std::sqrt(xx_), static_cast<double>(scores_ - 1), significance));
}

double ScoreFit::power(double factor, double threshold, double significance, std::uint32_t trials) const {
  if (scores_ < 2 || !(xx_ > 0)) return 0;
  const double spread = 1 / std::sqrt(xx_), freedom = static_cast<double>(scores_ - 1);
  RandomStream random(1, {.purpose = Purpose::canaries});
  std::uint32_t above = 0;
  for (std::uint32_t trial = 0; trial < trials; ++trial) {
    const double mean = 1 + factor * spread * random.normal();
    const double deviation = factor * std::sqrt(2 * random.gamma(freedom / 2) / freedom);
    above += least_in_deviations(mean / deviation, spread, freedom, significance) > threshold ? 1 : 0;
  }
  return static_cast<double>(above) / trials;
}

double least_in_deviations(double estimate, double spread, double freedom, double significance) {
  check_fit_significance(significance);
  const boost::math::students_t_distribution<> of_mean(freedom);
  const boost::math::chi_squared_distribution<> of_squares(freedom);
  const double mean = estimate - spread * quantile(complement(of_mean, significance / 2));
  // The true standard deviation is at most the estimated one times sqrt(freedom / quantile).
  return mean > 0 ? mean * std::sqrt(quantile(of_squares, significance / 2) / freedom) : mean;
}

double least_probability(std::uint64_t hits, std::uint64_t trials, double significance) {
  check_fit_significance(significance);
  if (hits > trials)
    throw usage_error(std::to_string(hits) + " hits in " + std::to_string(trials) +
                      " trials; valid: at most as many hits as trials");
  if (hits == 0) return 0;
  return quantile(boost::math::beta_distribution<>(static_cast<double>(hits), static_cast<double>(trials - hits) + 1),
                  significance);
}

}  // namespace fedstride
