#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <utility>
#include <vector>

#include "dp/accountants/tight_loss.hpp"

namespace fedstride::tight {

/// Independent releases: the product of M(s)^count over the parts, times the Gaussian one e^{mu^2 s (s+1) / 2}.
struct Composition {
  struct Part {
    Loss loss;
    double count;  ///< need not be whole, and may be negative, if parts represent an interpolation
  };
  std::vector<Part> parts;
  double gaussian = 0;  ///< mu^2 of all Gaussian releases of every record together

  struct Open {
    Drawn drawn;
    double count;
  };
  std::vector<Open> open;  ///< releases of too little noise for parts, see Schedule
  bool coarse = false;     ///< there were too many kinds of releases: these are fewer and cost a little more

  /// If parts represent an interpolation: some of the interpolated steps, and the weights of the parts in each.
  struct Check {
    Loss loss;
    std::vector<std::pair<std::size_t, double>> weights;
  };
  std::vector<Check> checks;
  double interpolated = 0;               ///< number of such steps
  Loss slowest{Pair::remove, 1.0, 1.0};  ///< of them, whose M(c + it) / M(c) falls most slowly: least drawn, most noise

  double leak = 0;  ///< probability that any of them gave its outcome away; must be added to delta

  /// The same with parts that give outcomes away (Loss::leaking), with probability e^log_leak at most in all.
  Composition leaking(double log_leak) const;

  /// Exact if those of all parts are and nothing is open; else an upper bound, infinite if parts represent an interpolation.
  Moments moments(double c) const;
  /// Error of log M(c + it) by interpolation, t up to a few times 1 / spread: twice the largest error of the
  /// checks, for every step. 0 if nothing is interpolated.
  double log_error(double c, double spread) const;
  /// Bound on the probability that an open release draws the record, and the composition without open ones.
  double drawn() const;
  Composition closed() const;
  double largest() const;  ///< of the loss
  /// Bound on the rounding error of log M(c).
  double rounding() const;
};

/// delta(epsilon) <= M(c) e^{-c epsilon} c^c / (1+c)^{1+c}, for any c > 0; this is its logarithm. The leak is not
/// included, here and below up to the contour's values.
double log_chernoff(const Composition& composition, double c, double epsilon);
/// The smallest epsilon >= 0 that this bound gives, and the c that gives it.
struct ChernoffEpsilon {
  double epsilon;
  double c;
};
ChernoffEpsilon chernoff_epsilon(const Composition& composition, double delta);

/// The place to cross the real axis: near the minimum over c > 0 of log M(c) - c epsilon - log c - log (c+1).
struct Crossing {
  double c;
  double epsilon;
  double log_delta;  ///< rough estimate of the result
  double period;     ///< of the trapezoid rule's aliases in epsilon
};
/// `most`: log delta is known not to be far above it.
Crossing crossing(const Composition& composition, double epsilon, double most);

/// delta(epsilon) = (1 / 2 pi i) int M(s) e^{-s epsilon} / (s (s+1)) ds along Re s = c, by the trapezoid rule, as an
/// upper bound. docs/privacy.md has the proof.
class Contour {
 public:
  /// Valid for epsilons in a neighbourhood of the crossing's.
  Contour(const Composition& composition, const Crossing& at);
  /// False if there is no integral to take: moments there are not exact. Nothing else may then be called.
  bool usable() const { return moments_.exact && std::isfinite(h_); }

  struct Value {
    double log_delta = 0;  ///< of the bound
    double slope = 0;      ///< d log delta / d epsilon, negative
    double excess = 0;     ///< estimate of what the extra Gaussian release adds to log delta
  };
  Value at(double epsilon) const;
  /// Continues along the line until the rest of the integral is negligible at `epsilon`, or until an extra Gaussian release
  /// that makes it negligible adds no more than these excesses to log delta or to epsilon (true); or until the number of
  /// values times (parts + 1) reaches `most_work` (false); a part of more than 3000 nodes counts more than once. Throws Stopped.
  bool extend(double epsilon, double log_delta_excess, double epsilon_excess, double most_work);
  /// True if `epsilon` is in that neighbourhood.
  bool covers(double epsilon) const;

 private:
  void append(std::size_t count);
  double log_rest(double t) const;  ///< log of a bound on |M(c + iu) / M(c)|, u >= t

  const Composition& composition_;
  double c_;
  double epsilon_;
  Moments moments_;
  double h_;
  double spread_;  // the integrand's bulk is 1 / spread_ wide in t
  bool plain_;     // values_ are M(c + ikh) - 1 instead: few draws, so that 1 is most of M
  double mean_;
  double log_scale_;     // of values_, and of delta e^{c epsilon}
  double floor_;         // log delta is about this far below log_scale_ - c epsilon
  double log_error_;     // of log M by interpolation
  double error_ = 0;     // of the integral up to here
  double extra_ = 0;     // w^2 of the extra Gaussian release
  double parts_ = 1;     // and one, by their work
  double log_tail_ = 0;  // log of the bound on the part beyond the last value, relative to M(c) e^{-c epsilon}
  std::vector<LossLine> lines_;
  std::vector<std::complex<double>> values_;  // M(c + ikh) / M(c) e^{-ikh mean} or, if plain_, M(c + ikh) - 1
};

}  // namespace fedstride::tight
