// certify, verify and replay as commands.
#include <doctest/doctest.h>

#include "core/files.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::re_execution_test {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void check_refusal(const Words& words, const Words& parts) {
  const Outcome outcome = run_program(words);
  CAPTURE(outcome.err);
  CHECK(outcome.code == 2);
  CHECK(line_count(outcome.err) == 1);
  for (const std::string& part : parts) CHECK(has(outcome.err, part));
}

}  // namespace

TEST_CASE("a run is certified, verified by a stranger with the data, and found out when it lies") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(federation(folder, {"--rounds", "4", "--keep-checkpoints", "2"})).code == 0);
  const Outcome made = run_program({"certify", folder / "out", "--claim", "test loss below 100", "--claim",
                                    "test accuracy above 0.1 after round 2", "--key", folder / "key"});
  REQUIRE(made.code == 0);
  const std::string file = folder / "out/run.cert";
  CHECK(has(made.out, file));
  const Outcome whole = run_program({"verify", file, "--data", folder / "data"});
  CHECK(whole.code == 0);
  CHECK(line_count(whole.out) == 1);
  CHECK(has(whole.out, "all 4 rounds, bit for bit"));
  const Outcome drawn = run_program({"verify", file, "--data", folder / "data", "--rounds", "1", "--seed", "7"});
  CHECK(has(drawn.out, "a single forged round escapes with probability 0.75"));
  const Outcome without = run_program({"verify", file});
  CHECK(without.code == 0);
  CHECK(has(without.out, "Not checked"));
  CHECK(has(without.out, "the rounds: the data are not here"));
  // Other rows, and another number.
  write_table(folder / "other", 181);
  const Outcome other = run_program({"verify", file, "--data", folder / "other"});
  CHECK(other.code == 1);
  CHECK(has(other.out, "NOT HELD: these are other data"));
  std::string text = read_file(file);
  const std::size_t number = text.find("\"test_loss\":[") + 13;
  text.replace(number, text.find(',', number) - number, "7.5");
  write_file(folder / "forged.cert", text);
  const Outcome forged = run_program({"verify", folder / "forged.cert", "--data", folder / "data", "--json"});
  CHECK(forged.code == 1);
  const Json found = Json::parse(forged.out);
  CHECK(found["broken"].size() == 2);  // the signature, and round 1
  CHECK(has(found["broken"][1], "round 1: test_loss"));
  check_refusal({"certify", folder / "out", "--claim", "test accuracy above 2"}, {"test accuracy above 2", "does not hold"});
  check_refusal({"verify", file, "--only", "x"}, {"--only", "certificate"});
  check_refusal({"verify", folder / "data/train.csv", "--rounds", "3"}, {"--rounds", "no certificate"});
}

TEST_CASE("a replay without a client, and a list of what each client of a round moved") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(federation(folder, {"--rounds", "4", "--keep-checkpoints", "2"})).code == 0);
  const Outcome same = run_program({"replay", folder / "out", "--out", folder / "same"});
  REQUIRE(same.code == 0);
  CHECK(has(same.out, "the same models as '" + (folder / "out") + "' in all 4 rounds"));
  const Outcome left = run_program({"replay", folder / "out", "--from", "3", "--without", "1", "--out", folder / "left"});
  REQUIRE(left.code == 0);
  CHECK(has(left.out, "from round 3 on"));
  REQUIRE(run_program(federation(folder, {"--rounds", "4", "--leave-out", "1@3", "--out", folder / "plain"})).code == 0);
  CHECK(Json::parse(read_file(folder / "left/summary.json"))["model_hash"] ==
        Json::parse(read_file(folder / "plain/summary.json"))["model_hash"]);
  const Outcome listed = run_program({"replay", folder / "out", "--each-client-of-round", "3", "--json"});
  REQUIRE(listed.code == 0);
  const Json round = Json::parse(listed.out);
  CHECK(round["round"] == 3);
  REQUIRE(round["clients"].size() == 3);
  for (const Json& client : round["clients"]) CHECK(client["distance"].get<double>() > 0);
  CHECK(line_count(run_program({"replay", folder / "out", "--each-client-of-round", "3"}).out) == 5);
  check_refusal({"replay", folder / "out", "--set", "learning-rate"}, {"--set", "'learning-rate'", "KEY=VALUE"});
  check_refusal({"replay", folder / "out", "--set", "lerning-rate=1"}, {"lerning-rate", "learning-rate"});
  check_refusal({"replay", folder / "out", "--without", "1@2"}, {"--without", "1@2", "--from"});
  check_refusal({"replay", folder / "out", "--each-client-of-round", "3", "--out", folder / "x"},
                {"--each-client-of-round", "--out"});
}

}  // namespace fedstride::test::re_execution_test
