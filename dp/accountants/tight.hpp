#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dp/accountants/mechanism.hpp"

/// The parts of the accountant Tight: losses of single releases, their composition, the contour integral over the composition,
/// and the schedule that composes a spending.
namespace fedstride::tight {

/// The pair (P, Q) of output distributions of one Poisson-sampled Gaussian release; its privacy loss is L = log dP/dQ.
/// N(m) has mean m in units of the clip bound and standard deviation sigma.
enum class Pair {
  remove,   ///< P = (1-q) N(0) + q N(1),  Q = N(0)
  add,      ///< P = N(0),                 Q = (1-q) N(0) + q N(1)
  replace,  ///< P = (1-q) N(0) + q N(1),  Q = (1-q) N(0) + q N(-1)
};

struct Moments {
  double log_moment = 0;  ///< log M(c), where M(s) = E_P[e^{sL}]
  double mean = 0;        ///< first derivative of log M at c: the mean of L, tilted by e^{cL}
  double variance = 0;    ///< second derivative
  bool exact = true;      ///< false if the moments are those of an upper bound (Drawn)
};

/// A closed-form bound on one release's M(c), close if the noise is small: with p = 1 + c, M(c) = |P/Q|_p^p in L^p(Q), and P/Q <=
/// ((1-q) N(0) + q N(1)) / (r N(0)), r = 1 for `remove`, 1 - q for `replace`; by Minkowski's inequality
///   M(c) <= r^{-c} (1 - q + q e^{c / (2 sigma^2)})^{1+c}.
/// `add` is never above `remove` (Mironov, Talwar, Zhang 2019, Theorem 5). For `replace`, the bound is the smaller of this and
/// that of a release that also reveals whether it drew the record, since dropping that information is post-processing:
///   M(c) = 1 - q + q e^{2 c (c+1) / sigma^2}.
struct Drawn {
  double rate;
  double sigma;
  bool is_replaced;

  Moments moments(double c) const;
};

/// The loss of one release, where A(x) = 1 - q + q e^{(2x-1)/(2 sigma^2)}, u = 1 if P is the mixture (otherwise 0), and v = 1 if
/// Q is (otherwise 0). For `replace` and `add`, Q is mirrored: its shift is to -1.
///   L(x) = u log A(x) - v log A(-x),   M(s) = int N(x; 0, sigma) A(x)^{u (1+s)} A(-x)^{-v s} dx.
class Loss {
 public:
  Loss(Pair pair, double rate, double sigma);

  /// The same release, except that x leaks with probability 1 - g(x), where g(x) = exp(-e^{k (x - b)}), so hardly any remaining
  /// outcome has a loss above L(b). b and k are chosen so that, under P, x leaks with probability at most e^log_leak. M(s) then
  /// covers the remaining outcomes, so M(0) is slightly below 1. Proof: docs/privacy-tight.md.
  Loss leaking(double log_leak) const;

  /// Computed by quadrature over x, or from Drawn if quadrature needs more than kMaxNodes nodes.
  Moments moments(double c) const;
  double sigma() const { return sigma_; }
  /// The log of an upper bound on |M(c + iu)| / M(c) that holds for every u >= t; never above 0.
  double log_bound(double c, double t) const;
  /// The largest value of L; infinite if unbounded.
  double largest() const;

 private:
  friend class LossLine;
  struct Node {
    double x;
    double log_weight;  ///< log of the integrand of M(c) at x
    double loss;
  };
  using Complex = std::complex<double>;

  double log_ratio(double x) const;    ///< log A(x)
  Complex log_ratio(Complex x) const;  ///< the continuation of log A to |Im x| < pi sigma^2
  double log_integrand(double x, double c) const;
  double uphill(double x, double c) const;  ///< zero of log_integrand's derivative if draw probabilities stay as at x
  static constexpr std::size_t kMaxNodes = 16384;
  /// Nodes of the trapezoid rule with step step_ wherever the integrand of M(c) matters; empty if there are too many.
  std::vector<Node> nodes(double c) const;
  std::vector<Node> leaking_nodes(double c) const;
  Node node(double number, double c) const;  ///< at x = number * step_
  struct Shifted {
    Complex log_weight;
    Complex loss;
  };
  Shifted shifted(double x, double y, double c) const;

