#pragma once

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
    double count;  ///< need not be whole, and may be negative, where parts stand for an interpolation
  };
  std::vector<Part> parts;
  double gaussian = 0;   ///< mu^2 of all Gaussian releases of every record together

  /// Where parts stand for an interpolation, some of the steps that it is for, and what parts weigh in theirs.
  struct Check {
    Loss loss;
    std::vector<std::pair<std::size_t, double>> weights;
  };
  std::vector<Check> checks;
  double interpolated = 0;               ///< number of such steps
  Loss slowest{Pair::remove, 1.0, 1.0};  ///< of them, whose M(c + it) / M(c) falls most slowly: least drawn, most noise

  double leak = 0;  ///< probability that any of them gave its outcome away; to be added to delta

  /// The same where parts give outcomes away (Loss::leaking) with probability e^log_leak at most, all together.
  Composition leaking(double log_leak) const;

  Moments moments(double c) const;
  /// Error of log M(c + it) by interpolation, t up to some times 1 / spread: twice the largest of the checks', of every
  /// step. 0 where nothing is interpolated.
  double log_error(double c, double spread) const;
  double largest() const;  ///< of the loss
};

/// delta(epsilon) <= M(c) e^{-c epsilon} c^c / (1+c)^{1+c}, for any c > 0; this is its logarithm. What leaks is apart,
/// here and in what follows up to the contour's values.
double log_chernoff(const Composition& composition, double c, double epsilon);
/// The smallest epsilon >= 0 that this bound gives, and the c that gives it.
struct ChernoffEpsilon {
  double epsilon;
  double c;
};
ChernoffEpsilon chernoff_epsilon(const Composition& composition, double delta);

/// Where to cross the real axis: near the minimum over c > 0 of log M(c) - c epsilon - log c - log (c+1).
struct Crossing {
  double c;
  double epsilon;
  double log_delta;  ///< about what will come out
  double period;     ///< of the trapezoid rule's aliases in epsilon
};
/// `most`: what log delta is known not to be far above.
Crossing crossing(const Composition& composition, double epsilon, double most);

/// delta(epsilon) = (1 / 2 pi i) int M(s) e^{-s epsilon} / (s (s+1)) ds along Re s = c, by the trapezoid rule, as an
/// upper bound. Why it is one: docs/privacy.md.
class Contour {
 public:
  /// Good for epsilons in a neighbourhood of the crossing's.
  Contour(const Composition& composition, const Crossing& at);

  struct Value {
    double log_delta = 0;     ///< of the bound
    double slope = 0;         ///< d log delta / d epsilon, negative
    double excess = 0;        ///< estimate of what the extra Gaussian release adds to log delta
  };
  Value at(double epsilon) const;
  /// Goes on along the line until the integral up to there is all that matters at `epsilon`, or an extra Gaussian
  /// release that makes it so adds no more to log delta, or to epsilon, than this (true); or so many values times
  /// (parts + 1) are reached.
  bool extend(double epsilon, double log_delta_excess, double epsilon_excess, double most_work);
  /// Whether `epsilon` is in that neighbourhood.
  bool covers(double epsilon) const;

 private:
  void append(std::size_t count);
  double log_rest(double t) const;  ///< log of a bound on |M(c + iu) / M(c)|, u >= t

  const Composition& composition_;
  double c_;
  double epsilon_;
  Moments moments_;
  double h_;
  double spread_;       // the integrand's bulk is 1 / spread_ wide in t
  bool plain_;          // values_ are M(c + ikh) - 1 instead: few draws, so that one is most of it
  double mean_;
  double log_scale_;    // of values_, and of delta e^{c epsilon}
  double floor_;        // how far log delta is, about, below log_scale_ - c epsilon
  double log_error_;    // of log M by interpolation
  double error_ = 0;    // of the integral up to here
  double extra_ = 0;    // w^2 of the extra Gaussian release
  double log_tail_ = 0; // log of the bound on what lies beyond the last value, against M(c) e^{-c epsilon}
  std::vector<LossLine> lines_;
  std::vector<std::complex<double>> values_;  // M(c + ikh) / M(c) e^{-ikh mean} or, if plain_, M(c + ikh) - 1
};

}  // namespace fedstride::tight
