// A minimum separation of a client's updates in buffered runs: what its real places among the versions cost, the ledger that says so, the
// same bits after a stop and on any threads, and what is refused.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <map>

#include "core/files.hpp"
#include "core/text.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/correlations/correlation.hpp"
#include "dp/ledger/audit.hpp"
#include "sim/run/ledger_terms.hpp"
#include "sim/run/participations.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::separated_versions_test {
namespace {

constexpr std::size_t kVersions = 12;
constexpr std::size_t kApart = 3;
const std::string kBuffered =
    "dp = 'client'\nclients = 12\nclasses-per-client = 0\nrounds = 12\nnoise-multiplier = 2.0\nclip = 0.3\noptimizer = "
    "'sgd'\nlearning-rate = 0.1\n"
    "devices = 'lognormal'\nmode = 'fedbuff'\nconcurrency = 5\nbuffer = 2\n";
const std::string kApartText = "minimum-separation = 3\n";

std::string noise(const std::string& mechanism) { return "noise-mechanism = '" + mechanism + "'\n"; }

/// The lines of a ledger without their chain values.
std::vector<std::string> texts_of(const std::string& path) {
  std::vector<std::string> texts;
  LedgerReader reader(path, "");
  for (std::string_view text = reader.next(); !text.empty(); text = reader.next()) texts.emplace_back(text);
  return texts;
}

/// The versions that name a client, by client, a bit each.
std::map<ClientId, std::uint32_t> patterns_of(const std::string& run) {
  std::map<ClientId, std::uint32_t> patterns;
  const std::vector<std::string> texts = texts_of(run + "/ledger.jsonl");
  const LedgerHeader header = read_header(texts.front());
  for (const std::string& text : texts) {
    if (text == texts.front()) continue;
    const LedgerEntry entry = read_entry(text, header);
    if (entry.closes) continue;
    REQUIRE(entry.groups.size() == 1);
    for (const ClientId client : entry.groups[0].clients) patterns[client] |= 1U << (entry.round - 1);
  }
  return patterns;
}

/// By how much C moves a client in these rounds: C's first column, no number of it below 0; or of a tree, its nodes.
double moved(const Correlation& correlation, std::uint32_t pattern) {
  double square = 0;
  if (choice_name(correlation.mechanism) == "tree") {
    for (std::size_t width = 1; width <= kVersions; width *= 2)
      for (std::size_t node = 0; node + width <= kVersions; node += width)
        square += std::pow(std::popcount(pattern >> node & ((1U << width) - 1)), 2);
    return std::sqrt(square);
  }
  std::vector<double> c{1};
  if (choice_name(correlation.mechanism) == "banded") c = correlation.coefficients;
  if (choice_name(correlation.mechanism) == "blt") c = buffered_of(correlation).coefficients(kVersions);
  for (std::size_t row = 0; row < kVersions; ++row) {
    double sum = 0;
    for (std::size_t lag = 0; lag <= row && lag < c.size(); ++lag) sum += (pattern >> (row - lag) & 1) != 0 ? c[lag] : 0;
    square += sum * sum;
  }
  return std::sqrt(square);
}

}  // namespace

