
#include "core/text.hpp"
#include "tests/cli/refusal.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::privacy_test {
namespace {

Words classic(const std::string& question, Words more) {
  Words words{"privacy", question, "--sampling-rate", "0.01", "--noise-multiplier", "4"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string line(const Words& words) {
  const Outcome outcome = run_program(words);
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  return outcome.out;
}

const Refusal kRefusals[] = {
    {{"privacy"}, 2, {"fedstride privacy", "epsilon", "delta", "calibrate", "steps", "compare", "schedule"}},
    {classic("epsilon", {"--steps", "10"}), 2, {"--delta", "fedstride privacy epsilon --help"}},
    {classic("epsilon", {"--delta", "1e-5"}), 2, {"steps"}},
    {classic("epsilon", {"--steps", "0", "--delta", "1e-5"}), 2, {"steps", "0", "1"}},
    {classic("epsilon", {"--steps", "9", "--delta", "0"}), 2, {"delta", "0", "1"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1"}), 2, {"delta", "1", "0"}},
    {classic("epsilon", {"--steps", "9", "--delta", "nan"}), 2, {"delta", "nan"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--dleta", "1"}), 2, {"--delta"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "rpd"}), 2, {"rdp"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "moments", "--orders", "ma32"}),
     2,
     {"orders", "accountant", "moments"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "rdp", "--orders", "ma33"}),
     2,
     {"orders", "ma33", "default", "ma32", "int256", "wide"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "rdp", "--conversion", "improvd"}),
     2,
     {"conversion", "improvd", "improved", "classical"}},
    {{"privacy", "epsilon", "--sampling", "full", "--noise-multiplier", "4", "--steps", "9", "--delta", "1e-5", "--accountant",
      "zcdp", "--conversion", "classic"},
     2,
     {"conversion", "classic", "improved", "classical"}},
    {classic("compare", {"--steps", "9", "--delta", "1e-5", "--conversion", "classic"}),
     2,
     {"conversion", "classic", "improved", "classical"}},
    {classic("compare", {"--steps", "9", "--epsilon", "1", "--delta", "0.1"}), 2, {"epsilon", "delta"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--sampling", "posson"}),
     2,
     {"sampling", "posson", "poisson", "full"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--neighbours", "x"}), 2, {"x", "add-remove", "replace-one"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--sampling", "full"}), 2, {"sampling-rate", "0.01"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--epochs", "2"}), 2, {"epochs", "shuffle"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--sampling", "without-replacement"}),
     2,
     {"without-replacement", "add-remove", "replace-one"}},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "zcdp"}), 2, {"zcdp"}},
    {{"privacy", "epsilon", "--sampling-rate", "0.01", "--noise-multiplier", "0", "--steps", "9", "--delta", "1e-5"},
     2,
     {"noise-multiplier", "0"}},
    {{"privacy", "epsilon", "--sampling-rate", "0.01", "--noise-multiplier", "-1", "--steps", "9", "--delta", "1e-5"},
     2,
     {"noise-multiplier", "-1", "0"}},
    {{"privacy", "epsilon", "--sampling-rate", "0", "--noise-multiplier", "1", "--steps", "9", "--delta", "1e-5"},
     2,
     {"sampling-rate", "0", "1"}},
    {{"privacy", "epsilon", "--sampling-rate", "2", "--noise-multiplier", "1", "--steps", "9", "--delta", "1e-5"},
     2,
     {"sampling-rate", "2", "0", "1"}},
    {{"privacy", "epsilon", "--noise-multiplier", "1", "--steps", "9", "--delta", "1e-5"}, 2, {"sampling-rate"}},
    {{"privacy", "calibrate", "--epsilon", "1e-9", "--delta", "1e-9", "--sampling", "full", "--steps", "1000"},
     2,
     {"epsilon", "1e-09", "1e6"}},
    {{"privacy", "calibrate", "--epsilon", "-1", "--delta", "1e-9", "--sampling", "full", "--steps", "9"}, 2, {"epsilon", "-1"}},
    {classic("compare", {"--steps", "9"}), 2, {"--delta"}},
};

}  // namespace

