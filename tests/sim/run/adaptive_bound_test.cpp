// The bound that adapts (Andrew et al. 2021): its rule; and runs with it: same bits on threads and after a kill, ledger and audit, what it cannot be combined with.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "core/error.hpp"
#include "core/files.hpp"
#include "dp/bounds/adaptive.hpp"
#include "dp/ledger/audit.hpp"
#include "dp/ledger/ledger_entry.hpp"
#include "dp/ledger/statement.hpp"
#include "sim/run/ledger_terms.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::adaptive_bound_test {
namespace {

const std::string kAdaptive =
    "dp = 'client'\nclip-rule = 'adaptive'\nnoise-multiplier = 0.3\nclip = 0.01\noptimizer = 'sgd'\nlearning-rate = 0.1\n";

}  // namespace

TEST_CASE("the split of the noise, and its limits") {
  const auto split = [](double z, double expected, double deviation = 0) {
    const double count = AdaptiveBound({.deviation = deviation}).count_noise(z, expected);
    return std::pair(noise_beside_count(z, count), count);
  };
  CHECK(split(1, 100).first == doctest::Approx(1.0050378).epsilon(1e-7));
  CHECK(split(1, 200).first == doctest::Approx(1.0012523).epsilon(1e-7));
  CHECK(split(1, 100).second == 5);
  CHECK(split(2, 5).second == 2);
  for (const double m : {1.0, 5.0, 30.0, 1e4})
    for (const double z : {0.1, 1.0, 20.0}) {
      const auto [vector, count] = split(z, m);
      CHECK(vector <= z * 1.1548);
      CHECK(1 / (vector * vector) + 1 / (4 * count * count) <= 1 / (z * z));
      CHECK(1 / (vector * vector) + 1 / (4 * count * count) == doctest::Approx(1 / (z * z)).epsilon(1e-12));
    }
  CHECK_THROWS_AS(split(2, 100, 1), Error);
  CHECK_THROWS_AS(split(2, 0), Error);
}

TEST_CASE("the bound goes to the median from below and from above, and stays within limits") {
  for (const double start : {0.1, 10.0}) {
    BoundCourse course(AdaptiveBound{}, start);
    for (std::uint32_t round = 0; round < 200; ++round) {
      RandomStream random(1, {.purpose = Purpose::test, .round = round});
      double bits = 0;
      constexpr int kClients = 4000;
      for (int i = 0; i < kClients; ++i) bits += std::exp(0.5 * random.normal()) <= course.bound() ? 0.5 : -0.5;
      course.take(bits / kClients);
    }
    CHECK(course.bound() > 0.99);
    CHECK(course.bound() < 1.02);
  }
  BoundCourse course(AdaptiveBound({.quantile = 0.9, .rate = 0.5}), 2);
  course.take(0.1);
  CHECK(course.bound() == 2 * std::exp(-0.5 * (0.1 + 0.5 - 0.9)));
  course.take(1e3);
  CHECK(course.bound() == kLeastClip);
  course.take(-1e3);
  CHECK(course.bound() == kMostClip);
}

