#include <fstream>

#include "core/json.hpp"
#include "tests/cli/refusal.hpp"

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

/// A case file with one case, of which `more` replaces or adds members.
void write_case(const std::string& path, const Json& more) {
  Json one = {{"id", "one"},
                        {"mechanism", "Poisson-subsampled Gaussian, add/remove-one"},
                        {"quantity", "rdp_per_step"},
                        {"parameters", {{"q", 0.01}, {"sigma", 4.0}, {"alpha", 2}}},
                        {"accept_min", 6.449425087749785e-06},
                        {"accept_max", 6.449425100648635e-06}};
  one.update(more);
  std::ofstream(path) << Json{{"cases", {one}}};
}

const Refusal kRefusals[] = {
    {{"privacy"}, 2, "'fedstride privacy' needs a command: epsilon, delta, calibrate, steps, compare, evaluate"},
    {classic("epsilon", {"--steps", "10"}), 2, "--delta is required; see 'fedstride privacy epsilon --help'"},
    {classic("epsilon", {"--delta", "1e-5"}), 2, "steps is missing"},
    {classic("epsilon", {"--steps", "0", "--delta", "1e-5"}), 2, "steps is '0'; it must be a whole number from 1"},
    {classic("epsilon", {"--steps", "9", "--delta", "0"}), 2, "delta is '0'; it must be a number above 0 and below 1"},
    {classic("epsilon", {"--steps", "9", "--delta", "1"}), 2, "delta is '1'; it must be a number above 0 and below 1"},
    {classic("epsilon", {"--steps", "9", "--delta", "nan"}), 2, "delta is 'nan'"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--dleta", "1"}), 2, "did you mean '--delta'?"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "rpd"}), 2, "did you mean 'rdp'?"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "moments", "--orders", "ma32"}),
     2,
     "orders does not go with accountant 'moments'; it has no settings"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "rdp", "--orders", "ma33"}),
     2,
     "orders 'ma33' is unknown; valid: default, ma32, int256, wide"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--sampling", "posson"}), 2, "valid: poisson, full"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--neighbours", "x"}), 2, "valid: add-remove, replace-one"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--sampling", "full"}), 2, "sampling-rate is 0.01"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--epochs", "2"}), 2, "epochs is for sampling shuffle"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--sampling", "without-replacement"}),
     2,
     "sampling without replacement has no bound under add-remove neighbours; valid: neighbours replace-one"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "zcdp"}), 2, "no amplification by sampling"},
    {{"privacy", "epsilon", "--sampling-rate", "0.01", "--noise-multiplier", "0", "--steps", "9", "--delta", "1e-5"},
     2,
     "noise-multiplier is '0'; it must be a number above 0"},
    {{"privacy", "epsilon", "--sampling-rate", "0.01", "--noise-multiplier", "-1", "--steps", "9", "--delta", "1e-5"},
     2,
     "noise-multiplier is '-1'; it must be a number above 0"},
    {{"privacy", "epsilon", "--sampling-rate", "0", "--noise-multiplier", "1", "--steps", "9", "--delta", "1e-5"},
     2,
     "sampling-rate is '0'; it must be a number above 0 and up to 1"},
    {{"privacy", "epsilon", "--sampling-rate", "2", "--noise-multiplier", "1", "--steps", "9", "--delta", "1e-5"},
     2,
     "sampling-rate is '2'; it must be a number above 0 and up to 1"},
    {{"privacy", "epsilon", "--noise-multiplier", "1", "--steps", "9", "--delta", "1e-5"}, 2, "sampling-rate is missing"},
    {{"privacy", "calibrate", "--epsilon", "1e-9", "--delta", "1e-9", "--sampling", "full", "--steps", "1000"},
     2,
     "epsilon is 1e-09; no noise multiplier up to 1e6 reaches it at delta 1e-09: the smallest epsilon within reach"},
    {{"privacy", "calibrate", "--epsilon", "-1", "--delta", "1e-9", "--sampling", "full", "--steps", "9"},
     2,
     "epsilon is '-1'"},
    {classic("compare", {"--steps", "9"}), 2, "compare needs one of --delta"},
    {{"privacy", "evaluate"}, 2, "CASES is required"},
    {{"privacy", "evaluate", "@/absent.json"}, 1, "absent.json"},
};

}  // namespace

TEST_CASE("fedstride privacy prints one line a question") {
  CHECK(line(classic("epsilon", {"--steps", "10000", "--delta", "1e-5"})) ==
        "epsilon 0.9469 at delta 1e-05 (tight; add-remove neighbours, Poisson sampling at rate 0.01, noise multiplier 4, "
        "10000 steps)\n");
  CHECK(line(classic("epsilon", {"--steps", "10000", "--delta", "1e-5", "--accountant", "moments"}))
            .starts_with("epsilon 1.259 at delta 1e-05 (moments; "));
  CHECK(line(classic("delta", {"--steps", "10000", "--epsilon", "1"})).starts_with("delta 4.244e-06 at epsilon 1 (tight"));
  CHECK(line(classic("steps", {"--delta", "1e-5", "--epsilon", "1", "--accountant", "moments"}))
            .starts_with("6360 steps within epsilon 1 at delta 1e-05; they reach 1 (moments"));
  CHECK(line({"privacy", "calibrate", "--epsilon", "3", "--delta", "1e-5", "--sampling-rate", "0.004266666666666667",
              "--steps", "14063", "--accountant", "rdp", "--orders", "int256"})
            .starts_with("noise multiplier 1.015 for epsilon 3 at delta 1e-05; it reaches 2.99"));
}

