#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <string>

#include "core/family.hpp"
#include "core/random.hpp"
#include "core/stop.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/composition.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sanitized.hpp"

namespace fedstride::test::extreme_settings_test {
namespace {

const int kSettings = every_check() ? 14'500 : 870;  // two thirds of them have a sound accountant
const double kSlower = is_sanitized() ? 20 : 1;
// A core with AVX-512 needs 0.2 s at most, one with AVX2 alone 0.45 s; one that two busy threads share, 1.3 s.
const double kMaxSeconds = 8 * kSlower;  // 1.5 on an idle processor, 4.3 beside others that share its caches

struct Setting {
  AccountantWords words;
  Releases releases;
  double delta = 0;
  double epsilon = 0;
};

/// Anything: a third of the settings near those that people use, the rest over the whole range.
Setting setting(std::uint32_t number) {
  RandomStream random(17, {.purpose = Purpose::test, .row = number});
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random.below(1U << 30)) / (1U << 30);
  };
  const auto one_of = [&](const auto& names) {
    return std::string(names[random.below(static_cast<std::uint32_t>(std::size(names)))]);
  };
  Setting drawn;
  const bool usual = number % 3 == 0;
  Releases& releases = drawn.releases;
  releases.noise_multiplier = std::pow(10, usual ? between(-2, 3) : between(-12, 12));
  releases.rate = std::pow(10, usual ? between(-6, 0) : between(-12, 0));
  releases.count = static_cast<std::uint64_t>(std::pow(10, between(0, 12)));
  drawn.delta = std::pow(10, number % 2 == 0 ? between(-15, -0.3) : between(-300, -0.00044));
  drawn.epsilon = std::pow(10, between(-6, 6));
  releases.sampling =
      sampling_named(one_of(std::span(kChoiceNames<Sampling>).first(4)));  // the next draws have rates of their own
  releases.neighbours = neighbours_named(one_of(kChoiceNames<Neighbours>));
  if (number % 4 == 0) releases.sampling = Sampling::poisson;
  if (releases.sampling == Sampling::full) releases.rate = 1;
  if (releases.sampling == Sampling::shuffle)
    releases.passes = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(releases.count) * releases.rate));
  drawn.words.name = one_of(part_names<Accountant>());
  if (has_setting(drawn.words.name, "conversion")) drawn.words.conversion = one_of(kChoiceNames<Conversion>);
  if (has_setting(drawn.words.name, "orders")) drawn.words.orders = one_of(kChoiceNames<OrderGrid>);
  return drawn;
}

/// An epsilon that cannot be gone below: the exact one of a Gaussian; under sampling, and add-remove neighbours, that of one
/// release alone, or what the event "the sum is above the median of its mean" shows. 0 if none is at hand.
double epsilon_at_least(const Releases& releases, double delta) {
  const double distance = releases.neighbours == Neighbours::replace_one ? 2 : 1;
  const double sigma = releases.noise_multiplier;
  const auto count = static_cast<double>(releases.count);
  if (releases.sampling != Sampling::poisson && releases.sampling != Sampling::full) return 0;
  if (releases.rate == 1) return gaussian_epsilon(distance * std::sqrt(count) / sigma, delta);
  if (distance == 2) return 0;
  double least = 0;
  if (delta < releases.rate) least = amplified_epsilon(gaussian_epsilon(1 / sigma, delta / releases.rate), releases.rate);
  const double draws = std::floor(count * releases.rate);  // at least so many with probability 1/2, at or below the median
  if (draws >= 1 && delta < 0.25) {
    const double deviations = draws / (sigma * std::sqrt(count));
    least = std::max(least, std::log(0.25 - delta) + deviations * deviations / 2 + std::log(2.0));
  }
  return least;
}

