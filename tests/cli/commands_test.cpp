#include <doctest/doctest.h>

#include "core/build_info.hpp"
#include "partitions/partitions.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::commands_test {

namespace fs = std::filesystem;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> hashes(const std::string& folder) {
  std::vector<std::string> result;
  std::ifstream file(folder + "/rounds.jsonl");
  for (std::string line; std::getline(file, line);) result.push_back(Json::parse(line)["model_hash"]);
  return result;
}

Words partition(const TemporaryFolder& folder, const Words& more) {
  return with_flags({"partition", "--data", folder / "data", "--clients", "3"}, more);
}

}  // namespace

TEST_CASE("without a command the program says where to begin") {
  const Outcome outcome = run_program({});
  CHECK(outcome.code == 2);
  CHECK(outcome.out == "");
  for (const char* command : {"fedstride run ", "fedstride run --help", "fedstride data list", "fedstride help"})
    CHECK(has(outcome.err, command));
}

TEST_CASE("every command's help has an example; every setting's help says what is valid and the default") {
  const Words commands[] = {
      {}, {"run"}, {"evaluate"}, {"partition"}, {"data"}, {"data", "list"}, {"data", "verify"}, {"data", "get"}, {"bench"}};
  for (Words words : commands) {
    const std::string name = words.empty() ? "" : words.back();
    CAPTURE(name);
    words.push_back("--help");
    const Outcome help = run_program(words);
    CHECK(help.code == 0);
    CHECK(help.err == "");
    CHECK(has(help.out, "Example: fedstride " + (words.size() > 1 && words[0] != "data" ? name : "")));
    CHECK(has(help.out, "Usage: fedstride"));
  }
  const std::string help = run_program({"run", "--help-all"}).out;
  for (const char* flag : {"--config", "--dataset",   "--data-dir",       "--partition",    "--random-fraction",
                           "--alpha",  "--clients",   "--rounds",         "--local-epochs", "--batch",
                           "--model",  "--optimizer", "--learning-rate",  "--tolerance",    "--limit-per-client",
                           "--seed",   "--threads",   "--evaluate-every", "--out",          "--resume",
                           "--quiet"})
    CHECK_MESSAGE(help.find(std::string("  ") + flag) != help.npos, flag);
  CHECK(has(help, "a whole number from 1 to 1000000 [10]"));
  // Each choice has a line of its own.
  for (const auto& part : Partitioner::registry().parts()) {
    const auto line = help.find("\n      " + std::string(part->name()) + " ");
    REQUIRE_MESSAGE(line != help.npos, part->name());
    CHECK(has(help.substr(line), std::string(part->summary().substr(0, part->summary().find(' ')))));
  }
  CHECK(has(help, "mean gradients"));
}

TEST_CASE("--version names version, compiler, instruction set and commit") {
  const Outcome outcome = run_program({"--version"});
  CHECK(outcome.code == 0);
  CHECK(has(outcome.out, fedstride::build_info().version));
  CHECK(has(outcome.out, fedstride::build_info().compiler));
  CHECK(has(outcome.out, fedstride::build_info().instruction_set));
  CHECK(has(outcome.out, "commit " + fedstride::build_info().commit));
}

TEST_CASE("partition shows rows per class per client, and writes the manifest to a file or to standard output") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  const Outcome shown = run_program(partition(folder, {"--manifest", folder / "rows.json"}));
  CHECK(shown.code == 0);
  CHECK(has(shown.out, "client"));
  CHECK(has(shown.out, "60"));
  CHECK(has(shown.out, "partition hash: "));
  const Json written = Json::parse(fedstride::read_file(folder / "rows.json"));
  CHECK(written["clients"].size() == 3);
  CHECK(has(shown.out, written["hash"]));
  const Outcome printed = run_program(partition(folder, {"--json"}));
  CHECK(Json::parse(printed.out) == written);
  const Outcome again = run_program(partition(folder, {"--partition", "file", "--partition-file", folder / "rows.json"}));
  CHECK(has(again.out, written["hash"]));
  CHECK(again.code == 0);
}

TEST_CASE("evaluate finds the run's own accuracy, from its folder or its file, as text or JSON") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(federation(folder, {"--quiet"})).code == 0);
  const Json summary = Json::parse(fedstride::read_file(folder / "out/summary.json"));
  const Outcome printed = run_program({"evaluate", folder / "out/model.safetensors", "--data", folder / "data", "--json"});
  CHECK(printed.code == 0);
  const Json result = Json::parse(printed.out);
  CHECK(result["accuracy"] == summary["test_accuracy"]);
  CHECK(result["loss"] == summary["test_loss"]);
  CHECK(result["examples"] == 60);
  const Outcome shown = run_program({"evaluate", folder / "out", "--part", "train"});  // the run knows where its data are
  CHECK(shown.code == 0);
  for (const char* part : {"file", "train", "180"}) CHECK(has(shown.out, part));
  CHECK(has(shown.out, "accuracy 0."));
}

TEST_CASE("data list shows every data set; data verify says whether one is official") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  const Outcome list = run_program({"data", "list"});
  CHECK(list.code == 0);
  for (const char* name : {"synthetic", "cifar10", "cifar100", "mnist", "fashion-mnist", "covertype", "file"})
    CHECK(has(list.out, name));
  const Outcome verify = run_program({"data", "verify", "file", "--data", folder / "data"});
  CHECK(verify.code == 0);
  CHECK(has(verify.out, "not official"));
  CHECK(has(verify.out, "180"));
}