TEST_CASE("The heuristic of the moments accountant's paper is never printed without what is wrong with it") {
  const Outcome outcome =
      run_program(classic("epsilon", {"--steps", "10000", "--delta", "1e-5", "--accountant", "as-in-paper"}));
  CHECK(outcome.out.starts_with("epsilon 9.34 "));
  CHECK(outcome.err.find("not a valid bound") != std::string::npos);
  CHECK(outcome.err.find("26.78") != std::string::npos);
}

TEST_CASE("Shuffled lots get what holds, the papers' number so labelled, and a lower bound") {
  const Words words{"privacy", "epsilon", "--sampling", "shuffle", "--sampling-rate", "0.001", "--noise-multiplier",
                    "0.7",     "--epochs", "1",         "--delta", "1e-5"};
  const std::string text = line(words);
  CHECK(text.starts_with("epsilon 6.653 at delta 1e-05 (tight; add-remove neighbours, shuffled lots, no amplification"));
  CHECK(text.find("\nas in the papers, assuming Poisson sampling: epsilon 0.609") != std::string::npos);
  CHECK(text.find("does not hold for shuffled lots\n") != std::string::npos);
  CHECK(text.find("lower bound, of the first epoch alone: epsilon 6.528") != std::string::npos);
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
  for (const auto* row : {"\ntight         0.9469\n", "\nrdp           1.036\n", "\nmoments       1.259\n",
                          "\nzcdp          -          it has no amplification by sampling", "\nstrong        12.45\n",
                          "\nbasic         223.5\n", "\nas-in-paper   9.34       a heuristic"}) {
    CAPTURE(row);
    CHECK(text.find(row) != std::string::npos);
  }
}

TEST_CASE("What makes no sense is refused in one line") {
  const TemporaryFolder folder;
  for (const Refusal& row : kRefusals) check_refused(row, folder);
}

TEST_CASE("evaluate answers the cases of a file, and names those out of bounds") {
  const TemporaryFolder folder;
  const Words words{"privacy", "evaluate", folder / "cases.json"};
  write_case(folder / "cases.json", Json::object());
  const auto answers = Json::parse(line(words));
  CHECK(answers.at("one").get<double>() == doctest::Approx(6.44942509419921e-06).epsilon(1e-9));
  write_case(folder / "cases.json", {{"accept_max", 6.4494250879e-06}});
  const Outcome outcome = run_program(words);
  CHECK(outcome.code == 1);
  CHECK(Json::parse(outcome.out).contains("one"));
  CHECK(outcome.err.starts_with("fedstride: 1 of 1 answers out of bounds: one is 6.449425"));
}

TEST_CASE("evaluate refuses what it cannot answer, by name") {
  const TemporaryFolder folder;
  const auto refused = [&](const Json& more, int code, const std::string& says) {
    write_case(folder / "cases.json", more);
    check_refused({{"privacy", "evaluate", folder / "cases.json"}, code, says}, folder);
  };
  refused({{"quantity", "rdp_per_stp"}}, 2, "case 'one': quantity 'rdp_per_stp' is unknown; did you mean 'rdp_per_step'?");
  refused({{"parameters", {{"q", 0.1}, {"sigmma", 1}}}}, 2, "case 'one': parameter 'sigmma' is unknown");
  refused({{"parameters", {{"q", 0.1}, {"sigma", 1}}}}, 2, "case 'one': quantity 'rdp_per_step' needs the number 'alpha'");
  refused({{"parameters", {{"q", 2}, {"sigma", 1}, {"alpha", 2}}}}, 2, "case 'one': q is 2; it must be");
  refused({{"parameters", {{"q", 0.1}, {"sigma", 0}, {"alpha", 2}}}}, 2, "case 'one': sigma is 0; it must be");
  refused({{"parameters", {{"q", 0.1}, {"sigma", nullptr}, {"alpha", 2}}}}, 2, "parameter 'sigma' must be a number");
  refused({{"parameters", 3}}, 2, "'parameters' must be an object");
  refused({{"mechanism", "magic"}}, 2, "mechanism 'magic' is unknown");
  refused({{"mechanism", "sampling without replacement, add/remove"}}, 2, "has no bound under add-remove");
  refused({{"accept_min", "x"}}, 2, "case 'one': 'accept_min' must be a number");
  const auto file = [&](const std::string& text, const std::string& says) {
    std::ofstream(folder / "cases.json") << text;
    check_refused({{"privacy", "evaluate", folder / "cases.json"}, 1, says}, folder);
  };
  file("{\"cases\": [", "is not JSON");
  file("[]", "has no list \"cases\"");
  file("{\"cases\": " + std::string(100000, '[') + std::string(100000, ']') + "}", "nests deeper than 16 levels");
  file("{\"cases\": \"" + std::string(std::size_t{17} << 20, 'x') + "\"}", "cases.json");
}

}  // namespace fedstride::test::privacy_test
