#include "dp/accountants/tight_loss.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace fedstride::tight {
namespace {

constexpr double kNegligible = 54;    // in the exponent, against the largest
constexpr double kQuadrature = 42;    // e^-42 is what the trapezoid rule in x leaves out, see docs/privacy.md
constexpr std::size_t kRenewal = 256; // steps after which terms are computed afresh
constexpr double kTermError = 4e-14;   // relative, of a term: its start and kRenewal complex products and sums

}  // namespace

std::complex<double> log1p(std::complex<double> w) {
  const double a = w.real();
  const double b = w.imag();
  const double size = a * a + b * b;
  const double real = size < 0.25 ? 0.5 * std::log1p(2 * a + size) : std::log(std::hypot(1 + a, b));
  return {real, std::atan2(b, 1 + a)};
}

std::complex<double> expm1(std::complex<double> w) {
  const double half_sine = std::sin(w.imag() / 2);
  return {std::expm1(w.real()) * std::cos(w.imag()) - 2 * half_sine * half_sine,
          std::exp(w.real()) * std::sin(w.imag())};
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

double Loss::largest() const {
  return up_ > 0 || rate_ >= 1 ? std::numeric_limits<double>::infinity() : -std::log1p(-rate_);
}

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

double Loss::uphill(double x, double c) const {
  const auto drawn = [&](double at) { return std::exp(log_rate_ + (at - 0.5) / variance_ - log_ratio(at)); };
  double value = 0;
  if (up_ > 0) value += (1 + c) * drawn(x);
  if (down_ > 0) value += c * drawn(-x);
  return value;
}

std::vector<Loss::Node> Loss::nodes(double c) const {
  // All maxima lie in [0, u (1+c) + v c], where uphill(x) - x changes sign.
  const double last = up_ * (1 + c) + down_ * c;
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
  const auto node_at = [&](double number) {
    const double x = number * step_;
    const double forward = up_ > 0 ? log_ratio(x) : 0;
    const double backward = down_ > 0 ? log_ratio(-x) : 0;
    const double loss = forward - backward;
    return Node{x, -x * x / (2 * variance_) + forward + c * loss, loss};
  };
  for (const double start : starts) {
    const double first = std::round(start / step_);
    below.clear();
    if (first <= reached) continue;
    for (double number = first - 1; number > reached; --number) {
      below.push_back(node_at(number));
      top = std::max(top, below.back().log_weight);
      if (below.back().log_weight < top - kNegligible) break;
    }
    nodes.insert(nodes.end(), below.rbegin(), below.rend());
    for (double number = first;; ++number) {
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
  double top = -std::numeric_limits<double>::infinity();
  for (const auto& node : all) top = std::max(top, node.log_weight);
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
  return {-z * z / (2 * variance_) + forward + c * loss, loss};
}

double Loss::log_bound(double c, double t) const {
  // |M(c + it)| <= int |integrand| over the line Im x = y, which falls in t since Im L >= 0 there; any y will do.
  const auto all = nodes(c);
  double top = -std::numeric_limits<double>::infinity();
  for (const auto& node : all) top = std::max(top, node.log_weight);
  double moment = 0;
  for (const auto& node : all) moment += std::exp(node.log_weight - top);
  double best = moment;
  const double highest = std::min(0.75 * std::numbers::pi * variance_, 12 * sigma_);
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
    nodes_.push_back({log_weight, std::exp(log_weight), plain ? at.log_weight - gaussian : 0,
                      Loss::Complex{0, 1} * (at.loss - moments.mean)});
    above += std::exp(loss.shifted(node.x, 2 * loss.height_, c).log_weight.real() - scale);
  }
  relative_error_ = kTermError + (1 + above) * std::exp(-kQuadrature);
  renew();
}

void LossLine::renew() {
  constexpr std::size_t kLanes = 8;
  const double t = h_ * static_cast<double>(at_);
  const double until = h_ * static_cast<double>(kRenewal);
  for (auto* values : {&real_, &imaginary_, &real_weight_, &imaginary_weight_, &real_turn_, &imaginary_turn_})
    values->clear();
  std::size_t kept = 0;
  double sizes = std::abs(gone_);
  for (const auto& node : nodes_) {
    const auto exponent = node.start + t * node.rate;
    if (exponent.real() + node.log_weight.real() < -kNegligible) {  // and so it stays: the real part falls in t
      gone_ -= node.weight;
      sizes += std::abs(node.weight);
      continue;
    }
    const auto term = exponent.real() > 30 ? std::exp(node.log_weight + exponent) - node.weight
                                           : node.weight * expm1(exponent);
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
  typedef double Lanes __attribute__((vector_size(64)));
  const auto load = [](const double* from) {
    Lanes lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
  };
  const auto store = [](double* to, const Lanes& lanes) { std::memcpy(to, &lanes, sizeof lanes); };
  for (auto& value : values) {
    if (at_ % kRenewal == 0 && at_ > 0) renew();
    Lanes real{};
    Lanes imaginary{};
    for (std::size_t i = 0; i < real_.size(); i += 8) {
      const Lanes a = load(&real_[i]);
      const Lanes b = load(&imaginary_[i]);
      const Lanes c = load(&real_turn_[i]);
      const Lanes d = load(&imaginary_turn_[i]);
      const Lanes whole_a = a + load(&real_weight_[i]);
      const Lanes whole_b = b + load(&imaginary_weight_[i]);
      real += a;
      imaginary += b;
      store(&real_[i], a + (whole_a * c - whole_b * d));
      store(&imaginary_[i], b + (whole_a * d + whole_b * c));
    }
    double sums[2] = {gone_.real(), gone_.imag()};
    for (int lane = 0; lane < 8; ++lane) {
      sums[0] += real[lane];
      sums[1] += imaginary[lane];
    }
    value = {sums[0], sums[1]};
    ++at_;
  }
}

}  // namespace fedstride::tight