  double up_;    // u
  double down_;  // v
  double rate_;
  double log_rate_;
  double sigma_;
  double variance_;
  double height_;  // Im x of the contour
  double step_;
  double steepness_ = 0;                           // k of g; 0: nothing leaks
  double edge_ = 0;                                // b
  std::shared_ptr<const std::vector<Node>> kept_;  // nodes at c = 0 where g is above e^{-e^9}
};

/// The values M(c + ikh), k = 0, 1, 2, ..., divided by M(c) e^{ikh mean}, where `mean` is that of Moments, or undivided if
/// `plain`. One is subtracted from each, so values near one keep their digits.
class LossLine {
 public:
  LossLine(const Loss& loss, double c, double h, bool plain);

  std::size_t nodes() const { return nodes_.size(); }
  /// Computes the next values.
  void next(std::span<std::complex<double>> values);
  /// A bound on the absolute error of the last value.
  double error() const { return error_; }

 private:
  struct Node {
    std::complex<double> log_weight, weight;
    std::complex<double> start, rate;  // the term at t is weight e^{start + t rate} - weight
  };
  void renew();

  double h_;
  double relative_error_ = 0;
  double error_ = 0;
  std::size_t at_ = 0;
  std::vector<Node> nodes_;
  std::complex<double> gone_;  // sum of -weight over nodes whose terms have vanished
  // For each node: its term at at_, its weight, and e^{h rate} - 1, with real and imaginary parts stored separately.
  std::vector<double> real_, imaginary_, real_weight_, imaginary_weight_, real_turn_, imaginary_turn_;
};

/// log (1 + w) and e^w - 1 without cancellation.
std::complex<double> log1p(std::complex<double> w);
std::complex<double> expm1(std::complex<double> w);

/// Independent releases. Their M(s) is the product of M(s)^count over the parts, times the Gaussian factor e^{mu^2 s (s+1) / 2}.
struct Composition {
  struct Part {
    Loss loss;
    double count;  ///< may be fractional or negative if parts represent an interpolation
  };
  std::vector<Part> parts;
  double gaussian = 0;  ///< mu^2 of all unsampled Gaussian releases together

  struct Open {
    Drawn drawn;
    double count;
  };
  std::vector<Open> open;  ///< releases with too little noise for parts (see Schedule)
  bool coarse = false;     ///< true if there were too many kinds of releases, so some were merged at a slightly higher cost

  /// If parts represent an interpolation: one of the interpolated steps, and the weights of the parts in it.
  struct Check {
    Loss loss;
    std::vector<std::pair<std::size_t, double>> weights;
  };
  std::vector<Check> checks;
  double interpolated = 0;               ///< number of interpolated steps
  Loss slowest{Pair::remove, 1.0, 1.0};  ///< step whose M(c + it) / M(c) falls most slowly: lowest rate, most noise

  double leak = 0;  ///< probability that any release leaks its outcome; must be added to delta

  /// This composition with parts that leak outcomes (Loss::leaking), with a total probability of at most e^log_leak.
  Composition leaking(double log_leak) const;

