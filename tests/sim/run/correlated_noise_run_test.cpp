// Runs with correlated noise: same bits on threads and after a kill, one band, ledger, audit, statements, what they do not go with.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "core/error.hpp"
#include "core/files.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/correlations/correlation.hpp"
#include "dp/ledger/audit.hpp"
#include "sim/run/ledger_terms.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::correlated_noise_run_test {
namespace {

const std::string kClient =
    "dp = 'client'\nclients = 12\nnoise-multiplier = 0.5\nclip = 0.3\noptimizer = 'sgd'\nlearning-rate = 0.1\n";
const std::string kBlt = kClient + "noise-mechanism = 'blt'\nminimum-separation = 2\n";

std::string contradictions(const std::string& run, const std::string& more) {
  Settings settings = read_settings(run + "/config.toml");
  for (const auto& [key, setting] : parse_settings(more, "more")) settings[key] = setting;
  std::string all;
  for (const std::string& line : compare_with_settings(run + "/ledger.jsonl", "", resolve(settings)).contradictions)
    all += line + "\n";
  return all;
}

}  // namespace

TEST_CASE("correlated noise: the same bits on any threads and after a kill; other mechanisms are other runs") {
  const TemporaryFolder folder;
  write_data(folder);
  std::vector<std::string> last;
  for (const std::string more : {"noise-mechanism = 'blt'\n", "noise-mechanism = 'banded'\n", "noise-mechanism = 'tree'\n",
                                 "noise-mechanism = 'tree'\ntree-restart = 4\n"}) {
    CAPTURE(more);
    const std::string name = "run" + std::to_string(last.size());
    const std::string settings = kClient + more + "minimum-separation = 3\ncohort = 'poisson'\ncohort-rate = 0.7\n";
    start(settings_for(folder, name, settings));
    const auto straight = hashes(folder / name);
    REQUIRE(straight.size() == 6);
    std::atomic<bool> stop = false;
    RunObserver observer;
    observer.round = [&](const RoundRecord& record) { stop = record.round == 3; };
    observer.stop = &stop;
    start(settings_for(folder, name + "b", settings + "threads = 1\n"), observer);
    CHECK(hashes(folder / (name + "b")).size() == 3);
    resume(folder / (name + "b"), {});
    CHECK(hashes(folder / (name + "b")) == straight);
    last.push_back(straight.back());
  }
  std::ranges::sort(last);
  CHECK(std::ranges::adjacent_find(last) == last.end());
}

TEST_CASE("one band is the run with independent noise, bit for bit, with its ledger") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string cohort = "cohort = 'poisson'\ncohort-rate = 0.5\n";
  const RunSummary plain = start(settings_for(folder, "a", kClient + cohort));
  const RunSummary band = start(settings_for(folder, "b", kClient + cohort + "noise-mechanism = 'banded'\n"));
  CHECK(hashes(folder / "a") == hashes(folder / "b"));
  CHECK(read_file(folder / "a/ledger.jsonl") == read_file(folder / "b/ledger.jsonl"));
  CHECK(plain.privacy[0].epsilon == band.privacy[0].epsilon);
}

TEST_CASE("the ledger has mechanism and separation of each release; epsilon is that of one Gaussian release") {
  const TemporaryFolder folder;
  write_data(folder);
  const RunSummary summary = start(settings_for(folder, "a", kBlt));
  REQUIRE(summary.privacy.size() == 1);
  // By hand: all rounds cost what one release at this distance costs.
  const LedgerReading reading = read_ledger(folder / "a/ledger.jsonl");
  const Correlation& noise = reading.book.header().at(Level::client)->each.correlation;
  CHECK(choice_name(noise.mechanism) == "blt");
  CHECK(noise.horizon == 6);
  double square = 0;
  const auto c = buffered_of(noise).coefficients(6);
  for (std::size_t row = 0; row < 6; ++row) {  // a client in rounds 1, 3, 5
    double moved = 0;
    for (std::size_t round = 0; round <= row; round += 2) moved += c[row - round];
    square += moved * moved;
  }
  const double expected = gaussian_epsilon(std::sqrt(square) / 0.5, 1e-5);
  CHECK(summary.privacy[0].epsilon == doctest::Approx(expected).epsilon(1e-6));
  const Json last = lines(folder / "a/rounds.jsonl").back();
  CHECK(last["client_privacy"]["epsilon"].get<double>() == doctest::Approx(expected).epsilon(1e-6));

  const std::string ledger = read_file(folder / "a/ledger.jsonl");
  for (const char* part : {"\"correlation\":{\"mechanism\":\"blt\",\"separation\":2,\"horizon\":6", "\"first\":5",
                           "round t asks group t - 1 modulo 2"})
    CHECK_MESSAGE(ledger.find(part) != ledger.npos, part);
  const std::string results = read_file(folder / "a/summary.json");
  for (const char* part : {"any two rounds of a client are at least 2 apart", "'blt', planned in advance for 6 rounds",
                           "no amplification by client sampling"})
    CHECK_MESSAGE(results.find(part) != results.npos, part);
  CHECK(audit_book(reading.book, true).failures.empty());
  CHECK(contradictions(folder / "a", "").empty());
  CHECK(names(contradictions(folder / "a", "minimum-separation = 3\n"), {"minimum-separation", "3", "2"}));
  CHECK(names(contradictions(folder / "a", "noise-mechanism = 'tree'\n"), {"noise-mechanism", "tree", "blt"}));
  CHECK(names(contradictions(folder / "a", "rounds = 7\n"), {"rounds", "7", "6"}));
  CHECK(names(contradictions(folder / "a", "noise-buffers = 3\n"), {"noise-buffers", "3", "4"}));

  // Another separation, a release out of turn, or independent noise are not this ledger's.
  const LedgerHeader& header = reading.book.header();
  LedgerEntry entry = read_entry(split(ledger, '\n')[1].substr(split(ledger, '\n')[1].find("{\"kind\"")), header);
  REQUIRE(entry.groups.size() == 1);
  bool replay = false;
  LedgerBook book(header);
  entry.round = 2;
  CHECK(names(book.refusal_reason(entry, replay), {"number 0", "one less"}));
  entry.groups[0].each.correlation.separation = 1;
  CHECK(names(malformed(entry.groups, header), {"blt", "separation 1", "separation 2"}));
  entry.groups[0].each.correlation = {};
  CHECK(names(malformed(entry.groups, header), {"independent", "blt"}));
  entry.groups[0].each.correlation = noise;
  entry.groups[0].first = 6;
  CHECK(names(malformed(entry.groups, header), {"number 6", "6 rounds"}));
}