TEST_CASE("the charge is that of the worst pattern of k versions so far apart, and covers every client's real one") {
  const TemporaryFolder folder;
  write_data(folder);
  std::string last;
  for (const std::string mechanism : {"independent", "banded", "blt", "tree"}) {
    CAPTURE(mechanism);
    const std::string run = folder / mechanism;
    const RunSummary summary = start(settings_for(folder, mechanism, kBuffered + kApartText + noise(mechanism)));
    REQUIRE(summary.rounds == kVersions);
    const auto patterns = patterns_of(run);
    const LedgerReading reading = read_ledger(run + "/ledger.jsonl");
    const Correlation& correlation = reading.book.header().at(Level::client)->each.correlation;
    CHECK(correlation.separation == kApart);
    int most = 0, all = 0;
    double real = 0;
    for (const auto& [client, pattern] : patterns) {
      for (std::size_t gap = 1; gap < kApart; ++gap) CHECK((pattern & pattern << gap) == 0);
      most = std::max(most, std::popcount(pattern));
      all += std::popcount(pattern);
      real = std::max(real, moved(correlation, pattern));
    }
    CHECK(all == 2 * kVersions);
    CHECK(most >= 2);
    CHECK(most <= static_cast<int>(kVersions / kApart));
    double worst = 0;
    for (std::uint32_t pattern = 1; pattern < 1U << kVersions; ++pattern)
      if (std::popcount(pattern) <= most && (pattern & pattern << 1) == 0 && (pattern & pattern << 2) == 0)
        worst = std::max(worst, moved(correlation, pattern));
    const double epsilon = summary.privacy.at(0).epsilon;
    CHECK(epsilon >= gaussian_epsilon(real / 2, 1e-5));
    if (mechanism == "tree")
      CHECK(epsilon >= gaussian_epsilon(worst / 2, 1e-5));
    else
      CHECK(epsilon == doctest::Approx(gaussian_epsilon(worst / 2, 1e-5)).epsilon(1e-6));
    CHECK(lines(run + "/rounds.jsonl").back()["client_privacy"]["epsilon"].get<double>() == epsilon);
    // k was known beforehand.
    const std::string ledger = read_file(run + "/ledger.jsonl");
    for (const std::string& part :
         {std::string("\"participations\":true"), "T = 12 rounds, of which one client is in at most " + std::to_string(most)})
      CHECK_MESSAGE(ledger.find(part) != ledger.npos, part);
    const std::string results = read_file(run + "/summary.json");
    CHECK(results.find("any two sums that include the same client are at least 3 versions apart") != results.npos);
    const Audit audit = audit_ledger(run + "/ledger.jsonl", {summary.ledger}, {}, true);
    CHECK(audit.failures == std::vector<std::string>{});
    CHECK(audit.statements.at(0).statement.epsilon == epsilon);
    const Settings settings = read_settings(run + "/config.toml");
    CHECK(compare_with_settings(run + "/ledger.jsonl", "", resolve(settings)).contradictions == std::vector<std::string>{});
    CHECK(hashes(run).back() != last);
    last = hashes(run).back();
  }
  // Without a separation the schedule is another, whose busiest client is in more versions.
  start(settings_for(folder, "near", kBuffered + noise("blt")));
  int most = 0;
  bool is_close = false;
  for (const auto& [client, pattern] : patterns_of(folder / "near")) {
    most = std::max(most, std::popcount(pattern));
    is_close = is_close || (pattern & pattern << 1) != 0 || (pattern & pattern << 2) != 0;
  }
  CHECK(is_close);
  CHECK(read_file(folder / "near/ledger.jsonl").find("is in at most " + std::to_string(most)) != std::string::npos);
}

TEST_CASE("a buffered run with a separation has the same bits on any threads and after a stop; one band is independent noise") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string settings = kBuffered + kApartText + noise("blt");
  const RunSummary whole = start(settings_for(folder, "whole", settings));
  std::atomic<bool> stop = false;
  RunObserver observer;
  observer.round = [&](const RoundRecord& record) { stop = record.round == 5; };
  observer.stop = &stop;
  start(settings_for(folder, "half", settings + "threads = 1\n"), observer);
  CHECK(hashes(folder / "half").size() == 5);
  const RunSummary on = resume(folder / "half", {});
  CHECK(hashes(folder / "half") == hashes(folder / "whole"));
  CHECK(read_file(folder / "half/ledger.jsonl") == read_file(folder / "whole/ledger.jsonl"));
  CHECK(on.privacy.at(0).epsilon == whole.privacy.at(0).epsilon);
  CHECK_USAGE_ERROR(resume(folder / "whole", {{"rounds", {std::int64_t{14}, true}}}), "rounds", "14", "planned for 12");
  std::string few = kBuffered;
  few.replace(few.find("rounds = 12"), 11, "rounds = 4");
  start(settings_for(folder, "plain", few));
  start(settings_for(folder, "band", few + noise("banded")));
  CHECK(hashes(folder / "plain") == hashes(folder / "band"));
  CHECK(read_file(folder / "plain/ledger.jsonl") == read_file(folder / "band/ledger.jsonl"));
}