TEST_CASE("a bound that adapts: the same bits on any threads and after a kill; it moves by what the bits allow") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", kAdaptive));
  start(settings_for(folder, "b", kAdaptive + "threads = 1\nrounds = 2\n"));
  resume(folder / "b", {{"rounds", {std::int64_t{6}, true}}});
  CHECK(hashes(folder / "a") == hashes(folder / "b"));
  const auto rounds = lines(folder / "a/rounds.jsonl");
  REQUIRE(rounds.size() == 6);
  CHECK(rounds[0]["clip"] == 0.01);
  double before = 0.01;
  for (std::size_t i = 1; i < rounds.size(); ++i) {
    const double clip = rounds[i]["clip"];
    CHECK(clip == lines(folder / "b/rounds.jsonl")[i]["clip"]);
    CHECK(clip > before * std::exp(-0.2));  // noise of 0.3 on three bits of 1/2
    CHECK(clip < before * std::exp(0.2));
    before = clip;
  }
  CHECK(before > 0.012);  // far below the norms, so it rises
  std::string brief = kAdaptive;
  brief.erase(brief.find("clip = 0.01\n"), std::string("clip = 0.01\n").size());
  start(settings_for(folder, "long", brief + "clip = 1.0\nrounds = 1\n"));
  brief.erase(brief.find("clip-rule"), std::string("clip-rule = 'adaptive'\n").size());
  start(settings_for(folder, "brief", brief + "clip = 'adaptive'\nrounds = 1\n"));
  CHECK(hashes(folder / "brief") == hashes(folder / "long"));
  // Discrete noise, and another quantile, are other runs.
  start(settings_for(folder, "c", kAdaptive + "client-noise = 'discrete'\n"));
  start(settings_for(folder, "d", kAdaptive + "clip-quantile = 0.9\n"));
  CHECK(hashes(folder / "c")[0] != hashes(folder / "a")[0]);
  CHECK(hashes(folder / "d")[0] != hashes(folder / "a")[0]);
}

TEST_CASE("the ledger charges the noise multiplier, has each round's bound, and says that it adapted") {
  const TemporaryFolder folder;
  write_data(folder);
  const RunSummary adaptive = start(settings_for(folder, "a", kAdaptive));
  std::string fixed_settings = kAdaptive;
  fixed_settings.erase(fixed_settings.find("clip-rule"), std::string("clip-rule = 'adaptive'\n").size());
  const RunSummary fixed = start(settings_for(folder, "f", fixed_settings));
  REQUIRE(adaptive.privacy.size() == 1);
  CHECK(adaptive.privacy[0].epsilon == fixed.privacy[0].epsilon);
  const LedgerReading reading = read_ledger(folder / "a/ledger.jsonl");
  CHECK(choice_name(reading.book.header().at(Level::client)->clip_rule) == "adaptive");
  CHECK(read_ledger(folder / "f/ledger.jsonl").book.header().at(Level::client)->clip_rule == ClipRule{});
  const std::string ledger = read_file(folder / "a/ledger.jsonl");
  CHECK(ledger.find("\"adaptive_clip\":true") != ledger.npos);
  CHECK(ledger.find("the bound C on an update's norm, 0.01 in the first round") != ledger.npos);
  CHECK(audit_book(reading.book, true).failures.empty());
  const std::string summary = read_file(folder / "a/summary.json");
  CHECK(summary.find("from then on the bound follows the count of updates within it") != summary.npos);
}

TEST_CASE("a bound that adapts is refused where its count would not be covered, or would feed back") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto refused = [&](const std::string& more) {
    Settings settings = settings_for(folder, "x", kAdaptive);
    for (const auto& [key, setting] : parse_settings(more, "more")) settings[key] = setting;
    return resolve(settings);
  };
  CHECK_USAGE_ERROR(refused("client-noise = 'local'\n"), "clip-rule", "adaptive", "client-noise", "central");
  CHECK_USAGE_ERROR(refused("clip-per = 'layer'\n"), "clip-rule", "clip-per", "model");
  CHECK_USAGE_ERROR(refused("noise-mechanism = 'blt'\n"), "noise-mechanism", "clip-rule", "fixed");
  CHECK_USAGE_ERROR(refused("optimizer = 'pooled'\n"), "clip-rule", "optimizer 'pooled'");
  CHECK_USAGE_ERROR(refused("mode = 'fedbuff'\nconcurrency = 2\nbuffer = 2\ndevices = 'equal'\n"), "clip-rule", "mode");
  CHECK_USAGE_ERROR(start(settings_for(folder, "y", kAdaptive + "clip-count-noise = 0.1\n")), "0.1", "half the noise multiplier");
}

// --- examples' gradients ---

