// Rounds in which all clients fail, in the program: a run, a network and a sweep.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "core/text.hpp"
#include "tests/cli/refusal.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::failures_test {
namespace {

// The weights overflow in the first round.
Words diverging(const TemporaryFolder& folder, Words more) {
  write_table(folder / "data");
  for (const char* word : {"--optimizer", "heavy-ball", "--momentum", "0.99", "--learning-rate", "1000000", "--batch", "1",
                           "--local-epochs", "20", "--model", "dense 8 | dense 8 | dense classes"})
    more.emplace_back(word);
  return federation(folder, more);
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a run whose clients all fail ends with one line and code 1, and goes on if that is accepted") {
  const TemporaryFolder folder;
  const Outcome ended = run_program(diverging(folder, {}));
  CHECK(ended.code == 1);
  CHECK_MESSAGE(names(ended.err, {"3 of 3", "round 1", "client 0", "diverged", folder / "out", "accept-failures 'all'"}),
                ended.err);
  const Outcome resumed = run_program({"run", "--resume", folder / "out", "--accept-failures", "all"});
  CHECK(resumed.code == 0);
  CHECK(count_of(resumed.out, "left out: its training diverged") == 1);  // once for all clients and rounds
  CHECK(count_of(resumed.out, "3 clients left out") == 2);
  CHECK(count_of(resumed.out, "note: in 2 of 2 rounds clients were left out, 6 updates in all: ") == 1);
}

TEST_CASE("so does a federation of processes, of which none is left") {
  const TemporaryFolder folder;
  Words words = diverging(folder, {});
  words.front() = "launch";
  const Outcome ended = run_program(words);
  CHECK(ended.code == 1);
  const auto lines = split(trimmed(ended.err), '\n');
  CHECK_MESSAGE(names(lines.back(), {"3 of 3", "round 1", "client 0", "accept-failures 'all'"}), ended.err);
  words.insert(words.end(), {"--accept-failures", "all"});
  CHECK(run_program(words).code == 0);
}

TEST_CASE("launch has the model of run, with noise too, as both draw it from the seed") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  Words words =
      federation(folder, {"--dp", "client", "--clip", "0.5", "--noise-multiplier", "1", "--classes", "3", "--header", "no",
                          "--mean", "0.67", "--deviation", "1.2", "--public-test", "--quiet", "--out", folder / "run"});
  std::vector<Json> hashes;
  for (const char* command : {"run", "launch"}) {
    words.front() = command;
    words.back() = folder / command;
    const Outcome ended = run_program(words);
    REQUIRE_MESSAGE(ended.code == 0, ended.err);
    hashes.push_back(Json::parse(fedstride::read_file(folder / command + "/summary.json"))["model_hash"]);
  }
  CHECK(hashes[0] == hashes[1]);
}

TEST_CASE("where noise drove all clients to diverge, the model with the lowest test loss is kept") {
  const TemporaryFolder folder;
  const Outcome ended = run_program({"run",
                                     "--dataset",
                                     "synthetic",
                                     "--clients",
                                     "20",
                                     "--classes-per-client",
                                     "0",
                                     "--dp",
                                     "client",
                                     "--optimizer",
                                     "sgd",
                                     "--learning-rate",
                                     "1",
                                     "--epsilon",
                                     "2",
                                     "--delta",
                                     "1e-3",
                                     "--rounds",
                                     "60",
                                     "--clip",
                                     "10",
                                     "--server-optimizer",
                                     "restore",
                                     "--model",
                                     "dense 64 | dense 64 | dense classes",
                                     "--seed",
                                     "1",
                                     "--quiet",
                                     "--out",
                                     folder / "out"});
  CHECK(ended.code == 1);
  CHECK_MESSAGE(
      names(ended.err, {"20 of 20", "diverged", "lowest test loss, from round", folder / "out/lowest-loss.safetensors"}),
      ended.err);
  double lowest = 1e300;
  std::istringstream lines(fedstride::read_file(folder / "out/rounds.jsonl"));
  for (std::string line; std::getline(lines, line);) lowest = std::min(lowest, Json::parse(line)["test_loss"].get<double>());
  const Outcome told = run_program({"evaluate", folder / "out/lowest-loss.safetensors", "--json"});
  CHECK(Json::parse(told.out)["loss"].get<double>() == doctest::Approx(lowest));
}

TEST_CASE("a cell of a sweep that diverges is a result, unless the sweep says otherwise") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  write_file(folder / "experiment.toml",
             "data = '" + (folder / "data") +
                 "'\nmodel = 'dense 8 | dense 8 | dense classes'\nrounds = 2\nbatch = 1\nlocal-epochs = 20\nclients = 3\n"
                 "optimizer = 'heavy-ball'\nmomentum = 0.99\n"
                 "[experiment]\ntitle = 'Rates'\n[sweep]\nlearning-rate = [0.001, 1000000.0]\n");
  const Outcome swept = run_program({"sweep", folder / "experiment.toml", "--out", folder / "swept", "--json"});
  CHECK(swept.code == 0);
  CHECK(parse_json(swept.out)["finished"] == 2);
  const Outcome strict =
      run_program({"sweep", folder / "experiment.toml", "--out", folder / "strict", "--json", "--accept-failures", "some"});
  CHECK(strict.code == 1);
  const Json summary = parse_json(strict.out);
  CHECK(summary["finished"] == 1);
  REQUIRE(summary["failed"].size() == 1);
  CHECK(names(summary["failed"][0]["error"].get<std::string>(), {"3 of 3", "round 1"}));
}

}  // namespace fedstride::test::failures_test