TEST_CASE("an audit names the client that a doctored ledger has in two sums too close, and such a run is not resumed") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string settings = kBuffered + kApartText + noise("blt");
  start(settings_for(folder, "run", settings));
  std::vector<std::string> texts = texts_of(folder / "run/ledger.jsonl");
  REQUIRE(texts.size() == 1 + 2 * kVersions);
  const LedgerHeader header = read_header(texts.front());
  // Version 6 has the clients of version 4.
  LedgerEntry entry = read_entry(texts[11], header);
  REQUIRE(entry.round == 6);
  const std::vector<ClientId> clients = read_entry(texts[7], header).groups.at(0).clients;
  REQUIRE(clients.size() == 2);
  entry.groups.at(0).clients = clients;
  texts[11] = entry_text(entry, header);
  std::string value;
  std::ofstream file(folder / "run/ledger.jsonl", std::ios::trunc);
  for (const std::string& text : texts) file << chained(text, value = chain_value(value, text, "")) << '\n';
  file.close();
  std::string failures;
  for (const std::string& one : audit_ledger(folder / "run/ledger.jsonl", {}, {}, true).failures) failures += one + "; ";
  CHECK(names(failures, {"round 6: client " + std::to_string(clients[0]) + " is in its sum and in that of round 4",
                         "minimum-separation is 3"}));
  CHECK_FAILURE(resume(folder / "run", {}), "ledger", "not the one the run recorded");
}

TEST_CASE("budgets, too few clients, and what a separation in virtual time cannot be combined with") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string blt = kBuffered + kApartText + noise("blt");
  std::string calibrated = blt;
  calibrated.replace(calibrated.find("noise-multiplier = 2.0"), 22, "epsilon = 4.0");
  const RunSummary all = start(settings_for(folder, "all", calibrated));
  CHECK(all.rounds == kVersions);
  CHECK(all.privacy.at(0).epsilon <= 4);
  const RunSummary some = start(settings_for(folder, "some", blt + "epsilon = 3.0\n"));
  CHECK(some.rounds > 2);
  CHECK(some.rounds < kVersions);
  CHECK(some.privacy.at(0).epsilon <= 3);
  CHECK(names(some.halted, {"budget", "3"}));

  // Six versions in a row need twelve clients; seven would need fourteen.
  check_separation(prepare(resolve(settings_for(folder, "six", kBuffered + "minimum-separation = 6\n"))));
  CHECK_USAGE_ERROR(start(settings_for(folder, "seven", kBuffered + "minimum-separation = 7\n")), "minimum-separation is 7",
                    "version 7", "no client is at work", "12 clients", "valid: 6, or more clients, or a smaller buffer");
  CHECK(!std::filesystem::exists(folder / "seven"));
  const auto refused = [&](const std::string& more) {
    Settings settings = settings_for(folder, "x", blt);
    for (const auto& [key, setting] : parse_settings(more, "more")) settings[key] = setting;
    if (value_text(settings.at("mode").value) != "fedbuff") settings.erase("buffer");
    return resolve(settings);
  };
  refused("");
  CHECK_USAGE_ERROR(refused("mode = 'fedasync'\n"), "fedasync", "one client's model at a time");
  CHECK_USAGE_ERROR(refused("minimum-separation = 13\n"), "minimum-separation", "13", "rounds 12");
  CHECK_USAGE_ERROR(refused("client-noise = 'discrete'\n"), "noise-mechanism", "client-noise");
  CHECK_USAGE_ERROR(refused("normalized-staleness = true\n"), "normalized-staleness");
}

}  // namespace fedstride::test::separated_versions_test