TEST_CASE("noise is calibrated for all rounds, a budget ends a run, and a group's sampling amplifies banded noise alone") {
  const TemporaryFolder folder;
  write_data(folder);
  std::string calibrated = kBlt;
  calibrated.replace(calibrated.find("noise-multiplier = 0.5"), 22, "epsilon = 8.0");
  const RunSummary all = start(settings_for(folder, "all", calibrated));
  CHECK(all.rounds == 6);
  CHECK(all.privacy[0].epsilon <= 8);
  CHECK(all.privacy[0].epsilon > 7.9);
  const RunSummary some = start(settings_for(folder, "some", kBlt + "epsilon = 12.0\n"));
  CHECK(some.rounds < 6);
  CHECK(some.rounds > 0);
  CHECK(names(some.halted, {"budget", "12"}));
  const std::string poisson = "minimum-separation = 2\ncohort = 'poisson'\ncohort-rate = 0.3\n";
  const std::string everyone = "minimum-separation = 2\n";
  const auto epsilon = [&](const std::string& mechanism, const std::string& cohort) {
    const std::string name = mechanism + (cohort == poisson ? "-poisson" : "-all");
    const RunSummary summary = start(settings_for(folder, name, kClient + "noise-mechanism = '" + mechanism + "'\n" + cohort));
    CHECK(audit_book(read_ledger(folder / name + "/ledger.jsonl").book, true).failures.empty());
    CHECK(contradictions(folder / name, "").empty());
    return summary.privacy[0].epsilon;
  };
  const double banded = epsilon("banded", poisson);
  CHECK(banded < 0.8 * epsilon("banded", everyone));
  CHECK(epsilon("independent", poisson) < banded);
  CHECK(epsilon("blt", poisson) == epsilon("blt", everyone));
}

TEST_CASE("a run whose noise was planned for its rounds is neither prolonged nor cut short") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", kBlt));
  for (const std::int64_t rounds : {8, 5})
    CHECK_USAGE_ERROR(resume(folder / "a", {{"rounds", {rounds, true}}}), "rounds", std::to_string(rounds).c_str(), "blt",
                      "planned for 6", "prolonged");
}

TEST_CASE("correlated noise and a separation are refused where no statement would hold") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto refused = [&](const std::string& more) {
    Settings settings = settings_for(folder, "x", kBlt);
    for (const auto& [key, setting] : parse_settings(more, "more")) settings[key] = setting;
    return resolve(settings);
  };
  CHECK_USAGE_ERROR(refused("client-noise = 'discrete'\n"), "noise-mechanism", "blt", "client-noise", "central");
  CHECK_USAGE_ERROR(refused("client-noise = 'local'\n"), "noise-mechanism", "client-noise", "central");
  CHECK_USAGE_ERROR(refused("client-noise = 'distributed'\nsecure-aggregation = 'ring'\n"), "noise-mechanism", "client-noise");
  CHECK_USAGE_ERROR(refused("secure-aggregation = 'ring'\n"), "minimum-separation", "secure-aggregation");
  CHECK_USAGE_ERROR(refused("devices = 'equal'\n"), "minimum-separation", "2", "devices");
  CHECK_USAGE_ERROR(refused("cohort = 'fixed'\ncohort-size = 2\n"), "cohort", "fixed", "minimum-separation", "poisson");
  CHECK_USAGE_ERROR(refused("minimum-separation = 7\n"), "minimum-separation", "7", "rounds", "6");
  CHECK_USAGE_ERROR(refused("dp = 'example'\n"), "minimum-separation", "dp");
}

}  // namespace fedstride::test::correlated_noise_run_test
