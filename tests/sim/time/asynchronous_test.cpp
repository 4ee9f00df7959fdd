// Asynchronous runs held against traces worked out by hand, synchronous rounds and a kill.
#include <doctest/doctest.h>

#include <cmath>

#include "core/files.hpp"
#include "core/text.hpp"
#include "server/cohorts.hpp"
#include "server/federated_averaging.hpp"
#include "sim/time/modes/fedasync.hpp"
#include "sim/time/modes/fedbuff.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/known_answers.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::asynchronous_test {
namespace {

// A client moves half of the way to (k + 1) / 2: numbers that are exact in binary stay so.
struct ShiftFleet : Fleet {
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    for (const ClientId client : cohort) {
      const Vector change(1, (static_cast<float>(client) + 1) / 4 - task.model[0] / 2);
      updates.add({ClientReport{.client = client, .rows = 1, .examples = 1}, view(change)}, task.scale);
    }
  }
};

/// Clients 0, 1 and 2, of which a task takes 2, 3 and 7 seconds, all at work all the time.
TimeTerms three_clients(const TemporaryFolder& folder) {
  write_file(folder / "devices.csv", "client,seconds_per_example\n0,2\n1,3\n2,7\n");
  return {.devices = TableDevices({.device_table = folder / "devices.csv"}),
          .clients = 3,
          .examples = [](ClientId, std::uint32_t) { return 1.0; }};
}

std::vector<double> trace(const TimeTerms& terms, const Mode& mode, std::uint32_t versions) {
  const RoundRules rules{.cohort = AllClients{}, .sum = {.weights = {1, 1, 1}}};
  ShiftFleet fleet;
  Server server(FederatedAveraging{}, 1);
  Vector model(1, 1.0F);
  const auto run = mode->begin(terms);
  std::vector<double> models;
  for (std::uint32_t version = 1; version <= versions; ++version) {
    run->advance(version, rules, fleet, server, model);
    models.push_back(model[0]);
  }
  return models;
}

}  // namespace

TEST_CASE("FedAsync: five events worked out by hand, to the last bit") {
  const TemporaryFolder folder;
  FedAsyncSettings settings;
  settings.concurrency_ = 3;
  settings.mixing_ = 0.5;
  settings.staleness_weight = StalenessWeight::hinge;
  settings.hinge_slope = 1;
  settings.hinge_from = 1;
  // Ends at 2 (client 0), 3 (1), 4 (0), 6 (0 before 1: by client). A client's model is x / 2 + (k + 1) / 4 with x its start.
  //   2 s: 0 began from version 0, x = 1: its model 0.75; staleness 0, a = 1/2:  1 -> 0.875
  //   3 s: 1 began from version 0, x = 1: 1; staleness 1, a = 1/2:               0.875 -> 0.9375
  //   4 s: 0 began from version 1, x = 0.875: 0.6875; staleness 1, a = 1/2:      0.9375 -> 0.8125
  //   6 s: 0 began from version 3, x = 0.8125: 0.65625; staleness 0:             0.8125 -> 0.734375
  //   6 s: 1 began from version 2, x = 0.9375: 0.96875; staleness 2, a = 1/4:    0.734375 -> 0.79296875
  CHECK(trace(three_clients(folder), FedAsync(settings), 5) == std::vector{0.875, 0.9375, 0.8125, 0.734375, 0.79296875});

  // Version 2 waits for client 2, whose update would be too stale for version 3: of three updates, the mean of their models.
  //   2 s: as before; 1 began from 0: 1; 0 from 1, x = 0.875: 0.6875; 2 from 0: 1.25; all with a = 1/2
  settings.staleness_cap_ = 1;
  settings.over_cap_ = OverCap::wait;
  const double waited = trace(three_clients(folder), FedAsync(settings), 2).back();
  CHECK(waited == doctest::Approx((0.875 + (1 + 0.6875 + 1.25) / 3) / 2).epsilon(1e-7));
}

