#include "nn/kernels/softmax.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/simd.hpp"

namespace fedstride {
namespace {

/// ln x for normal x > 0, to about 1e-15 (infinity and NaN unchanged): 2 artanh((m - 1)/(m + 1)) + exponent ln 2 with m in
/// [0.70, 1.41]. libm's result may differ in bits between processors.
double natural_log(double x) {
  if (!(x <= std::numeric_limits<double>::max())) return x;
  auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000F'FFFF'FFFF'FFFFU) | 0x3FF0'0000'0000'0000U);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double series = 0;
  for (int odd = 21; odd >= 1; odd -= 2) series = series * z + 1.0 / odd;
  return exponent * 0.6931471805599453 + 2 * s * series;
}

}  // namespace

RowLoss softmax_row(const float* scores, int classes, int label, float scale, float* gradient) {
  RowLoss row;
  float largest = scores[0];
  for (int c = 1; c < classes; ++c) {
    if (scores[c] > largest) {
      largest = scores[c];
      row.predicted = c;
    }
  }
  Lanes total{};
  for (int c = 0; c < classes; c += kLanes) {
    const int count = std::min(kLanes, classes - c);
    Lanes power = exp(load_first(scores + c, count) - largest);
    power = lane_numbers() < broadcast(count) ? power : Lanes{};
    if (gradient != nullptr) store(gradient + c, power);
    total += power;
  }
  const float norm = sum(total);
  row.loss = natural_log(norm) + (static_cast<double>(largest) - static_cast<double>(scores[label]));
  if (gradient != nullptr) {
    const float share = scale / norm;
    for (int c = 0; c < classes; c += kLanes) store(gradient + c, load(gradient + c) * share);
    gradient[label] -= scale;
  }
  return row;
}

Logistic logistic(float score) {
  const float small = exp(broadcast(score < 0 ? score : -score))[0];
  const float larger = 1 / (1 + small);
  return {natural_log(1 + static_cast<double>(small)) + static_cast<double>(score > 0 ? score : 0),
          score < 0 ? small * larger : larger};
}

}  // namespace fedstride
