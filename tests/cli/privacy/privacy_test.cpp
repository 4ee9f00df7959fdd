
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
    {{"privacy"}, 2, "'fedstride privacy' needs a command: epsilon, delta, calibrate, steps, compare, evaluate"},
    {classic("epsilon", {"--steps", "10"}), 2, "--delta is required; see 'fedstride privacy epsilon --help'"},
    {classic("epsilon", {"--delta", "1e-5"}), 2, "steps is missing"},
    {classic("epsilon", {"--steps", "0", "--delta", "1e-5"}), 2, "steps is '0'; it must be a whole number from 1"},
    {classic("epsilon", {"--steps", "9", "--delta", "0"}), 2, "delta is '0'; it must be a number above 0 and below 1"},
    {classic("epsilon", {"--steps", "9", "--delta", "1"}), 2, "delta is '1'; it must be a number above 0 and below 1"},
    {classic("epsilon", {"--steps", "9", "--delta", "nan"}), 2, "delta is 'nan'"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--dleta", "1"}), 2, "did you mean '--delta'?"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "rpd"}), 2, "did you mean 'rdp'?"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "moments", "--orders", "ma32"}), 2,
     "orders does not go with accountant 'moments'; it has no settings"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "rdp", "--orders", "ma33"}), 2,
     "orders 'ma33' is unknown; valid: default, ma32, int256, wide"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--accountant", "rdp", "--conversion", "improvd"}), 2,
     "conversion 'improvd' is unknown; valid: improved, classical"},
    {{"privacy", "epsilon", "--sampling", "full", "--noise-multiplier", "4", "--steps", "9", "--delta", "1e-5", "--accountant",
      "zcdp", "--conversion", "classic"},
     2,
     "conversion 'classic' is unknown; valid: improved, classical"},
    {classic("compare", {"--steps", "9", "--delta", "1e-5", "--conversion", "classic"}), 2, "valid: improved, classical"},
    {{"privacy", "epsilon", "--composition", "@/absent.json", "--steps", "9"}, 2, "steps does not go with --composition"},
    {{"privacy", "epsilon", "--composition", ""}, 2, "composition is ''"},
    {{"privacy", "delta", "--composition", "@/absent.json"}, 1, "absent.json"},
    {{"privacy", "compare", "--composition", "@/absent.json", "--epsilon", "1", "--delta", "0.1"}, 2, "takes one of"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--sampling", "posson"}), 2, "valid: poisson, full"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--neighbours", "x"}), 2, "valid: add-remove, replace-one"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--sampling", "full"}), 2, "sampling-rate is 0.01"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--epochs", "2"}), 2, "epochs is for sampling shuffle"},
    {classic("epsilon", {"--steps", "9", "--delta", "1e-5", "--sampling", "without-replacement"}), 2,
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
    {{"privacy", "calibrate", "--epsilon", "-1", "--delta", "1e-9", "--sampling", "full", "--steps", "9"}, 2, "epsilon is '-1'"},
    {classic("compare", {"--steps", "9"}), 2, "compare needs one of --delta"},
    {{"privacy", "evaluate"}, 2, "FILE is required"},
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
  CHECK(line({"privacy", "calibrate", "--epsilon", "3", "--delta", "1e-5", "--sampling-rate", "0.004266666666666667", "--steps",
              "14063", "--accountant", "rdp", "--orders", "int256"})
            .starts_with("noise multiplier 1.015 for epsilon 3 at delta 1e-05; it reaches 2.99"));
}

TEST_CASE("The heuristic of the moments accountant's paper is never printed without what is wrong with it") {
  const Outcome outcome = run_program(classic("epsilon", {"--steps", "10000", "--delta", "1e-5", "--accountant", "as-in-paper"}));
  CHECK(outcome.out.starts_with("epsilon 9.34 "));
  CHECK(outcome.err.find("not a valid bound") != std::string::npos);
  CHECK(outcome.err.find("26.78") != std::string::npos);
}

TEST_CASE("Shuffled lots get what holds, the papers' number so labelled, and a lower bound") {
  const Words words{"privacy",  "epsilon", "--sampling", "shuffle", "--sampling-rate", "0.001", "--noise-multiplier", "0.7",
                    "--epochs", "1",       "--delta",    "1e-5"};
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

}  // namespace fedstride::test::privacy_test
