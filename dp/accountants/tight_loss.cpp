#include "dp/accountants/tight.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "dp/accountants/composition.hpp"

namespace fedstride::tight {
namespace {

constexpr double kNegligible = 54;     // in the exponent: terms this far below the largest are dropped
constexpr double kLeft = 11;           // standard deviations: e^{-11^2 / 2} is below e^-54
constexpr double kBeyond = 3.5;        // e-folds of 1 - g beyond b until g cuts off e^{cL}: determines k
constexpr double kQuadrature = 42;     // in the exponent: error of the trapezoid rule in x, see docs/privacy-tight.md
constexpr std::size_t kRenewal = 256;  // steps after which terms are recomputed
constexpr std::size_t kLanes = 32;     // nodes that are rotated together
constexpr double kTermError = 4e-14;   // relative error of a term, from its start and kRenewal complex products and sums
constexpr double kTermNoise = 0.1;     // below this noise, kTermError grows with the largest losses, as 1 / sigma^2

double top_of(const auto& nodes) {
  double top = -std::numeric_limits<double>::infinity();
  for (const auto& node : nodes) top = std::max(top, node.log_weight);
  return top;
}

}  // namespace

std::complex<double> log1p(std::complex<double> w) {
  const double a = w.real();
  const double b = w.imag();
  const double size = a * a + b * b;
  const double real = size < 0.25 ? 0.5 * std::log1p(2 * a + size) : 0.5 * std::log((1 + a) * (1 + a) + b * b);
  return {real, std::atan2(b, 1 + a)};
}

std::complex<double> expm1(std::complex<double> w) {
  const double sine = std::sin(w.imag() / 2);
  const double cosine = std::cos(w.imag() / 2);
  const double less_one = std::expm1(w.real());
  return {less_one - 2 * (less_one + 1) * sine * sine, 2 * (less_one + 1) * sine * cosine};
}

namespace {

/// The Moments for log M(c) = log (1 - q + q e^{scale f(c)}), where f has this value, slope and curvature at c.
Moments mixed(double rate, double scale, double value, double slope, double curvature) {
  const double exponent = scale * value;
  Moments result;
  result.exact = false;
  result.log_moment = amplified_epsilon(exponent, rate);
  const double share = std::min(1.0, std::exp(std::log(rate) + exponent - result.log_moment));  // tilted probability of a draw
  result.mean = share * scale * slope;
  result.variance = share * scale * curvature + share * (1 - share) * scale * slope * scale * slope;
  return result;
}

}  // namespace

Moments Drawn::moments(double c) const {
  const double precision = 1 / (sigma * sigma);
  const Moments norm = mixed(rate, precision / 2, c, 1, 0);
  const double rest = is_replaced ? -std::log1p(-rate) : 0;
  Moments result;
  result.exact = false;
  result.log_moment = (1 + c) * norm.log_moment + c * rest;
  result.mean = norm.log_moment + (1 + c) * norm.mean + rest;
  result.variance = 2 * norm.mean + (1 + c) * norm.variance;
  if (!is_replaced) return result;
  const Moments told = mixed(rate, 2 * precision, c * (c + 1), 2 * c + 1, 2);
  return told.log_moment < result.log_moment ? told : result;
}

Loss::Loss(Pair pair, double rate, double sigma)
    : up_(pair == Pair::add ? 0 : 1),
      down_(pair == Pair::remove ? 0 : 1),
      rate_(rate),
      log_rate_(std::log(rate)),
      sigma_(sigma),
      variance_(sigma * sigma),
      height_(std::min(1.5 * sigma, 0.375 * std::numbers::pi * sigma * sigma)),
      step_(2 * std::numbers::pi * height_ / kQuadrature) {}

double Loss::largest() const { return up_ > 0 || rate_ >= 1 ? std::numeric_limits<double>::infinity() : -std::log1p(-rate_); }

double Loss::log_ratio(double x) const {
  const double u = (x - 0.5) / variance_;
  if (rate_ == 1) return u;
  if (u > 300) return u + std::log1p((1 - rate_) * std::expm1(-u));
  return std::log1p(rate_ * std::expm1(u));
}

Loss::Complex Loss::log_ratio(Complex x) const {
  const Complex u = (x - 0.5) / variance_;
  if (rate_ == 1) return u;
  if (u.real() > 300) return u + log1p((1 - rate_) * expm1(-u));
  return log1p(rate_ * expm1(u));
}

double Loss::log_integrand(double x, double c) const {
  double value = -x * x / (2 * variance_);
  if (up_ > 0) value += (1 + c) * log_ratio(x);
  if (down_ > 0) value -= c * log_ratio(-x);
  return value;
}

Loss Loss::leaking(double log_leak) const {
  // 1 - g(x) <= e^{k (x - b)}, and E_P[e^{kx}] = e^{k^2 sigma^2 / 2} (1 - q + q e^k); for `add`, P is N(0), so q = 0.
  Loss result = *this;
  const double room = std::max(1.0, -log_leak) + kBeyond;
  const double k = std::sqrt(2 * room) / sigma_;
  const double drawn = k < 30 ? std::log1p(rate_ * std::expm1(k)) : std::max(0.0, log_rate_ + k) + std::log(2.0);
  result.steepness_ = k;
  result.edge_ = (k * k * variance_ / 2 + (up_ > 0 ? drawn : 0) - log_leak) / k;
  result.height_ = std::min(height_, 0.5 / k);  // Re e^{k (x + iy)} > 0 up to twice the height
  result.step_ = 2 * std::numbers::pi * result.height_ / kQuadrature;
  auto kept = std::make_shared<std::vector<Node>>();
  const double end = result.edge_ + 9 / k;  // beyond it, nodes are created as needed
  for (double number = std::floor(-kLeft * sigma_ / result.step_); number * result.step_ < end; ++number)
    kept->push_back(result.node(number, 0));
  result.kept_ = std::move(kept);
  return result;
}

Loss::Node Loss::node(double number, double c) const {
  const double x = number * step_;
  const double forward = up_ > 0 ? log_ratio(x) : 0;
  const double backward = down_ > 0 ? log_ratio(-x) : 0;
  const double loss = forward - backward;
  const double given = steepness_ > 0 ? std::exp(steepness_ * (x - edge_)) : 0;
  return {x, -x * x / (2 * variance_) + forward + c * loss - given, loss};
}

std::vector<Loss::Node> Loss::leaking_nodes(double c) const {
  // Left of 0, the loss is at most L(0), so the Gaussian alone bounds the integrand. To the right, g bounds it, at the latest
  // where g falls faster than e^{cL} rises.
  std::vector<Node> nodes = *kept_;
  for (auto& node : nodes) node.log_weight += c * node.loss;
  double top = top_of(nodes);
  const std::size_t most = nodes.size() + kMaxNodes;
  const double steepest = (1 + 2 * c) / variance_;
  while (nodes.back().log_weight > top - kNegligible || steepness_ * std::exp(steepness_ * (nodes.back().x - edge_)) < steepest) {
    if (nodes.size() > most) return {};
    nodes.push_back(node(std::round(nodes.back().x / step_) + 1, c));
    top = std::max(top, nodes.back().log_weight);
  }
  std::erase_if(nodes, [&](const Node& node) { return node.log_weight < top - kNegligible; });
  return nodes;
}

double Loss::uphill(double x, double c) const {
  const auto drawn = [&](double at) { return std::exp(log_rate_ + (at - 0.5) / variance_ - log_ratio(at)); };
  double value = 0;
  if (up_ > 0) value += (1 + c) * drawn(x);
  if (down_ > 0) value += c * drawn(-x);
  return value;
}

std::vector<Loss::Node> Loss::nodes(double c) const {
  if (steepness_ > 0) return leaking_nodes(c);
  // All maxima lie in [0, u (1+c) + v c], where uphill(x) - x changes sign.
  const double last = up_ * (1 + c) + down_ * c;
  if (!(last < 1e12 * step_)) return {};
  std::array<double, 3> starts{0, last, last};
  const double damping = down_ > 0 ? 0.5 : 1;
  for (const std::size_t i : {0U, 1U}) {
    for (int k = 0; k < 60; ++k) {
      const double move = damping * (uphill(starts[i], c) - starts[i]);
      starts[i] += move;
      if (std::abs(move) < 0.25 * sigma_) break;
    }
  }
  if (down_ > 0) {
    double low = 0;
    double high = last;
    while (high - low > 0.25 * sigma_ && high - low > 1e-12 * high) {
      const double middle = (low + high) / 2;
      (uphill(middle, c) > middle ? low : high) = middle;
    }
    starts[2] = low;
  }
  double top = -std::numeric_limits<double>::infinity();
  for (const double start : starts) top = std::max(top, log_integrand(start, c));
  std::sort(starts.begin(), starts.end());
  std::vector<Node> nodes;
  std::vector<Node> below;
  double reached = -std::numeric_limits<double>::infinity();  // grid number of the last node
  const auto node_at = [&](double number) { return node(number, c); };
  for (const double start : starts) {
    const double first = std::round(start / step_);
    below.clear();
    if (first <= reached) continue;
    for (double number = first - 1; number > reached; --number) {
      if (below.size() > kMaxNodes) return {};
      below.push_back(node_at(number));
      top = std::max(top, below.back().log_weight);
      if (below.back().log_weight < top - kNegligible) break;
    }
    nodes.insert(nodes.end(), below.rbegin(), below.rend());
    for (double number = first;; ++number) {
      if (nodes.size() > kMaxNodes) return {};
      nodes.push_back(node_at(number));
      reached = number;
      top = std::max(top, nodes.back().log_weight);
      if (nodes.back().log_weight < top - kNegligible) break;
    }
  }
  std::erase_if(nodes, [&](const Node& node) { return node.log_weight < top - kNegligible; });
  return nodes;
}

Moments Loss::moments(double c) const {
  const auto all = nodes(c);
  if (all.empty()) return Drawn{rate_, sigma_, up_ + down_ > 1}.moments(c);
  const double top = top_of(all);
  double sum = 0;
  double first = 0;
  std::vector<double> weights;
  weights.reserve(all.size());
  for (const auto& node : all) {
    weights.push_back(std::exp(node.log_weight - top));
    sum += weights.back();
    first += weights.back() * node.loss;
  }
  Moments result;
  result.mean = first / sum;
  double second = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double distance = all[i].loss - result.mean;
    second += weights[i] * distance * distance;
  }
  result.variance = second / sum;
  result.log_moment = top + std::log(sum * step_ / (sigma_ * std::sqrt(2 * std::numbers::pi)));
  return result;
}

