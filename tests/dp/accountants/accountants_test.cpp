#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string_view>

#include "core/text.hpp"
#include "dp/accountants/accountants.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::accountants_test {
namespace {

Spending abadi(std::uint64_t steps = 10000) { return {{.rate = 0.01, .noise_multiplier = 4, .count = steps}}; }
Spending tutorial(double noise_multiplier, std::uint64_t steps) {
  return {{.rate = 256.0 / 60000, .noise_multiplier = noise_multiplier, .count = steps}};
}
Spending full(double noise_multiplier, std::uint64_t steps) {
  return {{.sampling = Sampling::full, .noise_multiplier = noise_multiplier, .count = steps}};
}
Rdp classical(OrderGrid orders = OrderGrid::standard) {
  Rdp rdp;
  rdp.orders = orders;
  rdp.conversion = Conversion::classical;
  return rdp;
}

/// Epsilon at delta 1e-5 of 500 releases of everybody's rows with a noise multiplier of 40, from the formulas of the papers by another
/// program.
const std::map<std::string_view, double> kKnown = {
    {"tight", 2.258145363},  // the Gaussian mechanism's own, with mu = sqrt(500)/40
    {"rdp", 2.451482043},   {"moments", 2.841713941},
    {"zcdp", 2.451482015},  {"strong", 14.05934948},  // Kairouz, Oh & Viswanath, delta divided in the best way
    {"basic", 56.03030571}, {"as-in-paper", 28.51832752},
};

/// Calls check(part, spending) for each accountant with a spending it covers.
template <class Check>
void for_each_accountant(const Check& check) {
  for_each_part<Accountant>([&]<class Part>(const Part& part) {
    CAPTURE(Part::kName);
    check(part, part.unsound(abadi()).empty() ? abadi(500) : full(40, 500));
  });
}

}  // namespace

TEST_CASE("Every accountant gives its known answer") {
  for_each_part<Accountant>([]<class Part>(const Part& part) {
    const auto known = kKnown.find(Part::kName);
    REQUIRE_MESSAGE(known != kKnown.end(), "accountant '", std::string(Part::kName),
                    "' has no known answer; work it out from the paper and write a line in kKnown of "
                    "tests/dp/accountants/accountants_test.cpp");
    INFO("accountant '", std::string(Part::kName), "' does not give its known answer");
    const double epsilon = part.epsilon(full(40, 500), 1e-5).value;
    CHECK(epsilon >= known->second * (1 - 1e-6));
    CHECK(epsilon <= known->second * (1 + 2e-5));
  });
}

TEST_CASE("The moments accountant says 1.26 where Abadi et al. do, and 2.576, not 2.55, after 400 epochs") {
  CHECK(Moments{}.epsilon(abadi(), 1e-5).value == doctest::Approx(1.2585747412527875).epsilon(1e-9));
  CHECK(Moments{}.epsilon(abadi(40000), 1e-5).value == doctest::Approx(2.576).epsilon(2e-4));
  CHECK(classical().epsilon(abadi(40000), 1e-5).value == doctest::Approx(2.5736590661768837).epsilon(1e-9));
}

TEST_CASE("The classical conversion says 1.19, 3.01 and 7.10 where the MNIST tutorial of TensorFlow Privacy does") {
  CHECK(std::abs(classical().epsilon(tutorial(1.3, 3516), 1e-5).value - 1.19) < 0.005);
  CHECK(std::abs(classical(OrderGrid::ma32).epsilon(tutorial(1.1, 14063), 1e-5).value - 3.0092111729975723) < 1e-8);
  CHECK(std::abs(classical().epsilon(tutorial(0.7, 10547), 1e-5).value - 7.100551709860726) < 1e-8);
}

TEST_CASE("There is one vocabulary of conversions, and settings go to the accountants that have them") {
  CHECK_USAGE_ERROR(make_choice<Conversion>("conversion", "classic"), "conversion", "'classic'", "improved", "classical");
  for (const auto& name : part_names<Accountant>()) {
    CAPTURE(name);
    for (const auto conversion : {"improved", "classical"}) {
      const AccountantWords words{.name = name, .conversion = conversion};
      if (has_setting(name, "conversion"))
        CHECK(part_name(make_accountant(words)) == name);
      else
        CHECK_USAGE_ERROR(make_accountant(words), "conversion", "'" + std::string(name) + "'");
    }
    CHECK_THROWS_AS((void)make_accountant({.name = name, .conversion = "classic"}), Error);
  }
  CHECK(has_setting("rdp", "conversion"));
  CHECK(has_setting("zcdp", "conversion"));
  CHECK(!has_setting("moments", "conversion"));
  const Spending full{{.sampling = Sampling::full, .noise_multiplier = 1 / std::sqrt(4.0)}};  // rho = 2
  const auto zcdp = make_accountant({.name = "zcdp", .conversion = "classical"});
  CHECK(epsilon_by(zcdp, full, 1e-5).value == doctest::Approx(11.597051824376162).epsilon(1e-12));
  CHECK(part_name(make_accountant({})) == "tight");
}

