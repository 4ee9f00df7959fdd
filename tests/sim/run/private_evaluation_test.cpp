// Accuracy on protected rows and moments of protected inputs as releases: values, costs and refused settings.
#include "sim/run/model_tests.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <numbers>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/ledger/ledger.hpp"
#include "dp/noise/noisy_mean.hpp"
#include "sim/prepare/private_inputs.hpp"
#include "sim/run/evaluate.hpp"
#include "sim/run/run_privacy.hpp"
#include "tests/data/files.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::private_evaluation_test {
namespace {

namespace fs = std::filesystem;

/// Without a test part, a sixth of the rows is held out, and is protected.
Settings held_out(const TemporaryFolder& folder, const std::string& out, const std::string& more) {
  if (!fs::exists(folder / "train.csv")) write_data(folder);
  fs::remove(folder / "test.csv");
  return settings_for(folder, out, "public-test = false\noptimizer = 'sgd'\nlearning-rate = 0.5\nrounds = 4\n" + more);
}

const std::string kExample = "dp = 'example'\nnoise-multiplier = 2\nclip = 1\nbatch = 12\n";
const std::string kEvaluate = "evaluate = 'private'\nevaluate-noise = 3\n";

Setup prepared(const Settings& settings) { return prepare(resolve(settings)); }

}  // namespace

TEST_CASE("a noisy mean has the sensitivity of one clip: values in [-1, 1], a vector's norm at most 1, noise as requested") {
  NoisyMean mean(4);
  mean.add(std::vector<double>{1, -1, 5, NAN});
  mean.add(std::vector<double>{0, 0, 0, 0});
  const auto exact = mean.release(1e-5, 2, RandomSource(std::uint64_t{1}), {.purpose = Purpose::test});
  for (std::size_t i = 0; i < 4; ++i) CHECK(exact[i] == doctest::Approx(std::vector<double>{0.5, -0.5, 0.5, 0}[i]));
  double squares = 0;
  constexpr int kDraws = 4000;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const auto noisy = NoisyMean(4).release(3, 10, RandomSource(std::uint64_t{1}), {.purpose = Purpose::test, .step = i});
    squares += noisy[0] * noisy[0];
  }
  // The scaled vector gets noise of deviation 3: 3 sqrt(4) / 10 on the mean. Four deviations of a variance of 4,000 draws are 9 %.
  CHECK(squares / kDraws == doctest::Approx(0.36).epsilon(0.09));
  CHECK_USAGE_ERROR(NoisyMean(1).release(0, 1, RandomSource(std::uint64_t{1}), {.purpose = Purpose::test}), "noise multiplier",
                    "0");
  CHECK_USAGE_ERROR(NoisyMean(1).release(1, 0, RandomSource(std::uint64_t{1}), {.purpose = Purpose::test}), "0 records");
}

TEST_CASE("a noisy mean clips norms to its bound, which the noise is proportional to") {
  NoisyMean mean(2, 0.5);
  mean.add(std::vector<double>{0.3, 0.4});
  mean.add(std::vector<double>{0.6, -0.8});
  const auto exact = mean.release(1e-5, 2, RandomSource(std::uint64_t{1}), {.purpose = Purpose::test});
  CHECK(exact[0] == doctest::Approx(0.3));
  CHECK(exact[1] == doctest::Approx(0));
  const auto noise = [](const NoisyMean& none) {
    return none.release(3, 10, RandomSource(std::uint64_t{1}), {.purpose = Purpose::test})[1];
  };
  CHECK(noise(NoisyMean(2, 0.5)) == doctest::Approx(noise(NoisyMean(2)) * 0.5 / std::sqrt(2)));
}

