#include <doctest/doctest.h>

#include <memory>
#include <numeric>

#include "client/optim/optimizer.hpp"
#include "client/optim/sgd.hpp"
#include "client/trainer.hpp"
#include "core/error.hpp"
#include "dp/ledger/audit.hpp"
#include "dp/ledger/ledger.hpp"
#include "tests/client/blobs.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::release_ledger_test {
namespace {

constexpr std::size_t kRows = 60;

PrivateRules rules_with(double noise_multiplier, double clip = 1) {
  return {.batch = 10, .noise = {.clip = clip, .noise_multiplier = noise_multiplier}};
}

/// One client's report on one round, trained by these rules, which may differ from those of the reservation.
ClientReport train(const PrivateRules& rules, std::uint64_t allowed, int epochs = 1) {
  const Dataset data = test::blobs(kRows);
  const Model model = Model::parse("dense classes", data.shape, data.classes);
  LocalTraining training{.optimizer = Sgd{}, .epochs = epochs, .batch = 10, .seed = 1};
  training.privacy.emplace();
  training.privacy->plans = {std::make_shared<const PrivatePlan>(rules, training.optimizer, kRows)};
  Trainer trainer(model, data, training, kRows);
  const Vector start = model.initial(Initialization::fan_in, 1);
  const std::vector<std::uint64_t> releases{allowed};
  ClientState state;
  ClientReport report;
  trainer.train({1, start, releases}, 0, test::first_rows(kRows), state, serially, {},
                [&](const ClientUpdate& update) { report = update.report; });
  return report;
}

/// A ledger with six releases at noise 2 and clip 1 reserved for its only client's first round.
struct Fixture {
  test::TemporaryFolder folder;
  Ledger ledger = Ledger::create(folder / "ledger.jsonl",
                                 {.clients = 1, .statements = {{.level = Level::example, .accountant = "tight", .delta = 1e-5}}});
  LedgerGroup reserved;

  Fixture() {
    const PrivatePlan plan(rules_with(2), Sgd{}, kRows);
    reserved = {.clients = {0}, .each = {.sampling = plan.sampling(), .rate = plan.rate()}, .runs = plan.noise().runs(0, 6)};
    ledger.reserve(1, "model, data, build and noise", {reserved});
  }
  void close(const ClientReport& report) {
    LedgerGroup executed = reserved;
    executed.runs = report.releases;
    ledger.close(1, {executed});
  }
  std::uint64_t count() const {
    const Spending spent = ledger.spent(0);
    return std::accumulate(spent.begin(), spent.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Releases& releases) { return sum + releases.count; });
  }
  double epsilon() const { return epsilon_by(make_part<Accountant>("accountant", "tight"), ledger.spent(0), 1e-5).value; }
};

}  // namespace

TEST_CASE("releases made as reserved are counted as reserved") {
  Fixture fixture;
  const double reserved = fixture.epsilon();
  fixture.close(train(rules_with(2), 6));
  CHECK(fixture.count() == 6);
  CHECK(fixture.epsilon() == reserved);
}

TEST_CASE("a release dropped below the trainer is not counted") {
  Fixture fixture;
  const double reserved = fixture.epsilon();
  fixture.close(train(rules_with(2), 5));
  CHECK(fixture.count() == 5);
  CHECK(fixture.epsilon() < reserved);
}

TEST_CASE("a release repeated below the trainer is refused by the meter, or by the ledger if it was made") {
  Fixture fixture;
  CHECK(train(rules_with(2), 6, 2).releases[0].count == 6);  // two epochs want twelve
  CHECK_FAILURE(fixture.close(train(rules_with(2), 7, 2)), "round 1", "7", "6");
  CHECK(fixture.count() == 7);  // spent is spent
}

TEST_CASE("a release altered below the trainer is detected and counted as made") {
  Fixture fixture;
  const double reserved = fixture.epsilon();
  CHECK_FAILURE(fixture.close(train(rules_with(0.5), 6)), "round 1", "0.5", "2");
  CHECK(fixture.ledger.spent(0)[0].noise_multiplier == 0.5);
  CHECK(fixture.epsilon() > reserved);
  CHECK_FALSE(audit_ledger(fixture.folder / "ledger.jsonl", {}, {}, false).failures.empty());
}

}  // namespace fedstride::test::release_ledger_test
