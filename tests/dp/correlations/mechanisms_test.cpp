// Every mechanism of the list keeps the promises of dp/correlations/correlation.hpp.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "dp/correlations/correlations.hpp"

namespace fedstride::test::mechanisms_test {
namespace {

using Row = std::vector<double>;

/// What decoding gives of each round's encoded numbers, without noise.
std::vector<Row> decoded(const Correlation& correlation, const std::vector<Row>& rounds) {
  constexpr std::size_t kFirst = 3;
  std::vector<Row> encoder(kept_vectors(correlation), Row(kFirst + rounds[0].size(), 0.0)), decoder = encoder;
  std::vector<Row> all;
  for (std::uint64_t t = 0; t < rounds.size(); ++t) {
    Row values = rounds[t];
    std::vector<Row> further(40);
    const auto put = [&](std::size_t number, std::span<const double> node) { further[number].assign(node.begin(), node.end()); };
    mechanism_of(correlation).encode(correlation, {t, kFirst, values, encoder}, put);
    const auto draw = [&](std::size_t number) { return std::span<const double>(further[number]); };
    mechanism_of(correlation).correlate(correlation, {t, kFirst, values, decoder}, draw);
    all.push_back(values);
  }
  return all;
}

/// The noise of each round, of draws that are `factor` times the same numbers.
std::vector<Row> noise_of(const Correlation& correlation, double factor) {
  constexpr std::size_t kFirst = 3, kSize = 5;
  std::vector<Row> kept(kept_vectors(correlation), Row(kFirst + kSize, 0.0));
  std::vector<Row> rounds;
  Row drawn(kSize);
  for (std::uint64_t t = 0; t < correlation.horizon; ++t) {
    const auto draw = [&](std::size_t number) {
      for (std::size_t i = 0; i < kSize; ++i) drawn[i] = factor * std::sin(static_cast<double>(1 + i + 7 * number + 31 * t));
      return std::span<const double>(drawn);
    };
    draw(0);
    Row noise = drawn;
    mechanism_of(correlation).correlate(correlation, {t, kFirst, noise, kept}, draw);
    rounds.push_back(noise);
  }
  for (const Row& vector : kept)
    for (std::size_t i = 0; i < kFirst; ++i) CHECK(vector[i] == 0);  // of another stretch
  return rounds;
}

}  // namespace

TEST_CASE("every mechanism plans what it accounts for, states its settings, and its noise is linear in the draws") {
  for (const auto& part : MechanismPart::family().parts()) {
    CAPTURE(part->name());
    const std::unique_ptr<Part> own = part->clone();
    for (const SettingInfo& info : own->settings()) own->set(info, std::int64_t{3});
    const auto& mechanism = static_cast<const MechanismPart&>(*own);
    for (const std::uint64_t separation : {2, 4}) {
      const Correlation planned = plan_correlation(mechanism, separation, 12);
      CHECK(planned.horizon == 12);
      CHECK(choice_name(planned.mechanism) == part->name());
      CHECK(&mechanism_of(planned) == part.get());
      CHECK(objection(planned).empty());
      for (const SettingInfo& info : own->settings()) {
        const auto all = mechanism.stated(planned);
        const auto stated = std::ranges::find(all, info.name, &std::pair<std::string_view, std::uint64_t>::first);
        REQUIRE(stated != all.end());
        CHECK(stated->second == 3);
      }
      const std::vector<Row> once = noise_of(planned, 1), twice = noise_of(planned, 2);
      CHECK(once == noise_of(planned, 1));
      for (std::size_t t = 0; t < once.size(); ++t)
        for (std::size_t i = 0; i < once[t].size(); ++i) CHECK(twice[t][i] == doctest::Approx(2 * once[t][i]));
      const std::vector<Row> again = decoded(planned, once);
      for (std::size_t t = 0; t < once.size(); ++t)
        for (std::size_t i = 0; i < once[t].size(); ++i) CHECK(again[t][i] == doctest::Approx(once[t][i]).epsilon(1e-12));
      double before = 1;
      for (std::uint64_t rounds = 1; rounds <= 12; ++rounds) {
        const double all = correlated_sensitivity(planned, rounds);
        CHECK(all >= before);
        CHECK(correlated_sensitivity(planned, rounds, 1) <= all);
        before = all;
      }
      const double in_groups = mechanism.norm_in_groups(planned);
      CHECK((in_groups == 0 || in_groups >= 1));
      CHECK(is_amplified_in_groups(planned) == (in_groups > 0));
      Correlation wrong = planned;
      wrong.coefficients.push_back(std::nan(""));
      CHECK_FALSE(objection(wrong).empty());
      wrong = planned;
      wrong.restart = 3;
      CHECK(objection(wrong).empty() == mechanism.restarts());
    }
    CHECK_FALSE(plan_correlation(IndependentNoise(), 1, 12).on());
    CHECK(plan_correlation(mechanism, 1, 12).on() == !mechanism.is_independent(1));
    CHECK_THROWS_AS(plan_correlation(mechanism, 2, 0), Error);
  }
}

}  // namespace fedstride::test::mechanisms_test