namespace {

const std::string kLots =
    "dp = 'example'\nclip-rule = 'adaptive'\nnoise-multiplier = 0.6\nclip = 0.01\nbatch = "
    "10\noptimizer = 'sgd'\nlearning-rate = 0.1\n";

// With other values of some settings.
Settings lots_for(const TemporaryFolder& folder, const std::string& out, const std::string& more = "",
                  const std::string& without = "") {
  Settings settings = settings_for(folder, out, kLots);
  for (const auto& [key, setting] : parse_settings(more, "more")) settings[key] = setting;
  settings.erase(without);
  return settings;
}

}  // namespace

TEST_CASE("a bound on examples' gradients that adapts: the same bits on any threads and after a kill, one bound a round") {
  const TemporaryFolder folder;
  write_data(folder);
  const RunSummary whole = start(lots_for(folder, "a"));
  start(lots_for(folder, "b", "threads = 1\nrounds = 2\n"));
  resume(folder / "b", {{"rounds", {std::int64_t{6}, true}}});
  CHECK(hashes(folder / "a") == hashes(folder / "b"));
  const auto rounds = lines(folder / "a/rounds.jsonl");
  REQUIRE(rounds.size() == 6);
  CHECK(rounds[0]["clip"] == 0.01);
  for (std::size_t i = 1; i < rounds.size(); ++i) {
    const double before = rounds[i - 1]["clip"], clip = rounds[i]["clip"];
    CHECK(clip == lines(folder / "b/rounds.jsonl")[i]["clip"]);
    // Nearly all norms are beyond it, so the mean of the counts is near -1/2.
    CHECK(clip / before == doctest::Approx(std::exp(0.1)).epsilon(0.02));
  }
  start(lots_for(folder, "down", "clip = 50.0\nclip-quantile = 0.25\n"));
  CHECK(lines(folder / "down/rounds.jsonl")[1]["clip"].get<double>() ==
        doctest::Approx(50 * std::exp(-0.2 * 0.75)).epsilon(0.02));
  // It costs what a fixed bound costs, and the ledger has each round's bound, the same for all clients.
  CHECK(whole.privacy.at(0).epsilon == start(lots_for(folder, "f", "", "clip-rule")).privacy.at(0).epsilon);
  CHECK(hashes(folder / "f")[0] != hashes(folder / "a")[0]);
  const LedgerReading reading = read_ledger(folder / "a/ledger.jsonl");
  CHECK(choice_name(reading.book.header().at(Level::example)->clip_rule) == "adaptive");
  CHECK(audit_book(reading.book, true).failures.empty());
  const auto ledger = lines(folder / "a/ledger.jsonl");
  for (const auto& line : ledger)
    if (line["kind"] == "reserve")
      for (const auto& group : line["groups"])
        for (const auto& run : group["runs"]) {
          CHECK(run[0] == 0.6);
          CHECK(run[1] == rounds[line["round"].get<std::size_t>() - 1]["clip"]);
        }
  CHECK(statement_text(whole.privacy[0]).find("each lot's count is released together with its sum") != std::string::npos);
  CHECK(statement_text(whole.privacy[0]).find("max(m / 20, 0.6) for lots of m expected examples") != std::string::npos);
}

TEST_CASE("optimizers that read two lots a step adapt beside the bound on their gradients, with the same bits after a kill") {
  const TemporaryFolder folder;
  write_data(folder);
  for (const std::string optimizer : {"pooled", "adadp", "delta-sgd"}) {
    CAPTURE(optimizer);
    const std::string more = "optimizer = '" + optimizer + "'\nnoise-multiplier = 30\nbatch = 5\n";
    start(lots_for(folder, optimizer, more, "learning-rate"));
    RunObserver observer;
    observer.pause_after = 3;
    start(lots_for(folder, optimizer + "-resumed", more + "threads = 1\n", "learning-rate"), observer);
    resume(folder / (optimizer + "-resumed"), {});
    CHECK(hashes(folder / optimizer) == hashes(folder / (optimizer + "-resumed")));
  }
  // The rate knows of each round's bound and of the noise that the count costs.
  std::vector<double> bounds;
  for (const Json& round : lines(folder / "pooled/rounds.jsonl")) {
    bounds.push_back(round.at("clip"));
    CHECK(round.at("round_noise").get<double>() == doctest::Approx(round.at("pooled_noise").get<double>()).epsilon(0.2));
  }
  REQUIRE(bounds.size() == 6);
  CHECK(bounds[5] != bounds[0]);
  Settings open = lots_for(folder, "x", "", "optimizer");
  open.erase("learning-rate");
  const Configuration automatic = resolve(open);
  CHECK(automatic.optimizer.name() == "pooled");
  CHECK(automatic.automatic_note.empty());
}

