// Every law of the list keeps the promises of dp/laws/law.hpp.
#include "dp/laws/laws.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

namespace fedstride::test::laws_test {
namespace {

constexpr int kDraws = 200'000;

std::map<std::int64_t, double> counts_of(const IntegerNoise& noise) {
  RandomStream random(3, {.purpose = Purpose::test});
  std::map<std::int64_t, double> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[noise.draw(random)];
  return counts;
}

// Divergence between drawn numbers and the same moved by so much, where both are frequent: hardly more than it is in truth.
double least_divergence(std::map<std::int64_t, double>& counts, std::int64_t moved, double order) {
  double sum = 0;
  for (const auto& [number, count] : std::map(counts))
    if (const double other = counts[number - moved]; count >= 400 && other >= 400)
      sum += other / kDraws * std::pow(count / other, order);
  return std::log(sum) / (order - 1);
}

}  // namespace

TEST_CASE("every law has a divergence like any other, and no smaller than that of the numbers it draws") {
  for (const std::string_view name : kChoiceNames<NoiseLaw>) {
    CAPTURE(name);
    const auto value = *find_choice<NoiseLaw>(name);
    const Law& law = law_of(value);
    const DistributedNoise noise{.step = 0.125, .local_deviation = 0.5, .shares = 9, .clip = 1, .dimension = 64};
    double before = 1e-9;
    for (const double order : {1.5, 2.0, 2.5, 3.0, 7.25, 64.0, 1024.0}) {
      CHECK(law.rdp(noise, order) >= before);
      before = law.rdp(noise, order);
      DistributedNoise other = noise;
      other.distance = 2;
      CHECK(law.rdp(other, order) > before);
      other = noise;
      other.local_deviation *= 2;
      CHECK(law.rdp(other, order) < before);
    }
    const auto like = law.gaussian_like(noise);
    REQUIRE(like.has_value() == law.has_gaussian_like());
    if (like) CHECK(like->log_factor >= 0);
    const bool in_shares = value != NoiseLaw::gaussian;
    REQUIRE((law.share(4).draw != nullptr) == in_shares);
    if (!in_shares) continue;
    CHECK(law.share(law.most_steps()).variance >= law.most_steps() * law.most_steps() * (1 - 1e-9));
    for (const double deviation : {2.0, 3.3, 6.0}) {
      const IntegerNoise drawn = law.share(deviation);
      CHECK(drawn.variance >= deviation * deviation);
      CHECK(std::sqrt(drawn.variance) <= deviation + 1);
      auto counts = counts_of(drawn);
      double mean = 0, square = 0, beyond = 0;
      for (const auto& [number, count] : counts) {
        const auto x = static_cast<double>(number);
        mean += count * x / kDraws;
        square += count * x * x / kDraws;
        if (x >= 3 * deviation) beyond += count / kDraws;
      }
      CHECK(std::abs(mean) < 4 * deviation / std::sqrt(kDraws));
      CHECK(square == doctest::Approx(drawn.variance).epsilon(0.02));
      CHECK(beyond <= std::exp(-9 / (2 * (1 + law.tail(deviation) * 3 / deviation))));
      const DistributedNoise one{.step = 1, .local_deviation = deviation, .shares = 1, .clip = deviation / 2, .dimension = 1};
      for (const double order : {1.5, 2.0, 4.5})
        CHECK(least_divergence(counts, std::lround(std::floor(rounded_norm(one))), order) <= law.rdp(one, order) * 1.03);
    }
  }
}

}  // namespace fedstride::test::laws_test
