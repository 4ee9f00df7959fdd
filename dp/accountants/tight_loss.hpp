#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace fedstride::tight {

/// The pair (P, Q) of output distributions of one Poisson-sampled Gaussian release; its privacy loss is L = log dP/dQ.
/// N(m) has mean m in units of the clip bound and standard deviation sigma.
enum class Pair {
  remove,   ///< P = (1-q) N(0) + q N(1),  Q = N(0)
  add,      ///< P = N(0),                 Q = (1-q) N(0) + q N(1)
  replace,  ///< P = (1-q) N(0) + q N(1),  Q = (1-q) N(0) + q N(-1)
};

struct Moments {
  double log_moment = 0;  ///< log M(c), M(s) = E_P[e^{sL}]
  double mean = 0;        ///< first derivative of log M at c: the mean of L, tilted by e^{cL}
  double variance = 0;    ///< second derivative
  bool exact = true;      ///< else those of an upper bound, Drawn's
};

/// A release that also says which records it drew: M(c) = 1 - q + q e^{mu^2 c (c+1) / 2}, mu = distance / sigma. Without
/// what it says, which is post-processing, it is Loss's release: never below it, and next to it where noise is small.
struct Drawn {
  double rate;
  double square;  ///< mu^2

  Moments moments(double c) const;
};

/// The loss of one release. With A(x) = 1 - q + q e^{(2x-1)/(2 sigma^2)}, and u = 1 where P is the mixture, v = 1 where
/// Q is (mirrored for `replace` and `add`: its shift is to -1),
///   L(x) = u log A(x) - v log A(-x),   M(s) = int N(x; 0, sigma) A(x)^{u (1+s)} A(-x)^{-v s} dx.
class Loss {
 public:
  Loss(Pair pair, double rate, double sigma);

  /// The same release, except that x is given away with probability 1 - g(x), g(x) = exp(-e^{k (x - b)}): the remaining
  /// outcomes have hardly any loss beyond L(b). b and k are such that under P this happens with probability e^log_leak at
  /// most. M(s) is then that of the remaining outcomes, its mass M(0) a little below 1. Proof: docs/privacy-tight.md.
  Loss leaking(double log_leak) const;

  /// By quadrature over x; those of Drawn if that needs more than kMaxNodes nodes.
  Moments moments(double c) const;
  double sigma() const { return sigma_; }
  /// Log of an upper bound on |M(c + it)| / M(c) that holds for every t from `t` on; never above 0.
  double log_bound(double c, double t) const;
  /// The largest value that L can take; infinite if there is none.
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
  Complex log_ratio(Complex x) const;  ///< its continuation to |Im x| < pi sigma^2
  double log_integrand(double x, double c) const;
  double uphill(double x, double c) const;  ///< where the derivative of log_integrand would vanish, P and Q held at x
  static constexpr std::size_t kMaxNodes = 4096;
  /// Nodes of the trapezoid rule of step step_ over all of the integrand of M(c) that matters; none if they are too many.
  std::vector<Node> nodes(double c) const;
  std::vector<Node> leaking_nodes(double c) const;
  Node node(double number, double c) const;  ///< at x = number step_
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
  double steepness_ = 0;                           // k of g; 0: nothing is given away
  double edge_ = 0;                                // b
  std::shared_ptr<const std::vector<Node>> kept_;  // where g is above e^{-e^9}: nodes at c = 0
};

/// M(c + ikh), k = 0, 1, 2, ..., relative to M(c) e^{ikh mean}, with the `mean` of Moments, or not divided (`plain`); less
/// one, so that values near one keep their digits.
class LossLine {
 public:
  LossLine(const Loss& loss, double c, double h, bool plain);

  std::size_t nodes() const { return nodes_.size(); }
  /// The next values.
  void next(std::span<std::complex<double>> values);
  /// Bound on the absolute error of the last value.
  double error() const { return error_; }

 private:
  struct Node {
    std::complex<double> log_weight, weight;
    std::complex<double> start, rate;  // the term at t is weight e^{start + t rate}, less weight
  };
  void renew();

  double h_;
  double relative_error_ = 0;
  double error_ = 0;
  std::size_t at_ = 0;
  std::vector<Node> nodes_;
  std::complex<double> gone_;  // the terms of nodes that have vanished: - weight
  // Terms at at_, weights, and e^{h rate} - 1; real and imaginary parts separately.
  std::vector<double> real_, imaginary_, real_weight_, imaginary_weight_, real_turn_, imaginary_turn_;
};

/// log (1 + w) and e^w - 1 without cancellation.
std::complex<double> log1p(std::complex<double> w);
std::complex<double> expm1(std::complex<double> w);

}  // namespace fedstride::tight
