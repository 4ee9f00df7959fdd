#include "core/random.hpp"

#include <cmath>
#include <numbers>

namespace fedstride {
namespace {

// Stafford's variant 13 of the 64-bit finaliser: a bijection with good avalanche.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed, Address address)
    : counter_{0, address.row, address.step, address.client} {
  const std::uint64_t place = static_cast<std::uint64_t>(address.purpose) << 32 | address.round;
  const std::uint64_t key = mix(mix(seed + 0x9e3779b97f4a7c15ULL) ^ place);
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

void RandomStream::refill() {
  block_ = philox4x32(counter_, key_);
  ++counter_[0];
  used_ = 0;
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  // Lemire's multiplication with rejection.
  unsigned __int128 product = static_cast<unsigned __int128>(bits64()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<unsigned __int128>(bits64()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double RandomStream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

double RandomStream::gamma(double shape) {
  if (shape < 1) return std::fmax(std::exp(log_of_gamma(shape)), 1e-300);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal();
    const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    if (v <= 0) continue;
    if (std::log(1 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double RandomStream::log_of_gamma(double shape) {
  if (shape >= 1) return std::log(gamma(shape));
  // gamma(a) = gamma(a + 1) U^(1/a), in logarithms because the power underflows.
  const double boosted = std::log(gamma(shape + 1));
  return boosted + std::log(1 - uniform()) / shape;
}

}  // namespace fedstride