TEST_CASE(
    "with almost no noise the results are those of the rows, with the loss clipped; every evaluated round is in the ledger and "
    "epsilon") {
  const TemporaryFolder folder;
  const RunSummary plain = start(held_out(folder, "plain", kExample));
  CHECK_FALSE(plain.test_is_covered);
  const RunSummary exact =
      start(held_out(folder, "exact", kExample + "evaluate = 'private'\nevaluate-noise = 1e-5\nevaluate-every = 2\n"));
  CHECK(exact.test_is_covered);
  // Other settings draw other noise for training; the model of this run is evaluated by itself.
  const ModelEvaluation again = evaluate_file(folder / "exact", "", {}, false, 1);
  CHECK_FALSE(again.is_covered);
  CHECK(exact.test.accuracy == doctest::Approx(again.evaluation.accuracy));
  CHECK(exact.test.loss == doctest::Approx(again.evaluation.loss));
  const LedgerReading reading = read_ledger(folder / "exact/ledger.jsonl");
  Spending spending = reading.book.spent(0);
  std::uint64_t evaluations = 0;
  for (const Releases& some : spending)
    if (some.noise_multiplier == 1e-5) evaluations += some.count;
  CHECK(evaluations == 2);  // rounds 2 and 4
  const auto round = lines(folder / "exact/rounds.jsonl");
  CHECK(round[0]["test_accuracy"].is_null());
  CHECK(round[1]["test_accuracy"].is_number());
  CHECK(round[1]["not_covered"].dump().find("test_accuracy") == std::string::npos);
  CHECK(lines(folder / "plain/rounds.jsonl")[1]["not_covered"].dump().find("test_accuracy") != std::string::npos);
}

TEST_CASE("epsilon of a run with private evaluation covers both, at every level, and a resumed run repeats the numbers") {
  const TemporaryFolder folder;
  const auto tight = make_part<Accountant>("accountant", "tight");
  for (const bool clients : {false, true}) {
    CAPTURE(clients);
    const std::string level =
        clients ? "dp = 'client'\nnoise-multiplier = 2\nclip = 1\npartition = 'iid'\nclient-test = 0.2\n" : kExample;
    const RunSummary summary = start(held_out(folder, clients ? "c" : "e", level + kEvaluate));
    Spending by_hand;
    if (clients) {
      by_hand = {{.sampling = Sampling::full, .rate = 1, .noise_multiplier = 2, .count = 4}};
    } else {
      const Setup setup = prepare(resolve(held_out(folder, "x", level + kEvaluate)));
      for (const auto& size : setup.privacy.plans) {
        const Spending own = size.second->spending(0, size.second->releases_before(4), 4);
        if (by_hand.empty() || epsilon_by(tight, own, 1e-5).value > epsilon_by(tight, by_hand, 1e-5).value) by_hand = own;
      }
    }
    const double without = epsilon_by(tight, by_hand, 1e-5).value;
    for (Releases& some : by_hand) some.neighbours = Neighbours::add_remove;
    merge(by_hand, Releases{.sampling = Sampling::full, .rate = 1, .noise_multiplier = 3, .count = 4});
    CHECK(summary.privacy.at(0).epsilon == doctest::Approx(epsilon_by(tight, by_hand, 1e-5).value).epsilon(1e-5));
    CHECK(summary.privacy.at(0).epsilon > without);
    CHECK(summary.test.accuracy ==
          lines(folder / (clients ? "c/rounds.jsonl" : "e/rounds.jsonl")).back()["test_accuracy"].get<double>());
    const Settings more{{"rounds", {std::int64_t{6}}}};
    Settings straight = held_out(folder, clients ? "c6" : "e6", level + kEvaluate);
    straight["rounds"] = {std::int64_t{6}};
    start(straight);
    resume((folder / (clients ? "c" : "e")), more);
    const auto a = lines(folder / (clients ? "c/rounds.jsonl" : "e/rounds.jsonl"));
    const auto b = lines(folder / (clients ? "c6/rounds.jsonl" : "e6/rounds.jsonl"));
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i]["test_accuracy"] == b[i]["test_accuracy"]);
  }
}

TEST_CASE("an evaluation that one client's budget does not cover ends the run, even if others have steps left") {
  const TemporaryFolder folder;
  const auto settings_of = [&](const std::string& out, const std::string& more) {
    Settings settings = held_out(
        folder, out,
        "dp = 'example'\nnoise-multiplier = 1.2\nbatch = 6\npartition = 'sizes'\nsizes = 'linear'\nepsilon = 6\n" + more);
    settings["rounds"] = {std::int64_t{50}};
    return settings;
  };
  const Settings settings = settings_of("a", kEvaluate + "evaluate-every = 2\n");
  const RunSummary summary = start(settings);
  CHECK(names(summary.halted, {"evaluation", "epsilon", "6", "delta", "1e-05"}));
  CHECK(summary.privacy.at(0).epsilon <= 6);
  CHECK(summary.rounds % 2 == 1);
  CHECK(rounds_within_budget(prepare(resolve(settings))) == summary.rounds);
  CHECK(start(settings_of("b", "")).rounds > summary.rounds);
}

