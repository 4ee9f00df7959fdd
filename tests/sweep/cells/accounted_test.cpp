#include "sweep/cells/accounted.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <set>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/random.hpp"
#include "sweep/cells/grid.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::accounted_test {

namespace fs = std::filesystem;

namespace {

// Five full releases with noise multiplier 5: 0.1-zCDP.
std::string text_of(const TemporaryFolder& folder, const std::string& more = "", const std::string& sweep = "") {
  std::string text =
      "data = '" + folder.path().string() +
      "'\nclasses = 3\nheader = 'no'\nmean = '0.67'\ndeviation = '1.2'\nmodel = 'logistic'\nclients = 3\nrounds = 5\n"
      "threads = 1\noptimizer = 'sgd'\ndp = 'client'\nnoise-multiplier = 5\nclip = 0.5\ndelta = 1e-6\n"
      "randomness = 'secret'\n";
  // What is swept, or set anew, is not set here.
  for (const std::string& other : {more, sweep})
    if (const std::size_t at = text.find("\n" + other.substr(0, other.find(" =")) + " ="); !other.empty() && at != text.npos)
      text.erase(at + 1, text.find('\n', at + 1) - at);
  return text + more + "[sweep]\nlearning-rate = [0.02, 0.1]\n" + sweep;
}
const std::string kPublic = "public-test = true\n";

std::vector<AccountedStatement> statements(const std::string& text, const Selection& selection = {}) {
  const Experiment experiment = parse_experiment(text, "choice.toml", "full");
  std::vector<Cell> cells;
  for_each_cell(experiment, [&](const Cell& cell) { cells.push_back(cell); });
  return account_choice(experiment, cells, selection);
}

AccountedChoice chosen(const std::string& text, const std::string& out, const Selection& selection) {
  return sweep_accounted(parse_experiment(text, "choice.toml", "full"), {.out = out, .threads = 1, .selection = selection});
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

}  // namespace

TEST_CASE("the statement on an accounted choice is the paper's at rho 0.1 and delta 1e-6") {
  const TemporaryFolder folder;
  write_data(folder);
  for (const auto& [mean, epsilon] : {std::pair(10.0, 4.06880), {100.0, 5.05432}}) {
    const auto found = statements(text_of(folder, kPublic), {.mean = mean});
    REQUIRE(found.size() == 1);
    CHECK(found[0].level == Level::client);
    CHECK(std::abs(found[0].single - 2.14304) < 1e-5);
    CHECK(std::abs(found[0].total - epsilon) < 1e-5);
  }
}

TEST_CASE("an accounted choice leaves one run, its statement and nothing else") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string out = folder / "chosen";
  const AccountedChoice choice = chosen(text_of(folder, kPublic), out, {.mean = 4});
  CHECK(names_in(out) == std::set<std::string>{"statement.json", "winner"});
  CHECK(choice.cell.starts_with("learning-rate 0."));
  CHECK((choice.score >= 0 && choice.score <= 1));  // the runs are drawn with a secret key: now and then all are poor
  const Json summary = parse_json(read_file(fs::path(out) / "winner/summary.json"));
  CHECK(summary["test_accuracy"].get<double>() == choice.score);
  const std::string statement = read_file(fs::path(out) / "statement.json");
  CHECK(std::abs(parse_json(statement)["privacy"][0]["epsilon"].get<double>() - choice.statements[0].total) < 1e-12);
  for (const auto& entry : fs::recursive_directory_iterator(out))
    for (const char* word : {"runs.key", "runs.json", ".tmp"}) CHECK(entry.path().string().find(word) == std::string::npos);
  CHECK_USAGE_ERROR(chosen(text_of(folder, kPublic), out, {.mean = 4}), "already holds a finished choice", "another folder");
}

TEST_CASE("a choice with a law that draws no run has no winner") {
  const TemporaryFolder folder;
  write_data(folder);
  const AccountedChoice choice =
      chosen(text_of(folder, kPublic), folder / "none", {.runs = SelectionRuns::poisson, .mean = 1e-9});
  CHECK(choice.cell.empty());
  CHECK(names_in(folder / "none") == std::set<std::string>{"statement.json"});
}

TEST_CASE("an accounted choice refuses cells of different privacy, scores on protected rows and repeated noise") {
  const TemporaryFolder folder;
  write_data(folder);
  CHECK_USAGE_ERROR(statements(text_of(folder, kPublic, "noise-multiplier = [5, 6]\n")), "needs the same privacy in all cells",
                    "multiplier 6", "multiplier 5");
  CHECK_USAGE_ERROR(statements(text_of(folder, kPublic, "delta = [1e-5, 1e-6]\n")), "delta 1e-05", "delta 1e-06");
  CHECK_USAGE_ERROR(statements(text_of(folder)), "--public-test", "--evaluate private");
  CHECK_USAGE_ERROR(statements(text_of(folder, "validation-fraction = 0.1\n", "[tune]\nkeys = ['learning-rate']\n")),
                    "[tune] on is 'validation'");
  CHECK_USAGE_ERROR(statements(text_of(folder, "randomness = 'seeded'\n" + kPublic)), "randomness", "secret");
  CHECK_USAGE_ERROR(statements("dataset = 'synthetic'\n[sweep]\nlearning-rate = [0.1]\n"), "dp is 'none'");
  // A clip bound costs nothing: noise is in multiples of it.
  CHECK(statements(text_of(folder, kPublic, "clip = [0.1, 1]\n")).size() == 1);
}

// Frequencies of 1, 2, 3 of 40,000 draws within four deviations, and means.
TEST_CASE("the number of runs follows its law") {
  constexpr int kDraws = 40'000;
  const auto frequencies = [](const Selection& selection) {
    std::array<double, 4> count{};
    double sum = 0;
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      RandomStream random(3, {.purpose = Purpose::test, .row = draw});
      const std::uint64_t runs = draw_runs(selection, random);
      sum += static_cast<double>(runs) / kDraws;
      if (runs < count.size()) count[runs] += 1.0 / kDraws;
    }
    CHECK(std::abs(sum - selection.mean) < 0.03 * selection.mean);
    return count;
  };
  const auto near = [](double found, double expected) {
    CHECK(std::abs(found - expected) < 4 * std::sqrt(expected * (1 - expected) / kDraws) + 1e-12);
  };
  const auto geometric = frequencies({.mean = 10});
  for (int k = 1; k < 4; ++k) near(geometric[static_cast<std::size_t>(k)], 0.1 * std::pow(0.9, k - 1));
  CHECK(geometric[0] == 0);
  const double gamma = 0.02691826;  // logarithmic, mean 10
  const auto logarithmic = frequencies({.mean = 10, .shape = 0});
  for (int k = 1; k < 4; ++k) near(logarithmic[static_cast<std::size_t>(k)], std::pow(1 - gamma, k) / k / -std::log(gamma));
  const auto poisson = frequencies({.runs = SelectionRuns::poisson, .mean = 3});
  for (int k = 0; k < 4; ++k) near(poisson[static_cast<std::size_t>(k)], std::exp(-3) * std::pow(3, k) / std::tgamma(k + 1));
  frequencies({.runs = SelectionRuns::poisson, .mean = 250});
}

}  // namespace fedstride::test::accounted_test
