#include "server/failures.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "server/cohorts.hpp"
#include "server/round.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::failures_test {
namespace {

// Clients whose reports are given; their changes are ones.
class Reporting : public Fleet {
 public:
  explicit Reporting(std::vector<ClientReport> all) : reports(std::move(all)) {}
  void collect(const Task&, const std::vector<ClientId>&, Accumulator& updates) override {
    const Vector change(2, 1);
    for (const ClientReport& report : reports) updates.add({report, view(change)});
  }
  std::vector<ClientReport> reports;
};

std::vector<ClientReport> with_failures(std::size_t failures, std::size_t clients) {
  std::vector<ClientReport> reports;
  for (std::size_t i = 0; i < clients; ++i)
    reports.push_back({.client = static_cast<ClientId>(i), .failure = i < clients - failures ? "" : "its disk is full"});
  return reports;
}

}  // namespace

TEST_CASE("a round fails if more of its clients failed than is accepted, and the text names the first") {
  const auto text = [](AcceptFailures accepted, std::size_t failures, std::size_t clients) {
    return failure_text(accepted, 7, with_failures(failures, clients));
  };
  for (const AcceptFailures any : {AcceptFailures::some, AcceptFailures::all, AcceptFailures::none}) {
    CHECK(text(any, 0, 3).empty());
    CHECK(text(any, 0, 0).empty());  // nobody was asked, or nobody answered in time
  }
  CHECK(text(AcceptFailures::some, 2, 3).empty());
  CHECK(names(text(AcceptFailures::some, 3, 3), {"3 of 3", "round 7", "client 0", "its disk is full"}));
  CHECK(names(text(AcceptFailures::none, 1, 3), {"1 of 3", "round 7", "client 2", "its disk is full"}));
  CHECK(text(AcceptFailures::all, 3, 3).empty());
}

TEST_CASE("a round that failed throws, and changes neither the model nor the server") {
  for (const std::size_t failures : {1, 3}) {
    const bool fails = failures == 3;
    RoundRules rules{
        .cohort = AllClients{}, .sum = {.weights = std::vector<std::uint64_t>(3, 1)}, .accepted = AcceptFailures::some};
    Reporting fleet(with_failures(failures, 3));
    Server server(ServerOptimizer(), 2);
    Vector model(2, 0.5F);
    const std::string before = server.save();
    if (fails) {
      CHECK_THROWS_AS(run_round(1, rules, fleet, server, model), FailedRound);
      CHECK(model == Vector(2, 0.5F));
      CHECK(server.save() == before);
      rules.accepted = AcceptFailures::all;
    }
    run_round(1, rules, fleet, server, model);
    CHECK(model == Vector(2, fails ? 0.5F : 1.5F));
  }
}

}  // namespace fedstride::test::failures_test