TEST_CASE("The improved conversion is that of Canonne, Kamath and Steinke") {
  CHECK(Rdp{}.epsilon(tutorial(0.7, 10547), 1e-5).value == doctest::Approx(6.318383965047993).epsilon(1e-9));
  CHECK(Rdp{}.delta(abadi(), 1).value < 1.7644535809343074e-05 * (1 + 1e-9));  // fractional orders are there too
  CHECK(Moments{}.delta(abadi(), 1).value == doctest::Approx(0.0007547036146769371).epsilon(1e-9));
}

TEST_CASE("Abadi's strong composition, 9.34, comes with the statement that it is no bound, and with 26.78") {
  const auto bound = AsInPaper{}.epsilon(abadi(), 1e-5);
  CHECK(bound.value == doctest::Approx(9.339065243825393).epsilon(1e-9));
  CHECK(names(bound.warning, {"26.78"}));
  CHECK(abadi_valid(abadi(), 1e-5) == doctest::Approx(26.784577569).epsilon(1e-9));
}

TEST_CASE("rho-zCDP adds up and converts, with continuous or discrete noise") {
  CHECK(zcdp_rho(full(10, 200)) == doctest::Approx(1.0));
  Spending replaced = full(10, 200);
  replaced.front().neighbours = Neighbours::replace_one;
  CHECK(zcdp_rho(replaced) == doctest::Approx(4.0));
  CHECK(zcdp_epsilon_classical(2, 1e-5) == doctest::Approx(11.597051824376162).epsilon(1e-12));
  CHECK(zcdp_epsilon(0.01, 1e-5) == doctest::Approx(0.5457255482740024).epsilon(1e-7));
  CHECK(zcdp_epsilon(2, 1e-5) == doctest::Approx(10.724824112939173).epsilon(1e-7));
  CHECK(zcdp_epsilon(0, 1e-5) == 0);
  CHECK(zcdp_epsilon(1, 1e-5) > zcdp_epsilon(0.99, 1e-5));
  CHECK(std::exp(zcdp_log_delta(2, 10.724824112939173)) == doctest::Approx(1e-5).epsilon(1e-5));
}

TEST_CASE("Bounds of one spending stand in the order of their strength") {
  const double tight = epsilon_by(make_part<Accountant>("accountant", "tight"), abadi(), 1e-5).value;
  const double rdp = Rdp{}.epsilon(abadi(), 1e-5).value;
  const double moments = Moments{}.epsilon(abadi(), 1e-5).value;
  const double strong = Strong{}.epsilon(abadi(), 1e-5).value;
  const double basic = Basic{}.epsilon(abadi(), 1e-5).value;
  CHECK(tight < rdp);
  CHECK(rdp < moments);
  CHECK(moments < strong);
  CHECK(strong < basic);
  CHECK(strong < 26.78);
}

TEST_CASE("Nothing spent is no loss, whatever delta is asked for") {
  for_each_accountant([](const auto& part, Spending spending) {
    CHECK(part.epsilon({}, 1e-5).value == 0);
    CHECK(part.delta({}, 0.5).value == 0);
    spending.front().count = 0;
    CHECK(part.epsilon(spending, 1e-5).value == 0);
  });
}

TEST_CASE("More steps or less noise never cost less, a larger rate neither") {
  for_each_accountant([](const auto& part, const Spending& spending) {
    const double epsilon = part.epsilon(spending, 1e-5).value;
    CHECK(epsilon > 0);
    Spending more = spending;
    more.front().count += 50;
    CHECK(part.epsilon(more, 1e-5).value > epsilon);
    Spending louder = spending;
    louder.front().noise_multiplier *= 1.1;
    CHECK(part.epsilon(louder, 1e-5).value < epsilon);
    CHECK(part.epsilon(spending, 1e-6).value > epsilon);
    if (spending.front().sampling == Sampling::full) return;
    Spending denser = spending;
    denser.front().rate *= 1.1;
    CHECK(part.epsilon(denser, 1e-5).value > epsilon);
  });
}

TEST_CASE("A count of releases costs what as many entries cost, in any order") {
  for_each_accountant([](const auto& part, const Spending& spending) {
    Spending one_by_one;
    Releases other = spending.front();
    other.noise_multiplier *= 2;
    other.count = 30;
    for (int i = 0; i < 30; ++i) {
      one_by_one.push_back(spending.front());
      one_by_one.back().count = 1;
      one_by_one.push_back(other);
      one_by_one.back().count = 1;
    }
    Spending together{other, spending.front()};
    together.back().count = 30;
    CHECK(part.epsilon(one_by_one, 1e-5).value == doctest::Approx(part.epsilon(together, 1e-5).value).epsilon(1e-9));
  });
}