TEST_CASE("FedBuff: five events worked out by hand, to the last bit") {
  const TemporaryFolder folder;
  FedBuffSettings settings;
  settings.concurrency_ = 3;
  settings.buffer_ = 2;
  settings.staleness_weight = StalenessWeight::hinge;
  settings.hinge_slope = 1;
  settings.hinge_from = 0;
  // A client in the buffer waits for the version. A change is (k + 1) / 4 - x / 2 with x the model it began from, weighed 1 / (1 + t).
  //   2 s: 0 from version 0, x = 1: -0.25      3 s: 1 from 0: 0          version 1: 1 - 0.125 = 0.875
  //   5 s: 0 from version 1, x = 0.875: -0.1875
  //   6 s: 1 from version 1: 0.0625                                      version 2: 0.875 - 0.0625 = 0.8125
  //   7 s: 2 from version 0, x = 1: 0.25, staleness 2, weight 1/3 (5592405 / 2^24 in single precision times 0.25 on the grid)
  //   8 s: 0 from version 2, x = 0.8125: -0.15625                         version 3
  const double third = std::nearbyint(static_cast<float>(0.25 / 3) * 0x1p40) * 0x1p-40;
  const auto last = static_cast<float>(0.8125F + static_cast<float>((third - 0.15625) / 2));
  CHECK(trace(three_clients(folder), FedBuff(settings), 3) == std::vector{0.875, 0.8125, double{last}});
  settings.normalized_staleness = true;  // divided by 1 + 1/3 instead of by 2
  const double normalized = trace(three_clients(folder), FedBuff(settings), 3).back();
  CHECK(normalized == doctest::Approx(0.8125 + (0.25 / 3 - 0.15625) / (4.0 / 3)).epsilon(1e-7));
}

// Six clients that minimize a_k / 2 |x - b_k|^2 by three gradient steps of 0.1 (tests/sim/time/asynchronous_twin.py).
struct QuadraticFleet : Fleet {
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    constexpr double kMinima[6][2] = {{1, -1}, {2, 0}, {0, 3}, {-2, 1}, {1, 1}, {-1, -2}};
    for (const ClientId client : cohort) {
      Vector change(2);
      for (std::size_t i = 0; i < 2; ++i) {
        double x = task.model[i];
        for (int step = 0; step < 3; ++step) x -= 0.1 * 0.5 * (client + 1) * (x - kMinima[client][i]);
        change[i] = static_cast<float>(x - task.model[i]);
      }
      updates.add({ClientReport{.client = client, .rows = 1, .examples = 1}, view(std::as_const(change))}, task.scale);
    }
  }
};

TEST_CASE("over 200 events FedAsync and FedBuff agree with a second program, written from the papers in NumPy") {
  const TemporaryFolder folder;
  write_file(folder / "devices.csv", "seconds_per_example,client\n1,0\n1.5,1\n2.25,2\n3,3\n4.5,4\n11,5\n");
  FedAsyncSettings mixed;
  mixed.concurrency_ = 6;
  FedBuffSettings buffered;
  buffered.concurrency_ = 6;
  buffered.buffer_ = 3;
  std::size_t compared = 0;
  const std::string text = read_file(FEDSTRIDE_SOURCE_DIR "/tests/golden/asynchronous_twin.csv");
  for (const Mode& mode : {Mode(FedAsync(mixed)), Mode(FedBuff(buffered))}) {
    const TimeTerms terms{.devices = TableDevices({.device_table = folder / "devices.csv"}),
                          .clients = 6,
                          .examples = [](ClientId, std::uint32_t) { return 1.0; }};
    const RoundRules rules{.cohort = AllClients{}, .sum = {.weights = {1, 1, 1, 1, 1, 1}}};
    QuadraticFleet fleet;
    const bool is_buffered = mode->buffer() > 1;
    Server server(is_buffered ? FederatedAveraging({.server_learning_rate = 0.7}) : FederatedAveraging(), 2);
    Vector model(2);
    model[0] = 0.5F, model[1] = -0.25F;
    const auto run = mode->begin(terms);
    std::uint32_t version = 0;
    for (const std::string_view line : split(text, '\n')) {
      const auto fields = split(line, ',');
      if (fields.front() != mode.name()) continue;
      run->advance(++version, rules, fleet, server, model);
      const auto number = [&](std::size_t field) {
        double value = 0;
        REQUIRE(parse_number(fields[field], value));
        return value;
      };
      CHECK(seconds_of(run->last().end) == doctest::Approx(number(2)).epsilon(1e-12));
      CHECK(run->last().tasks.back().staleness == number(3));
      CHECK(std::abs(model[0] - number(4)) < 1e-6);
      CHECK(std::abs(model[1] - number(5)) < 1e-6);
      ++compared;
    }
  }
  CHECK(compared == 266);
}