Loss::Shifted Loss::shifted(double x, double y, double c) const {
  const Complex z{x, y};
  const Complex forward = up_ > 0 ? log_ratio(z) : 0;
  const Complex backward = down_ > 0 ? log_ratio(-z) : 0;
  const Complex loss = forward - backward;
  const Complex given = steepness_ > 0 ? std::exp(steepness_ * (z - edge_)) : 0;
  return {-z * z / (2 * variance_) + forward + c * loss - given, loss};
}

double Loss::log_bound(double c, double t) const {
  // |M(c + it)| is at most M(c), and at most the integral of |integrand| over any line Im x = y. This integral falls as t grows,
  // since Im L >= 0 on the line.
  const auto all = nodes(c);
  if (all.empty()) return 0;
  const double top = top_of(all);
  double moment = 0;
  for (const auto& node : all) moment += std::exp(node.log_weight - top);
  double best = moment;
  double highest = std::min(0.75 * std::numbers::pi * variance_, 12 * sigma_);
  if (steepness_ > 0) highest = std::min(highest, 1 / steepness_);
  for (double y = highest; y > 1e-8 * highest; y /= 2) {
    double bound = 0;
    for (const auto& node : all) {
      const auto at = shifted(node.x, y, c);
      bound += std::exp(at.log_weight.real() - t * at.loss.imag() - top);
    }
    if (bound > 2 * best && best < moment) break;
    best = std::min(best, bound);
  }
  return std::log(best / moment);
}

