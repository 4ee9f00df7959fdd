// Clients that the data name, and data that people bring, in whole runs.
#include <doctest/doctest.h>

#include <filesystem>

#include "core/error.hpp"
#include "core/files.hpp"
#include "run/evaluate.hpp"
#include "run/evaluate_clients.hpp"
#include "tests/run/csv_runs.hpp"

namespace fedstride::test::natural_clients_test {
namespace {

/// Clients n0 to n5 with 20 + 4 i rows each; three classes that one column each tells.
void write_clients(const TemporaryFolder& folder, bool with_test) {
  std::ofstream train(folder / "train.csv");
  std::ofstream test;
  if (with_test) test.open(folder / "test.csv");
  train << "who,a,b,c,kind\n";
  if (with_test) test << "who,a,b,c,kind\n";
  int row = 0;
  for (int client = 0; client < 6; ++client)
    for (int i = 0; i < 20 + 4 * client; ++i, ++row) {
      RandomStream random(9, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(row)});
      const int label = row % 3;
      auto& file = with_test && i % 4 == 3 && client > 0 ? test : train;
      file << 'n' << client;
      for (int column = 0; column < 3; ++column) file << ',' << random.normal() * 0.5 + (column == label ? 2 : 0);
      file << ',' << (label == 0 ? "red" : label == 1 ? "green" : "blue") << '\n';
    }
}

Settings settings_of(const TemporaryFolder& folder, const std::string& out, const std::string& more = "") {
  Settings settings =
      parse_settings("data = '" + folder.path().string() + "'\nlabel = 'kind'\nclient-column = 'who'\npartition = 'natural'\n" +
                         "model = 'dense 8 | relu | dense classes'\noptimizer = 'sgd'\nlearning-rate = 0.1\nrounds = 3\n"
                         "threads = 2\nout = '" +
                         (folder / out) + "'\n" + more,
                     "test");
  return settings;
}

Setup prepared(const TemporaryFolder& folder, const std::string& more = "") {
  return prepare(resolve(settings_of(folder, "x", more)));
}

}  // namespace

TEST_CASE("without clients all that the data name take part, each tested on its own rows of the test part") {
  const TemporaryFolder folder;
  write_clients(folder, true);
  const Setup setup = prepared(folder);
  CHECK(setup.configuration.dataset == "file");
  CHECK(setup.configuration.clients == 6);
  CHECK(setup.row_counts == std::vector<std::uint64_t>{20, 18, 21, 24, 27, 30});
  REQUIRE(setup.client_test.size() == 6);
  CHECK(setup.client_test_is_of_test_part);
  CHECK(setup.client_test[0].empty());
  for (std::size_t client = 0; client < 6; ++client) {
    CHECK(setup.client_test[client].size() == (client == 0 ? 0 : 5 + client));
    for (const Row row : setup.client_test[client])
      CHECK(setup.data.test.client_names[setup.data.test.clients[row]] == "n" + std::to_string(client));
  }
}

TEST_CASE("with clients it is the first so many, and the others' rows are not used") {
  const TemporaryFolder folder;
  write_clients(folder, true);
  const Setup setup = prepared(folder, "clients = 2\n");
  CHECK(setup.row_counts == std::vector<std::uint64_t>{20, 18});
  bool told = false;
  for (const std::string& note : setup.notes)
    told = told || note.find("the first 2 of 6 clients that the data name take part; 102 rows") != note.npos;
  CHECK(told);
  CHECK_THROWS_WITH_AS(prepared(folder, "clients = 7\n"), doctest::Contains("clients is 7; the data name 6 clients"), Error);
}

TEST_CASE("natural clients in groups: whole clients together, and their test rows with them") {
  const TemporaryFolder folder;
  write_clients(folder, true);
  Settings settings = settings_of(folder, "x", "natural-per-client = 4\n");
  settings["partition"] = {std::string("natural-grouped"), false};
  const Setup setup = prepare(resolve(settings));
  CHECK(setup.row_counts.size() == 2);
  CHECK(setup.row_counts[0] + setup.row_counts[1] == 140);
  CHECK(setup.client_test.row_count() == setup.data.test.size());
}

