// Every kind of cohort of the registry: whom it takes, and how often.
#include <cmath>

#include "core/files.hpp"
#include "core/text.hpp"
#include "server/cohort.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/known_answers.hpp"

namespace fedstride::test::known_cohorts_test {
namespace {

// The clients of round 2. Six have 10, 20, ..., 60 examples and last losses 1, 6, 2, 5, 3, 4; cohorts of a fixed size have two, a rate is 0.4, and a trace
// lists clients 0 and 4. Draws are of seed 9; how often each client is drawn is known too, by its law.
const KnownAnswers<std::string> kKnown = {
    {"all", "0, 1, 2, 3, 4, 5"}, {"poisson", "1"},  {"fixed", "1, 2"},      {"by-size", "3, 5"}, {"round-robin", "2, 3"},
    {"power-of-choice", "1, 3"}, {"trace", "0, 4"}, {"balls-in-bins", "4"},
};

}  // namespace

TEST_CASE("every kind of cohort takes the clients that it says, as often as it says") {
  const TemporaryFolder folder;
  write_file(folder / "trace.csv", "client,from,to\n4,1,9000\n0,2,9000\n2,3,9000\n1,3,9000\n");
  for_each_known<Cohort>(kKnown, [&](Cohort& cohort, const std::string& expected) {
    set_if_there(cohort, "cohort-size", std::int64_t{2});
    set_if_there(cohort, "cohort-rate", 0.4);
    set_if_there(cohort, "cohort-bins", std::int64_t{3});
    set_if_there(cohort, "trace", folder / "trace.csv");
    set_if_there(cohort, "at-most", std::int64_t{2});
    const std::vector<std::uint64_t> rows{10, 20, 30, 40, 50, 60};
    const std::vector<double> losses{1, 6, 2, 5, 3, 4};
    const RandomSource source(std::uint64_t{9});
    const auto clients = [&](std::uint32_t round) { return cohort->sample({round, rows, source, losses}); };
    std::vector<std::string> taken_in_2;
    for (const ClientId client : clients(2)) taken_in_2.push_back(std::to_string(client));
    CHECK(joined(taken_in_2) == expected);
    constexpr std::uint32_t kRounds = 3000;
    double taken = 0;
    for (std::uint32_t round = 3; round < 3 + kRounds; ++round) {
      const auto cohort_of_round = clients(round);
      CHECK(cohort_of_round.size() <= cohort->most(6));
      taken += static_cast<double>(cohort_of_round.size());
    }
    const double rate = cohort->rate(6);
    CHECK(std::abs(taken / (6.0 * kRounds) - rate) <= 5 * std::sqrt(rate * (1 - rate) / (6.0 * kRounds)) + 1e-9);
  });
}

}  // namespace fedstride::test::known_cohorts_test