TEST_CASE("data get leaves files alone that are not as published, and says how to replace them; data verify names them") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "mnist");
  fedstride::write_file(folder / "mnist/t10k-labels-idx1-ubyte", "not as published");
  const Outcome refused = run_program({"data", "get", "mnist", "--data-dir", folder.path().string()});
  CHECK(refused.code == 1);
  CHECK(names(refused.err,
              {folder / "mnist/t10k-labels-idx1-ubyte", "not as published", "fedstride data get mnist --replace", "--data-dir"}));
  CHECK(fedstride::read_file(folder / "mnist/t10k-labels-idx1-ubyte") == "not as published");
  // With the flag it would download: here from nowhere.
  const Outcome tried = run_program(
      {"data", "get", "mnist", "--replace", "--url", "file://" + (folder / "nowhere"), "--data-dir", folder.path().string()});
  CHECK(tried.code == 1);
  CHECK(names(tried.err, {"cannot get", "nowhere"}));
  CHECK(fedstride::read_file(folder / "mnist/t10k-labels-idx1-ubyte") == "not as published");
}

TEST_CASE("--quiet prints nothing, and quiet may be turned off again") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  const Outcome quiet = run_program(federation(folder, {"--quiet"}));
  CHECK(quiet.code == 0);
  CHECK(quiet.out == "");
  CHECK(quiet.err == "");
  std::ofstream(folder / "quiet.toml") << "quiet = true\n";
  CHECK(run_program(federation(folder, {"--config", folder / "quiet.toml", "--out", folder / "a"})).out == "");
  CHECK(run_program(federation(folder, {"--config", folder / "quiet.toml", "--quiet=false", "--out", folder / "b"})).out != "");
}

TEST_CASE("a run's config.toml repeats it, and a flag wins over the file") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(federation(folder, {"--optimizer", "adam", "--seed", "7", "--partition", "dirichlet"})).code == 0);
  const std::string file = folder / "out/config.toml";
  CHECK(run_program({"run", "--config", file, "--out", folder / "again"}).code == 0);
  CHECK(hashes(folder / "again") == hashes(folder / "out"));
  CHECK(fedstride::read_file(folder / "again/config.toml") == fedstride::read_file(file));
  CHECK(run_program({"run", "--config", file, "--seed", "8", "--optimizer", "sgd", "--out", folder / "other"}).code == 0);
  CHECK(hashes(folder / "other") != hashes(folder / "out"));
  const std::string other = fedstride::read_file(folder / "other/config.toml");
  CHECK(has(other, "seed = 8"));
  CHECK(has(other, "optimizer = 'sgd'"));
  CHECK(!has(other, "beta1"));
}

TEST_CASE("a run without --out takes a new folder under runs/ and says which") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  const std::string before = fs::current_path();
  fs::current_path(folder.path());
  Words words = federation(folder, {"--out", "x"});
  words.resize(words.size() - 2);
  const Outcome first = run_program(words);
  const Outcome second = run_program(words);
  fs::current_path(before);
  CHECK(has(first.out, "runs/file-adadp-1\n"));
  CHECK(has(second.out, "runs/file-adadp-2\n"));
  CHECK(fs::exists(folder / "runs/file-adadp-2/summary.json"));
}

TEST_CASE("a client that diverges is named, counted, and does not hide the loss of the others") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  // One more class, of huge numbers: with this rate a client overflows, and those with one class of small ones do not.
  {
    std::ofstream train(folder / "data/train.csv", std::ios::app);
    for (int row = 0; row < 60; ++row) train << "1e18,-1e18,1e18,3\n";
  }
  const Outcome outcome =
      run_program(federation(folder, {"--clients", "4", "--classes-per-client", "0", "--rounds", "1", "--optimizer", "sgd",
                                      "--learning-rate", "1000000", "--model", "dense 4 | dense 4 | dense classes"}));
  CHECK(outcome.code == 0);
  CHECK(has(outcome.out, "diverged"));
  CHECK(has(outcome.out, "left out"));
  CHECK(!has(outcome.out, "nan"));
}

TEST_CASE("a resumed run says where it goes on") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(federation(folder, {"--quiet"})).code == 0);
  const Outcome outcome = run_program({"run", "--resume", folder / "out", "--rounds", "3", "--threads", "2"});
  CHECK(outcome.code == 0);
  CHECK(has(outcome.out, "after round 2\nround 3/3  test accuracy "));
}

TEST_CASE("into a pipe or a file go plain lines, one a round, without codes for a terminal") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  const Outcome outcome = run_program(federation(folder, {"--rounds", "3"}));
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find('\x1b') == std::string::npos);
  CHECK(outcome.out.find('\r') == std::string::npos);
  for (const char* line : {"\nround 1/3  ", "\nround 2/3  ", "\nround 3/3  ", "\nfinished after round 3"})
    CHECK_MESSAGE(has(outcome.out, line), line);
  CHECK(has(outcome.out, folder / "out"));
}

}  // namespace fedstride::test::commands_test