TEST_CASE("a run by natural clients says how each fares, goes on, and is the same run wherever its file lies") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  write_clients(folder, true);
  write_clients(other, true);
  start(settings_of(folder, "a"));
  start(settings_of(other, "a"));
  CHECK(hashes(folder / "a") == hashes(other / "a"));
  const auto rounds = lines(folder / "a/rounds.jsonl");
  CHECK(rounds.back().contains("own_accuracy"));
  const ClientsEvaluation each = evaluate_clients(folder / "a", "", 1, 2);
  CHECK(each.global[0].examples == 0);
  CHECK(each.global[5].examples == 10);
  CHECK(each.fine_tuned[5].examples == 10);
  const Settings more = parse_settings("rounds = 5\ndata = '" + other.path().string() + "'\n", "test");
  CHECK(resume(folder / "a", more).rounds == 5);
  CHECK(evaluate_file(folder / "a", "", {}, false, 1).evaluation.examples == 40);
  write_clients(other, false);
  const Settings moved = parse_settings("rounds = 6\ndata = '" + other.path().string() + "'\n", "test");
  CHECK_THROWS_WITH_AS(resume(folder / "a", moved), doctest::Contains("was started with other settings, other data"), Error);
}

TEST_CASE("personal models are tested on the clients' own rows of the test part") {
  const TemporaryFolder folder;
  write_clients(folder, true);
  start(settings_of(folder, "a", "personal = 'ditto'\n"));
  const auto rounds = lines(folder / "a/rounds.jsonl");
  CHECK(rounds.back()["clients"][5].contains("personal_accuracy"));
  const ClientsEvaluation each = evaluate_clients(folder / "a", "", 0, 2);
  CHECK(each.personal[5].examples == 10);
}

TEST_CASE("a manifest's rows are the file's rows though some are held out") {
  const TemporaryFolder folder;
  write_clients(folder, false);
  const Setup natural = prepared(folder);
  CHECK(natural.data.test.size() > 10);  // about a sixth of 180
  CHECK(natural.data.test.size() < 50);
  write_partition(natural, folder / "p.json");
  Settings settings = settings_of(folder, "x", "partition-file = '" + (folder / "p.json") + "'\nclients = 6\n");
  settings["partition"] = {std::string("file"), false};
  CHECK(prepare(resolve(settings)).rows == natural.rows);
  std::string lists = "{\"clients\": [";
  for (int client = 0, row = 0; client < 6; ++client) {
    lists += client == 0 ? "[" : ", [";
    for (int i = 0; i < 20 + 4 * client; ++i) lists += (i == 0 ? "" : ", ") + std::to_string(row++);
    lists += "]";
  }
  write_file(folder / "p.json", lists + "]}");  // all rows of the file, by somebody who does not know which are held out
  const Setup by_file = prepare(resolve(settings));
  CHECK(by_file.rows == natural.rows);
}

TEST_CASE("data and dataset together, and settings of files without a file, are refused; the command line wins over a file") {
  const TemporaryFolder folder;
  write_clients(folder, true);
  Settings both = settings_of(folder, "x");
  both["dataset"] = {std::string("synthetic"), false};
  CHECK_THROWS_WITH_AS(resolve(both), doctest::Contains("dataset is 'synthetic' and data is '"), Error);
  both["dataset"].from_command_line = true;
  CHECK_THROWS_WITH_AS(prepare(resolve(both)), doctest::Contains("the data name no clients"), Error);
  CHECK(resolve(both).dataset == "synthetic");
  CHECK(resolve(both).data.empty());
  both["data"].from_command_line = true;
  both["dataset"].from_command_line = false;
  CHECK(resolve(both).dataset == "file");
  CHECK_THROWS_WITH_AS(resolve(parse_settings("label = 'x'\n", "test")),
                       doctest::Contains("label is given; it goes with data of your own"), Error);
  CHECK_THROWS_WITH_AS(resolve(parse_settings("clients = 0\n", "test")),
                       doctest::Contains("clients is 0; with partition 'pathological'"), Error);
}

TEST_CASE("a regression in three columns trains") {
  const TemporaryFolder folder;
  {
    std::ofstream file(folder / "train.csv");
    for (int row = 0; row < 60; ++row) {
      RandomStream random(4, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(row)});
      const double a = random.normal(), b = random.normal();
      file << a << ',' << b << ',' << 2 * a - b + 0.5 << '\n';
    }
  }
  const Settings settings = parse_settings("data = '" + (folder / "train.csv") +
                                               "'\nmodel = 'dense classes'\npartition = 'iid'\nclients = 2\noptimizer = 'sgd'\n"
                                               "learning-rate = 0.05\nrounds = 8\nthreads = 1\nout = '" +
                                               (folder / "a") + "'\n",
                                           "test");
  start(settings);
  const auto rounds = lines(folder / "a/rounds.jsonl");
  CHECK(rounds.back()["test_loss"].get<double>() < 0.1 * rounds.front()["test_loss"].get<double>());
}

}  // namespace fedstride::test::natural_clients_test