LossLine::LossLine(const Loss& loss, double c, double h, bool plain) : h_(h) {
  const auto all = loss.nodes(c);
  const auto moments = plain ? Moments{} : loss.moments(c);
  const double scale = moments.log_moment - std::log(loss.step_ / (loss.sigma_ * std::sqrt(2 * std::numbers::pi)));
  double above = 0;
  for (const auto& node : all) {
    const auto at = loss.shifted(node.x, loss.height_, c);
    const Loss::Complex z{node.x, loss.height_};
    const auto gaussian = -z * z / (2 * loss.variance_);
    const auto log_weight = (plain ? gaussian : at.log_weight) - scale;
    nodes_.push_back(
        {log_weight, std::exp(log_weight), plain ? at.log_weight - gaussian : 0, Loss::Complex{0, 1} * (at.loss - moments.mean)});
    above += std::exp(loss.shifted(node.x, 2 * loss.height_, c).log_weight.real() - scale);
  }
  relative_error_ = kTermError * std::max(1.0, kTermNoise * kTermNoise / loss.variance_) + (1 + above) * std::exp(-kQuadrature);
  renew();
}

void LossLine::renew() {
  const double t = h_ * static_cast<double>(at_);
  const double until = h_ * static_cast<double>(kRenewal);
  for (auto* values : {&real_, &imaginary_, &real_weight_, &imaginary_weight_, &real_turn_, &imaginary_turn_}) values->clear();
  std::size_t kept = 0;
  double sizes = std::abs(gone_);
  for (const auto& node : nodes_) {
    const auto exponent = node.start + t * node.rate;
    if (exponent.real() + node.log_weight.real() < -kNegligible) {  // from here onward: the real part falls as t grows
      gone_ -= node.weight;
      sizes += std::abs(node.weight);
      continue;
    }
    const auto term = exponent.real() > 30 ? std::exp(node.log_weight + exponent) - node.weight : node.weight * expm1(exponent);
    const auto turn = expm1(h_ * node.rate);
    const double now = std::abs(term + node.weight);
    sizes += std::min(std::abs(term) + now * std::abs(node.rate) * until, now + std::abs(node.weight));
    real_.push_back(term.real());
    imaginary_.push_back(term.imag());
    real_weight_.push_back(node.weight.real());
    imaginary_weight_.push_back(node.weight.imag());
    real_turn_.push_back(turn.real());
    imaginary_turn_.push_back(turn.imag());
    nodes_[kept++] = node;
  }
  nodes_.resize(kept);
  error_ = relative_error_ * sizes;
  const std::size_t whole = (kept + kLanes - 1) / kLanes * kLanes;
  for (auto* values : {&real_, &imaginary_, &real_weight_, &imaginary_weight_, &real_turn_, &imaginary_turn_})
    values->resize(whole, 0.0);
}