double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("Of settings over the whole range each is answered soon, by an upper bound that grows as it should") {
  int answered = 0;
  double longest = 0;
  for (int number = 0; number < kSettings; ++number) {
    const Setting drawn = setting(static_cast<std::uint32_t>(number));
    const Accountant accountant = make_accountant(drawn.words);
    const Spending spending{drawn.releases};
    if (!unsound_by(accountant, spending).empty()) continue;
    ++answered;
    CAPTURE(number);
    CAPTURE(drawn.words.name);
    CAPTURE(drawn.releases.noise_multiplier);
    CAPTURE(drawn.releases.rate);
    CAPTURE(drawn.releases.count);
    CAPTURE(drawn.delta);
    CAPTURE(drawn.epsilon);
    const double start = seconds();
    const double epsilon = epsilon_by(accountant, spending, drawn.delta).value;
    const double middle = seconds();
    const double delta = delta_by(accountant, spending, drawn.epsilon).value;
    const double end = seconds();
    longest = std::max({longest, middle - start, end - middle});
    CHECK(middle - start < kMaxSeconds);
    CHECK(end - middle < kMaxSeconds);
    CHECK(epsilon >= 0);  // no NaN
    CHECK((delta >= 0 && delta <= 1));
    // A heuristic is no bound. The least is itself rounded where a double holds 1 + epsilon badly.
    if (drawn.words.name != "as-in-paper") CHECK(epsilon >= epsilon_at_least(drawn.releases, drawn.delta) * (1 - 1e-3));
    // More noise, fewer releases, a lower rate, a larger delta: no more epsilon, but for tight's tolerance.
    Setting easier = drawn;
    switch (number % 4) {
      case 0:
        easier.releases.noise_multiplier *= 1.5;
        break;
      case 1:
        easier.releases.count = (easier.releases.count + 1) / 2;
        easier.releases.passes = std::min(easier.releases.passes, easier.releases.count);
        break;
      case 2:
        if (easier.releases.sampling != Sampling::full) easier.releases.rate /= 1.5;
        break;
      default:
        easier.delta = std::min(0.999, easier.delta * 2);
    }
    CHECK(epsilon_by(accountant, Spending{easier.releases}, easier.delta).value <= epsilon * 1.02 + 1e-4);
  }
  CHECK(answered > kSettings / 2);
  MESSAGE(answered, " settings, the longest ", longest, " s");
}