TEST_CASE("a budget covers evaluations: calibrated noise is larger with them, and a run ends before they exceed it") {
  const TemporaryFolder folder;
  const std::string level = "dp = 'example'\nepsilon = 3\nclip = 1\nbatch = 12\n";
  const Setup plain = prepare(resolve(held_out(folder, "a", level)));
  const Setup with = prepare(resolve(held_out(folder, "b", level + kEvaluate)));
  CHECK(with.privacy.example->noise_multiplier > plain.privacy.example->noise_multiplier);
  const RunSummary summary = start(held_out(folder, "b", level + kEvaluate));
  CHECK(summary.rounds == 4);
  CHECK(summary.privacy.at(0).epsilon <= 3);
  CHECK(summary.privacy.at(0).epsilon > 2.9);
  // Where the noise is given, evaluations leave room for fewer rounds.
  const std::string given = "dp = 'client'\nnoise-multiplier = 3\nepsilon = 2\nclip = 1\nclient-test = 0.2\npartition = 'iid'\n";
  const auto sixty = [&](const std::string& out, const std::string& more) {
    Settings settings = held_out(folder, out, given + more);
    settings["rounds"] = {std::int64_t{60}};
    return start(settings);
  };
  const RunSummary trained = sixty("c", "");
  const RunSummary tested = sixty("d", kEvaluate);
  CHECK(tested.rounds < trained.rounds);
  CHECK(tested.rounds > 0);
  CHECK(tested.privacy.at(0).epsilon <= 2);
}

TEST_CASE("held-out accuracy is published only if it is released") {
  const TemporaryFolder folder;
  const std::string secret = kExample + "publishable = true\nrandomness = 'secret'\n";
  start(held_out(folder, "plain", secret));
  CHECK_FALSE(lines(folder / "plain/rounds.jsonl")[0].contains("test_accuracy"));
  CHECK_FALSE(Json::parse(read_file(folder / "plain/summary.json")).contains("test_loss"));
  CHECK_USAGE_ERROR(evaluate_file(folder / "plain", "", {}, false, 1), folder / "plain", "publishable", "--data", "evaluate");
  start(held_out(folder, "private", secret + kEvaluate));
  CHECK(lines(folder / "private/rounds.jsonl")[0].contains("test_accuracy"));
}

TEST_CASE("settings without a valid private evaluation are refused") {
  const TemporaryFolder folder;
  CHECK_USAGE_ERROR(prepared(held_out(folder, "x", kEvaluate)), "evaluate", "private", "dp", "none");
  CHECK_USAGE_ERROR(prepared(held_out(folder, "x", kExample + "evaluate = 'private'\n")), "evaluate", "private", "evaluate-noise",
                    "0");
  CHECK_USAGE_ERROR(prepared(held_out(folder, "x", kExample + kEvaluate + "evaluate-rows = 3\n")), "evaluate", "private",
                    "evaluate-rows 3", "evaluate-rows 0", "evaluate plain");
  const TemporaryFolder small;
  write_file(small / "train.csv", "1,1,1,0\n2,2,2,1\n3,3,3,2\n");
  CHECK_USAGE_ERROR(prepared(held_out(small, "x", kExample + kEvaluate + "partition = 'iid'\nclients = 1\n")), "evaluate",
                    "private", "1");
  CHECK_USAGE_ERROR(prepared(held_out(folder, "x", "dp = 'client'\nnoise-multiplier = 1\n" + kEvaluate)), "evaluate", "private",
                    "--client-test");
  const std::string local = "dp = 'client'\nnoise-multiplier = 1\nclient-noise = 'local'\nclient-test = 0.2\n";
  CHECK_USAGE_ERROR(prepared(held_out(folder, "x", local + kEvaluate)), "evaluate", "private", "client-noise", "local");
}