void LossLine::next(std::span<std::complex<double>> values) {
  constexpr std::size_t kVectors = kLanes / 8;
  typedef double Vector __attribute__((vector_size(64)));
  const auto load = [](const double* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
  };
  const auto store = [](double* to, const Vector& vector) { std::memcpy(to, &vector, sizeof vector); };
  std::array<Vector, kRenewal> reals;
  std::array<Vector, kRenewal> imaginaries;
  while (!values.empty()) {
    if (at_ % kRenewal == 0 && at_ > 0) renew();
    const std::size_t many = std::min(values.size(), kRenewal - at_ % kRenewal);
    std::fill_n(reals.begin(), many, Vector{});
    std::fill_n(imaginaries.begin(), many, Vector{});
    // Each group of kLanes nodes takes all its steps before the next group starts, so it stays in registers.
    for (std::size_t first = 0; first < real_.size(); first += kLanes) {
      std::array<Vector, kVectors> a, b, c, d, u, v;
      for (std::size_t i = 0; i < kVectors; ++i) {
        a[i] = load(&real_[first + 8 * i]);
        b[i] = load(&imaginary_[first + 8 * i]);
        u[i] = load(&real_weight_[first + 8 * i]);
        v[i] = load(&imaginary_weight_[first + 8 * i]);
        c[i] = load(&real_turn_[first + 8 * i]);
        d[i] = load(&imaginary_turn_[first + 8 * i]);
      }
      for (std::size_t k = 0; k < many; ++k) {
        for (std::size_t i = 0; i < kVectors; ++i) {
          reals[k] += a[i];
          imaginaries[k] += b[i];
          const Vector whole_a = a[i] + u[i];
          const Vector whole_b = b[i] + v[i];
          a[i] += whole_a * c[i] - whole_b * d[i];
          b[i] += whole_a * d[i] + whole_b * c[i];
        }
      }
      for (std::size_t i = 0; i < kVectors; ++i) {
        store(&real_[first + 8 * i], a[i]);
        store(&imaginary_[first + 8 * i], b[i]);
      }
    }
    for (std::size_t k = 0; k < many; ++k) {
      double sums[2] = {gone_.real(), gone_.imag()};
      for (int lane = 0; lane < 8; ++lane) {
        sums[0] += reals[k][lane];
        sums[1] += imaginaries[k][lane];
      }
      values[k] = {sums[0], sums[1]};
    }
    values = values.subspan(many);
    at_ += many;
  }
}

}  // namespace fedstride::tight