TEST_CASE("Little noise has an epsilon near that of the draws, and says that it is a bound") {
  // 10,000 lots at rate 0.01 draw a record 100 times, 150 at most with probability 1 - 1e-5: epsilon is K / 2 sigma^2 and some.
  for (const char* name : {"tight", "rdp"}) {
    CAPTURE(name);
    for (const double sigma : {1e-2, 1e-3, 1e-6, 1e-12}) {
      CAPTURE(sigma);
      const Spending spending{{.rate = 0.01, .noise_multiplier = sigma, .count = 10'000}};
      const PrivacyBound bound = epsilon_by(make_accountant({.name = name}), spending, 1e-5);
      CHECK(bound.warning.starts_with("an upper bound"));
      const double draws = bound.value * 2 * sigma * sigma;
      CHECK(draws > 130);
      CHECK(draws < (std::string(name) == "tight" ? 160 : 11'001));  // rdp: the least order is 1.1
    }
  }
  CHECK(epsilon_by(Tight{}, Spending{{.rate = 0.01, .noise_multiplier = 1, .count = 10'000}}, 1e-5).warning.empty());
}

TEST_CASE(
    "Under replace-one little noise costs a few percent more than one release's loss, no more than by rdp, and does not jump") {
  constexpr double kDelta = 1e-5;
  const auto at = [](double rate, double sigma, std::uint64_t count) {
    return Spending{{.neighbours = Neighbours::replace_one, .rate = rate, .noise_multiplier = sigma, .count = count}};
  };
  const auto above = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
  for (const double rate : {1e-3, 0.1, 0.5, 0.95})
    for (const double sigma : {0.01, 0.03, 0.0399, 0.0401, 0.0694, 0.0999, 0.1001}) {
      CAPTURE(rate);
      CAPTURE(sigma);
      // The loss rises in x, so delta is P(x > t) - e^epsilon Q(x > t) where it is epsilon; there Q is all but (1 - q) N(0), or N(-1).
      const auto log_share = [&](double x) {  // of the mixture in N(0)
        const double drawn = std::log(rate) + (2 * x - 1) / (2 * sigma * sigma), rest = std::log1p(-rate);
        return std::max(drawn, rest) + std::log1p(std::exp(-std::abs(drawn - rest)));
      };
      const auto delta_of = [&](double epsilon) {
        double low = -1, high = 3;
        for (int i = 0; i < 200; ++i) {
          const double middle = (low + high) / 2;
          (log_share(middle) - log_share(-middle) < epsilon ? low : high) = middle;
        }
        const double log_tail = -high * high / (2 * sigma * sigma) - std::log(high / sigma * std::sqrt(2 * 3.14159265358979));
        const double in_q = (1 - rate) * std::exp(epsilon + log_tail);  // N(0) beyond t, at least: a bound on delta from below
        return rate * above((high - 1) / sigma) + (1 - rate) * above(high / sigma) - in_q;
      };
      const double epsilon = Tight{}.epsilon(at(rate, sigma, 1), kDelta).value;
      CHECK(delta_of(epsilon) <= kDelta);
      CHECK(delta_of(0.93 * epsilon) > kDelta);
      CHECK(epsilon <= Rdp{}.epsilon(at(rate, sigma, 1), kDelta).value);
      const double budget = 0.9 * epsilon;
      CHECK(Tight{}.delta(at(rate, sigma, 1), budget).value <= Rdp{}.delta(at(rate, sigma, 1), budget).value);
      CHECK(delta_of(budget) <= Tight{}.delta(at(rate, sigma, 1), budget).value);
    }
  for (const std::uint64_t count : {1, 100})
    for (const auto& [border, jump] : {std::pair{0.1, 1.01}, {0.04, 1.12}}) {
      const double below = Tight{}.epsilon(at(0.1, 0.999 * border, count), kDelta).value;
      const double beyond = Tight{}.epsilon(at(0.1, 1.001 * border, count), kDelta).value;
      CHECK(below > beyond);
      CHECK(below < jump * beyond);
    }
}

TEST_CASE("One low-noise release among many does not cost them their amplification") {
  const Releases many{.rate = 0.001, .noise_multiplier = 1, .count = 1000};
  const Releases quiet{.rate = 1e-9, .noise_multiplier = 0.01, .count = 1};
  const double alone = Tight{}.epsilon(Spending{many}, 1e-5).value;
  const double both = Tight{}.epsilon(Spending{many, quiet}, 1e-5).value;
  CHECK(both >= alone * (1 - 1e-9));
  CHECK(both < 1.5 * alone);
}

TEST_CASE("Calibration ends for every budget") {
  for (const double epsilon : {1e-6, 1e-2, 1.0, 1e3, 1e6, 1e12}) {
    for (const char* name : {"tight", "rdp", "strong", "basic"}) {
      CAPTURE(epsilon);
      CAPTURE(name);
      const double start = seconds();
      const Accountant accountant = make_accountant({.name = name});
      try {
        const auto at = [](double sigma) { return Spending{{.rate = 0.01, .noise_multiplier = sigma, .count = 1000}}; };
        const double noise = calibrate(accountant, at, epsilon, 1e-5);
        CHECK(meets(accountant, at(noise), epsilon, 1e-5));
      } catch (const Error& error) {
        CHECK(names(error.what(), {"epsilon", "noise multiplier", "1e6", "delta", "1e-05"}));
      }
      CHECK(seconds() - start < 5 * kSlower);
    }
  }
}

TEST_CASE("Many kinds of releases, of rates and noise far apart, are counted as fewer, upwards") {
  Spending spending;
  for (int i = 0; i < 3000; ++i)
    spending.push_back(
        {.rate = std::pow(10.0, -8.0 * (i % 57) / 57), .noise_multiplier = std::pow(10.0, 2.0 * (i % 53) / 53 + 0.001 * i)});
  const double start = seconds();
  const PrivacyBound bound = Tight{}.epsilon(spending, 1e-5);
  CHECK(seconds() - start < 20 * kSlower);
  CHECK_FALSE(bound.warning.empty());
  CHECK(std::isfinite(bound.value));
  CHECK(bound.value <= Rdp{}.epsilon(spending, 1e-5).value);
}

TEST_CASE("Numbers beyond doubles are refused by name") {
  for (const double noise : {1e-200, 1e200})
    CHECK_USAGE_ERROR(Tight{}.epsilon(Spending{{.noise_multiplier = noise}}, 1e-5), "noise multiplier", "1e-100", "1e100");
  CHECK_USAGE_ERROR(Rdp{}.epsilon(Spending{{.rate = 1e-200}}, 1e-5), "rate", "1e-200", "1e-100", "1");
  const Releases most{.count = std::numeric_limits<std::uint64_t>::max()};
  CHECK_USAGE_ERROR(Zcdp{}.epsilon(Spending{most, most}, 1e-5), "releases", "9.2e18");
}

TEST_CASE("Accountants stop on request, except while a StopLater is held") {
  const Spending spending{{.rate = 0.01, .noise_multiplier = 1, .count = 1000}};
  stop_requested = true;
  for (const char* name : {"tight", "rdp", "strong", "basic"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(epsilon_by(make_accountant({.name = name}), spending, 1e-5), Stopped);
    const StopLater later;
    CHECK(epsilon_by(make_accountant({.name = name}), spending, 1e-5).value > 0);
  }
  stop_requested = false;
}

}  // namespace fedstride::test::extreme_settings_test