TEST_CASE("fedstride privacy prints one line a question") {
  CHECK(names(line(classic("epsilon", {"--steps", "10000", "--delta", "1e-5"})),
              {"epsilon 0.9469", "delta 1e-05", "tight", "add-remove", "Poisson", "0.01", "4", "10000"}));
  CHECK(names(line(classic("epsilon", {"--steps", "10000", "--delta", "1e-5", "--accountant", "moments"})),
              {"epsilon 1.259", "delta 1e-05", "moments"}));
  CHECK(names(line(classic("delta", {"--steps", "10000", "--epsilon", "1"})), {"delta 4.244e-06", "epsilon 1", "tight"}));
  CHECK(names(line(classic("steps", {"--delta", "1e-5", "--epsilon", "1", "--accountant", "moments"})),
              {"6360 steps", "epsilon 1", "delta 1e-05", "moments"}));
  const Words endless{"privacy", "steps", "--noise-multiplier", "1e3", "--sampling-rate", "1e-8",
                      "--delta", "1e-5",  "--epsilon",          "10"};
  CHECK(names(line(endless), {"at least 1099511627776 steps", "epsilon 10"}));
  Words as_json = endless;
  as_json.push_back("--json");
  CHECK(names(Json::parse(line(as_json)).at("warning").get<std::string>(), {"at least", "1099511627776"}));
  const std::string calibrated = line({"privacy", "calibrate", "--epsilon", "3", "--delta", "1e-5", "--sampling-rate",
                                       "0.004266666666666667", "--steps", "14063", "--accountant", "rdp", "--orders", "int256"});
  CHECK(names(calibrated, {"noise multiplier 1.015", "epsilon 3", "delta 1e-05"}));
  CHECK(calibrated.find(" 2.99") != std::string::npos);
}

TEST_CASE("The heuristic of the moments accountant's paper is never printed without what is wrong with it") {
  const Outcome outcome = run_program(classic("epsilon", {"--steps", "10000", "--delta", "1e-5", "--accountant", "as-in-paper"}));
  CHECK(names(outcome.out, {"epsilon 9.34"}));
  CHECK(outcome.err.starts_with("fedstride: note: "));
  CHECK(names(outcome.err, {"26.78"}));
}

TEST_CASE("Shuffled lots get what holds, the papers' number so labelled, and a lower bound") {
  const Words words{"privacy",  "epsilon", "--sampling", "shuffle", "--sampling-rate", "0.001", "--noise-multiplier", "0.7",
                    "--epochs", "1",       "--delta",    "1e-5"};
  const std::string text = line(words);
  const auto lines = split(text, '\n');
  REQUIRE(lines.size() == 4);
  CHECK(names(lines[0], {"epsilon 6.653", "delta 1e-05", "tight", "add-remove", "shuffled"}));
  CHECK(names(lines[1], {"Poisson", "shuffled"}));
  CHECK(lines[1].find("epsilon 0.609") != std::string::npos);
  CHECK(names(lines[2], {"lower bound", "epsilon 6.528"}));
}

TEST_CASE("--json holds the numbers in full") {
  const auto json = Json::parse(line(classic("epsilon", {"--steps", "10000", "--delta", "1e-5", "--json"})));
  CHECK(json.at("epsilon").get<double>() == doctest::Approx(0.9468668).epsilon(2e-4));
  CHECK(json.at("accountant") == "tight");
  CHECK(json.at("sampling") == "poisson");
  CHECK(json.at("steps") == 10000);
}

TEST_CASE("compare has a row for each accountant, with what it says or why it says nothing") {
  const std::string text = line(classic("compare", {"--steps", "10000", "--delta", "1e-5"}));
  for (const auto* row :
       {"\ntight         0.9469\n", "\nrdp           1.036\n", "\nmoments       1.259\n", "\nzcdp          -          ",
        "\nstrong        12.45\n", "\nbasic         223.5\n", "\nas-in-paper   9.34       "}) {
    CAPTURE(row);
    CHECK(text.find(row) != std::string::npos);
  }
}

TEST_CASE("What makes no sense is refused in one line") {
  const TemporaryFolder folder;
  for (const Refusal& row : kRefusals) check_refused(row, folder);
}

}  // namespace fedstride::test::privacy_test