TEST_CASE("ledger and settings of a bound on gradients that adapts are compared, and an edited ledger is refused") {
  const TemporaryFolder folder;
  write_data(folder);
  start(lots_for(folder, "a", "rounds = 3\n"));
  const auto compared = [&](const std::string& more) {
    return compare_with_settings(folder / "a/ledger.jsonl", "", resolve(lots_for(folder, "a", "rounds = 3\n" + more)))
        .contradictions;
  };
  CHECK(compared("").empty());
  CHECK(compared("clip-rule = 'fixed'\n").size() >= 2);  // and the rounds' clips
  REQUIRE_FALSE(compared("clip = 0.02\n").empty());
  CHECK(names(compared("clip = 0.02\n")[0], {"round 1", "clip", "0.02", "0.01"}));
  CHECK_FALSE(compared("noise-multiplier = 0.7\n").empty());
  std::string edited = read_file(folder / "a/ledger.jsonl");
  const std::string third = lines(folder / "a/rounds.jsonl")[2]["clip"].dump();
  REQUIRE(edited.find(third) != edited.npos);
  edited.replace(edited.find(third), 6, "0.0099");
  write_file(folder / "a/ledger.jsonl", edited);
  CHECK_THROWS_AS(resume(folder / "a", {{"rounds", {std::int64_t{4}, true}}}), Error);
}

TEST_CASE("calibrated noise and budgets know of counts, however lots are drawn") {
  const TemporaryFolder folder;
  write_data(folder);
  std::vector<std::string> all{"batch = 1000\n"};
  for (const std::string_view name : kChoiceNames<LotSampling>)
    all.push_back("sampling = '" + std::string(name) + "'\n" +
                  (draw_of(sampling_named(name)).has_bound(Neighbours::zero_out) ? "" : "partition = 'iid'\n"));
  for (const std::string& more : all) {
    CAPTURE(more);
    const RunSummary summary = start(lots_for(folder, "run", "epsilon = 4\nrounds = 3\n" + more, "noise-multiplier"));
    CHECK(summary.privacy.at(0).epsilon <= 4);
    CHECK(summary.privacy.at(0).epsilon > 3.8);
    CHECK(summary.rounds == 3);
    CHECK(lines(folder / "run/rounds.jsonl")[2]["clip"].get<double>() > 0.01);
    std::filesystem::remove_all(folder / "run");
  }
}

TEST_CASE("a bound on gradients that adapts is refused where it would feed back or would not be covered") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto refused = [&](const std::string& more) { return resolve(lots_for(folder, "x", more)); };
  CHECK_USAGE_ERROR(refused("clip-schedule = 'linear'\n"), "clip-schedule", "clip-rule", "fixed");
  CHECK_USAGE_ERROR(refused("noise-schedule = 'dynamic'\n"), "noise-schedule", "clip-rule", "fixed");
  CHECK_USAGE_ERROR(refused("secure-aggregation = 'real'\n"), "clip-rule", "secure-aggregation");
  CHECK_USAGE_ERROR(refused("dp = 'user'\n"), "clip-rule");
  CHECK_USAGE_ERROR(start(lots_for(folder, "y", "clip-count-noise = 0.2\n")), "0.2", "half the noise multiplier");
  // With both levels, the rule is that of updates.
  CHECK_FALSE(bound_of_lots(refused("dp = 'both'\nclient-noise-multiplier = 1\n").privacy)->counts());
}

}  // namespace fedstride::test::adaptive_bound_test