TEST_CASE("weights of staleness are those of the papers") {
  FedAsyncSettings settings;
  settings.staleness_weight = StalenessWeight::hinge;
  for (const auto& [staleness, weight] : {std::pair(4U, 1.0), {5U, 1.0 / 11}, {8U, 1.0 / 41}, {16U, 1.0 / 121}})
    CHECK(FedAsync(settings).weight(staleness) == weight);
  settings.staleness_weight = StalenessWeight::polynomial;
  CHECK(FedAsync(settings).weight(0) == 1);
  CHECK(FedAsync(settings).weight(4) == doctest::Approx(0.44721).epsilon(1e-5));
  CHECK(FedAsync(settings).weight(8) == doctest::Approx(0.33333).epsilon(1e-5));
  settings.staleness_weight = StalenessWeight::constant;
  CHECK(FedAsync(settings).weight(100) == 1);
}

// Updates of a version, from the papers; 0: it has rounds.
const KnownAnswers<int> kKnown = {{"sync", 0}, {"fedasync", 1}, {"fedbuff", 10}};

TEST_CASE("every mode makes versions of as many updates as it says, or rounds of all clients") {
  const TimeTerms terms{
      .devices = EqualDevices({.example_seconds = 1}), .clients = 50, .examples = [](ClientId, std::uint32_t) { return 1.0; }};
  const RoundRules rules{.cohort = AllClients{}, .sum = {.weights = std::vector<std::uint64_t>(50, 1)}};
  for_each_known<Mode>(kKnown, [&](Mode& mode, int expected) {
    CHECK(mode->buffer() == expected);
    ShiftFleet fleet;
    Server server(FederatedAveraging{}, 1);
    Vector model(1, 1.0F);
    const std::size_t updates = mode->begin(terms)->advance(1, rules, fleet, server, model).size();
    CHECK(updates == static_cast<std::size_t>(expected > 0 ? expected : 50));
  });
}

TEST_CASE(
    "FedBuff with all clients at work, a buffer of all and equal devices is federated averaging with equal weights, bit for "
    "bit") {
  FedBuffSettings settings;
  settings.concurrency_ = settings.buffer_ = 5;
  const TimeTerms terms{
      .devices = EqualDevices({.example_seconds = 1}), .clients = 5, .examples = [](ClientId, std::uint32_t) { return 1.0; }};
  const RoundRules rules{.cohort = AllClients{}, .sum = {.weights = {1, 1, 1, 1, 1}}};
  ShiftFleet fleet;
  Server one(FederatedAveraging{}, 1), other(FederatedAveraging{}, 1);
  Vector synchronous(1, 0.3F), buffered(1, 0.3F);
  const auto run = FedBuff(settings).begin(terms);
  for (std::uint32_t round = 1; round <= 20; ++round) {
    run_round(round, rules, fleet, one, synchronous);
    run->advance(round, rules, fleet, other, buffered);
    CHECK(buffered[0] == synchronous[0]);
  }
}

}  // namespace fedstride::test::asynchronous_test