TEST_CASE(
    "private moments: close to the true ones with little noise, in the ledger at every level, the same after an interruption") {
  const TemporaryFolder folder;
  for (const std::string& level :
       {kExample, std::string("dp = 'client'\nnoise-multiplier = 2\nclip = 1\npartition = 'iid'\n"),
        std::string("dp = 'both'\nnoise-multiplier = 2\nclip = 1\nclient-noise-multiplier = 2\npartition = 'iid'\n")}) {
    CAPTURE(level);
    const std::string moments = "normalize = 'private'\nnormalize-noise = 1e-5\nrange = '-6,6'\nmean = ''\ndeviation = ''\n";
    Setup setup = prepare(resolve(held_out(folder, "x", level + moments)));
    CHECK(setup.data.normalizes_privately);
    release_moments(setup, RandomSource(std::uint64_t{1}));
    // Three columns, each of 0.7 N(0, 1) with 2 in a third of the rows: mean 2/3, deviation sqrt(0.49 + 8/9).
    for (std::size_t c = 0; c < 3; ++c) {
      CHECK(setup.data.train.mean[c] == doctest::Approx(2.0 / 3).epsilon(0.3));
      CHECK(setup.data.train.deviation[c] == doctest::Approx(std::sqrt(0.49 + 8.0 / 9)).epsilon(0.15));
    }
    const std::string out = "m" + std::to_string(level.size());
    start(
        held_out(folder, out, level + "normalize = 'private'\nnormalize-noise = 4\nrange = '-6,6'\nmean = ''\ndeviation = ''\n"));
    const LedgerReading reading = read_ledger(folder / (out + "/ledger.jsonl"));
    std::uint64_t found = 0;
    for (const Spending& spending : {reading.book.spent(0), reading.book.spent_by_update()})
      for (const Releases& some : spending)
        if (some.noise_multiplier == 4) found += some.count;
    CHECK(found == (contains(level, "both") ? 2 : 1));
    const ModelEvaluation evaluation = evaluate_file(folder / out, "", {}, false, 1);  // normalized by what was released
    const Json summary = Json::parse(read_file(folder / (out + "/summary.json")));
    CHECK(evaluation.evaluation.loss == doctest::Approx(summary["test_loss"].get<double>()));
    const auto before = hashes(folder / out);
    resume(folder / out, {{"rounds", {std::int64_t{5}}}});
    CHECK(hashes(folder / out).size() == before.size() + 1);
  }
  CHECK_USAGE_ERROR(
      prepared(held_out(folder, "x", kExample + "normalize = 'private'\nrange = '-6,6'\nmean = ''\ndeviation = ''\n")),
      "normalize-noise", "0", "normalize", "private");
}

TEST_CASE("private moments by norms: exact within the norms, clipped beyond, no channel below its noise") {
  const TemporaryFolder folder;
  const auto released = [&](const std::string& clip, const std::string& noise) {
    const std::string moments = "normalize = 'private'\nnormalize-noise = " + noise + "\nnormalize-clip = '" + clip +
                                "'\nrange = ''\nmean = ''\ndeviation = ''\n";
    Setup setup = prepare(resolve(held_out(folder, "x", kExample + moments)));
    release_moments(setup, RandomSource(std::uint64_t{1}));
    CHECK(setup.data.test.deviation == setup.data.train.deviation);
    return std::move(setup.data.train);
  };
  const Dataset exact = released("100,10000", "1e-5");
  const Dataset clipped = released("0.5,10000", "1e-5");
  const Dataset noisy = released("100,10000", "1");
  const Setup setup = prepare(resolve(held_out(folder, "x", kExample + "normalize = 'none'\nmean = ''\ndeviation = ''\n")));
  std::vector<double> mean(3), square(3);
  for (const std::span<const Row> rows : setup.clients.rows)
    for (std::size_t i = 0; i < 3 * rows.size(); ++i) {
      const std::size_t c = i % 3;
      const Row row = rows[i / 3];
      const double x = std::as_const(setup.data.train.features)[setup.data.train.place(row) * 3 + c];
      mean[c] += x / static_cast<double>(setup.clients.rows.row_count());
      square[c] += x * x / static_cast<double>(setup.clients.rows.row_count());
    }
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(exact.mean[c] == doctest::Approx(mean[c]).epsilon(2e-3));
    CHECK(exact.deviation[c] == doctest::Approx(std::sqrt(square[c] - mean[c] * mean[c])).epsilon(2e-3));
    CHECK(std::abs(clipped.mean[c]) < 0.5);
    const double of_noise = std::numbers::sqrt2 * 10000 / static_cast<double>(setup.clients.rows.row_count());
    CHECK(noisy.deviation[c] >= doctest::Approx(std::sqrt(of_noise)));
  }
  CHECK_USAGE_ERROR(released("1", "1"), "normalize-clip", "'1'", "two numbers");
  CHECK_USAGE_ERROR(released("1,0", "1"), "normalize-clip", "'1,0'", "above 0");
  CHECK_USAGE_ERROR(prepared(held_out(folder, "x", kExample + "normalize-clip = '1,1'\n")), "normalize-clip", "normalize");
}

}  // namespace fedstride::test::private_evaluation_test
