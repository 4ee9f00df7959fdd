#pragma once

#include <complex>
#include <vector>

#include "dp/accountants/tight_loss.hpp"

namespace fedstride::tight {

/// Independent releases: the product of M(s)^count over the parts, times the Gaussian one e^{mu^2 s (s+1) / 2}.
struct Composition {
  struct Part {
    Loss loss;
    double count;  ///< need not be whole, and may be negative, where parts stand for an interpolation
  };
  std::vector<Part> parts;
  double gaussian = 0;   ///< mu^2 of all Gaussian releases of every record together
  double log_error = 0;  ///< bound on the error of log M by interpolation

  Moments moments(double c) const;
  double counts() const;   ///< sum of |count|
  double largest() const;  ///< of the loss
};

/// Where to cross the real axis: the minimum over c > 0 of log M(c) - c epsilon - log c - log (c+1).
double crossing_for_epsilon(const Composition& composition, double epsilon);
/// The same for the epsilon that has about this delta.
double crossing_for_delta(const Composition& composition, double delta);
/// delta(epsilon) <= M(c) e^{-c epsilon} c^c / (1+c)^{1+c}, for any c > 0; this is its logarithm.
double log_chernoff(const Composition& composition, double c, double epsilon);

/// delta(epsilon) = (1 / 2 pi i) int M(s) e^{-s epsilon} / (s (s+1)) ds along Re s = c, by the trapezoid rule, as an
/// upper bound. Why it is one: docs/privacy.md.
class Contour {
 public:
  /// Good for epsilons in a neighbourhood of `epsilon`.
  Contour(const Composition& composition, double c, double epsilon);

  struct Value {
    double log_delta = 0;     ///< of the bound
    double slope = 0;         ///< d log delta / d epsilon, negative
    double excess = 0;        ///< estimate of what the extra Gaussian release adds to log delta
  };
  Value at(double epsilon) const;
  /// Goes on along the line until the integral up to there is all that matters at `epsilon`, or an extra Gaussian
  /// release that makes it so adds no more to log delta, or to epsilon, than this; or a limit of work is reached.
  void extend(double epsilon, double log_delta_excess, double epsilon_excess);
  /// Whether `epsilon` is near enough to the one of the constructor.
  bool covers(double epsilon) const;

 private:
  void append(std::size_t count);
  double log_rest(double t) const;  ///< log of a bound on |M(c + iu) / M(c)|, u >= t

  const Composition& composition_;
  double c_;
  double epsilon_;
  Moments moments_;
  double spread_;       // of the integrand's bulk: its width in t is 1 / spread_
  double period_;       // 2 pi / h
  double h_;
  double error_ = 0;    // bound on the error of each of values_
  double extra_ = 0;    // w^2 of the extra Gaussian release
  double log_tail_ = 0; // log of the bound on what lies beyond the last value, against M(c) e^{-c epsilon}
  std::vector<LossLine> lines_;
  std::vector<std::complex<double>> values_;  // M(c + ikh) / M(c) e^{-ikh mean}
};

}  // namespace fedstride::tight