TEST_CASE("delta() at epsilon() is the delta that was asked for") {
  for_each_accountant([](const auto& part, const Spending& spending) {
    const double epsilon = part.epsilon(spending, 1e-5).value;
    CHECK(part.delta(spending, epsilon).value == doctest::Approx(1e-5).epsilon(2e-3));
    CHECK(part.delta(spending, 2 * epsilon).value < 1e-5);
  });
}

TEST_CASE("Extremes give numbers, never negative ones, and at most 1 for delta") {
  for_each_accountant([](const auto& part, Spending spending) {
    for (const double noise_multiplier : {0.2, 1000.0})
      for (const double delta : {1e-12, 0.9}) {
        spending.front().noise_multiplier = noise_multiplier;
        const double epsilon = part.epsilon(spending, delta).value;
        CAPTURE(noise_multiplier);
        CAPTURE(delta);
        CHECK(std::isfinite(epsilon));
        CHECK(epsilon >= 0);
        const double none = part.delta(spending, 0).value;
        CHECK(none > 0);
        CHECK(none <= 1);
      }
  });
}

TEST_CASE("A best order at the end of its grid is a warning") {
  const Spending little{{.rate = 0.004, .noise_multiplier = 8, .count = 2500}};
  CHECK(names(Moments{}.epsilon(little, 1e-5).warning, {"order", "33"}));
  CHECK(Rdp{}.epsilon(abadi(), 1e-5).warning.empty());
  const Spending much{{.rate = 0.5, .noise_multiplier = 0.2, .count = 1000}};
  CHECK(names(Rdp{}.epsilon(much, 1e-5).warning, {"order", "1.1"}));
}

TEST_CASE("Shuffled lots are not amplified") {
  const Spending shuffled{{.sampling = Sampling::shuffle, .rate = 0.001, .noise_multiplier = 1, .count = 1000, .passes = 1}};
  CHECK(Rdp{}.epsilon(shuffled, 1e-5).value == Rdp{}.epsilon(full(1, 1), 1e-5).value);
  CHECK(Rdp{}.epsilon(shuffled, 1e-5).value > 4.37);  // 4.38 is exact for one Gaussian release
}

TEST_CASE("A spending without a sound bound is refused in a line that names what has one") {
  const auto with = [](Sampling sampling, Neighbours neighbours, bool adaptive = false) {
    return Spending{{.sampling = sampling, .neighbours = neighbours, .rate = 0.01, .noise_multiplier = 1, .adaptive = adaptive}};
  };
  const auto unreplaced = with(Sampling::without_replacement, Neighbours::add_remove);
  for_each_part<Accountant>([&](const auto& part) { CHECK(!part.unsound(unreplaced).empty()); });
  CHECK(names(Rdp{}.unsound(unreplaced), {"add-remove", "replace-one"}));
  CHECK(Rdp{}.unsound(with(Sampling::without_replacement, Neighbours::replace_one)).empty());
  CHECK(names(Moments{}.unsound(with(Sampling::poisson, Neighbours::replace_one)), {"replace-one", "tight", "rdp"}));
  CHECK(names(Zcdp{}.unsound(with(Sampling::poisson, Neighbours::add_remove)), {"rate", "0.01", "tight", "rdp"}));
  CHECK(names(Rdp{}.unsound(with(Sampling::poisson, Neighbours::add_remove, true)), {"earlier outputs", "zcdp"}));
  CHECK_USAGE_ERROR(Rdp{}.epsilon(unreplaced, 1e-5), "rdp", "add-remove", "replace-one");
  Spending mixed = abadi();
  mixed.push_back({.neighbours = Neighbours::replace_one});
  for_each_part<Accountant>([&](const auto& part) { CHECK(!part.unsound(mixed).empty()); });
  Spending adaptive = full(10, 5);
  adaptive.front().adaptive = true;
  CHECK(names(Zcdp{}.epsilon(adaptive, 1e-5).warning, {"zCDP"}));
}

TEST_CASE("Numbers out of range are refused by every accountant") {
  for_each_accountant([](const auto& part, const Spending& spending) {
    for (const double delta : {0.0, 1.0, -1e-5, std::nan("")})
      CHECK_USAGE_ERROR(part.epsilon(spending, delta), "delta", " " + number_text(delta));
    for (const double epsilon : {-1.0, std::nan(""), HUGE_VAL})
      CHECK_USAGE_ERROR(part.delta(spending, epsilon), "epsilon", " " + number_text(epsilon));
    for (const double noise_multiplier : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
      Spending wrong = spending;
      wrong.front().noise_multiplier = noise_multiplier;
      CHECK_USAGE_ERROR(part.epsilon(wrong, 1e-5), "noise multiplier", " " + number_text(noise_multiplier));
    }
    for (const double rate : {0.0, 2.0, -0.1, std::nan("")}) {
      Spending wrong = spending;
      wrong.front().rate = rate;
      CHECK_USAGE_ERROR(part.epsilon(wrong, 1e-5), "rate", " " + number_text(rate));
    }
  });
}

}  // namespace fedstride::test::accountants_test