  /// Exact if all parts' moments are exact and nothing is open; otherwise an upper bound, infinite if parts represent an
  /// interpolation.
  Moments moments(double c) const;
  /// The interpolation error of log M(c + it), for t up to a few times 1 / spread: twice the largest error of the checks times
  /// the number of steps. 0 if nothing is interpolated.
  double log_error(double c, double spread) const;
  /// A bound on the probability that any open release draws the record, and the composition without open releases.
  double drawn() const;
  Composition closed() const;
  double largest() const;  ///< the largest loss
  /// A bound on the rounding error of log M(c).
  double rounding() const;
};

/// delta(epsilon) <= M(c) e^{-c epsilon} c^c / (1+c)^{1+c}, for any c > 0; returns the bound's logarithm. Here and below, the
/// leak is excluded, except in the contour's values.
double log_chernoff(const Composition& composition, double c, double epsilon);
/// The smallest epsilon >= 0 that this bound proves, and the c that attains it.
struct ChernoffEpsilon {
  double epsilon;
  double c;
};
ChernoffEpsilon chernoff_epsilon(const Composition& composition, double delta);

/// The point where the contour crosses the real axis: near the minimum over c > 0 of log M(c) - c epsilon - log c - log (c+1).
struct Crossing {
  double c;
  double epsilon;
  double log_delta;  ///< rough estimate of the result
  double period;     ///< distance between the trapezoid rule's aliases in epsilon
};
/// `most` is an approximate upper limit on log delta.
Crossing crossing(const Composition& composition, double epsilon, double most);

/// delta(epsilon) = (1 / 2 pi i) int M(s) e^{-s epsilon} / (s (s+1)) ds along Re s = c, evaluated by the trapezoid rule as an
/// upper bound. docs/privacy-tight.md has the proof.
class Contour {
 public:
  /// Valid for epsilons near the crossing's.
  Contour(const Composition& composition, const Crossing& at);
  /// False if the moments at the crossing are inexact, so there is no integral to compute. No other function may then be called.
  bool usable() const { return moments_.exact && std::isfinite(h_); }

  struct Value {
    double log_delta = 0;  ///< of the bound
    double slope = 0;      ///< d log delta / d epsilon, negative
    double excess = 0;     ///< estimate of what the extra Gaussian release adds to log delta
  };
  Value at(double epsilon) const;
  /// Continues along the line. Returns true once the rest of the integral is negligible at `epsilon`, or once an extra Gaussian
  /// release that makes it negligible adds no more than these excesses to log delta and to epsilon. Returns false if the number
  /// of values times (parts + 1) would exceed `most_work` before that; a part with more than 3000 nodes counts more than once.
  /// Throws Stopped.
  bool extend(double epsilon, double log_delta_excess, double epsilon_excess, double most_work);
  /// True if `epsilon` is near enough to the crossing's.
  bool covers(double epsilon) const;

 private:
  void append(std::size_t count);
  double log_rest(double t) const;  ///< log of a bound on |M(c + iu) / M(c)| for u >= t

  const Composition& composition_;
  double c_;
  double epsilon_;
  Moments moments_;
  double h_;
  double spread_;  // the integrand's bulk is 1 / spread_ wide in t
  bool plain_;     // if true, values_ are M(c + ikh) - 1: with few draws, 1 is most of M
  double mean_;
  double log_scale_;     // log of the scale of values_ and of delta e^{c epsilon}
  double floor_;         // log delta is about this far below log_scale_ - c epsilon
  double log_error_;     // of log M, caused by interpolation and rounding
  double error_ = 0;     // of the integral so far
  double extra_ = 0;     // w^2 of the extra Gaussian release
  double parts_ = 1;     // number of parts, weighted by work, plus one
  double log_tail_ = 0;  // log of the bound on the integral beyond the last value, relative to M(c) e^{-c epsilon}
  std::vector<LossLine> lines_;
  std::vector<std::complex<double>> values_;  // M(c + ikh) / M(c) e^{-ikh mean} or, if plain_, M(c + ikh) - 1
};

/// The exposure of one record, with equal releases merged and all unsampled Gaussian releases combined into one.
struct Schedule {
  struct Step {
    double rate;
    double noise_multiplier;
    double count;
  };
  std::vector<Step> steps;  ///< Poisson-sampled, rate below 1; sorted, no two equal
  double gaussian = 0;      ///< mu^2
  Neighbours neighbours = Neighbours::add_remove;

  explicit Schedule(std::span<const Releases> spending);
  bool empty() const { return steps.empty() && gaussian == 0; }
  /// An upper bound on the total variation distance between the outputs of neighbors, and thus on delta for any epsilon.
  double total_variation() const;
  /// Replaces many different steps with fewer steps whose logarithmic moments interpolate theirs. Steps with a noise multiplier
  /// below 0.04, whose quadrature would take too many nodes, are open instead. If there are too many kinds of either, coarser()
  /// merges them (dp/accountants/spending.hpp).
  Composition composition(Pair pair) const;
  /// The composition with all steps open: an upper bound that can be computed for any steps.
  Composition opened() const;
};

}  // namespace fedstride::tight
