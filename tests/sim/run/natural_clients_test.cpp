// Natural clients and the user's own data in whole runs.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "core/files.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/evaluate.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

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

TEST_CASE("without the setting clients, all clients in the data take part, each tested on its own test rows") {
  const TemporaryFolder folder;
  write_clients(folder, true);
  const Setup setup = prepared(folder);
  CHECK(setup.configuration.dataset == "file");
  CHECK(setup.configuration.clients == 6);
  CHECK(setup.clients.row_counts == std::vector<std::uint64_t>{20, 18, 21, 24, 27, 30});
  REQUIRE(setup.clients.test.size() == 6);
  CHECK(setup.clients.test_is_of_test_part);
  CHECK(setup.clients.test[0].empty());
  for (std::size_t client = 0; client < 6; ++client) {
    CHECK(setup.clients.test[client].size() == (client == 0 ? 0 : 5 + client));
    for (const Row row : setup.clients.test[client])
      CHECK(setup.data.test.client_names[setup.data.test.clients[row]] == "n" + std::to_string(client));
  }
}

TEST_CASE("with the setting clients, only the first ones take part, and the others' rows are not used") {
  const TemporaryFolder folder;
  write_clients(folder, true);
  const Setup setup = prepared(folder, "clients = 2\n");
  CHECK(setup.clients.row_counts == std::vector<std::uint64_t>{20, 18});
  CHECK(std::ranges::any_of(setup.notes, [](const std::string& note) { return names(note, {"2", "6", "102"}); }));
  CHECK_USAGE_ERROR(prepared(folder, "clients = 7\n"), "clients", "7", "6");
}

TEST_CASE("natural clients in groups: whole clients together, and their test rows with them") {
  const TemporaryFolder folder;
  write_clients(folder, true);
  Settings settings = settings_of(folder, "x", "natural-per-client = 4\n");
  settings["partition"] = {std::string("natural-grouped"), false};
  const Setup setup = prepare(resolve(settings));
  CHECK(setup.clients.row_counts.size() == 2);
  CHECK(setup.clients.row_counts[0] + setup.clients.row_counts[1] == 140);
  CHECK(setup.clients.test.row_count() == setup.data.test.size());
}

TEST_CASE("a run by natural clients reports each client, can be resumed, and does not depend on its file's path") {
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
  CHECK_FAILURE(resume(folder / "a", moved), folder / "a", "data");
}

TEST_CASE("a run whose inputs each client normalizes is evaluated and resumed with the moments that it was trained with") {
  const TemporaryFolder folder;
  write_clients(folder, true);
  const std::string by_client = "normalize = 'client'\nlocal-steps = 5\n";
  start(settings_of(folder, "a", by_client));
  const double tested = lines(folder / "a/rounds.jsonl").back()["test_accuracy"];
  CHECK(evaluate_file(folder / "a", "", {}, false, 1).evaluation.accuracy == tested);
  DataOptions by_rows;
  by_rows.read.normalize = Normalize::rows;
  const double loss = evaluate_file(folder / "a", "", {}, false, 1).evaluation.loss;
  CHECK(evaluate_file(folder / "a", "", by_rows, false, 1).evaluation.loss != loss);
  CHECK(resume(folder / "a", parse_settings("rounds = 5\n", "test")).rounds == 5);
  const std::vector<std::string> resumed = hashes(folder / "a");
  Settings five = settings_of(folder, "b", by_client);
  five["rounds"] = parse_settings("rounds = 5\n", "test").at("rounds");
  start(five);
  CHECK(hashes(folder / "b") == resumed);
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

TEST_CASE("a manifest numbers the file's rows even if some are held out") {
  const TemporaryFolder folder;
  write_clients(folder, false);
  const Setup natural = prepared(folder);
  CHECK(natural.data.test.size() > 10);  // about a sixth of 180
  CHECK(natural.data.test.size() < 50);
  write_partition(natural, folder / "p.json");
  Settings settings = settings_of(folder, "x", "partition-file = '" + (folder / "p.json") + "'\nclients = 6\n");
  settings["partition"] = {std::string("file"), false};
  CHECK(prepare(resolve(settings)).clients.rows == natural.clients.rows);
  std::string lists = "{\"clients\": [";
  for (int client = 0, row = 0; client < 6; ++client) {
    lists += client == 0 ? "[" : ", [";
    for (int i = 0; i < 20 + 4 * client; ++i) lists += (i == 0 ? "" : ", ") + std::to_string(row++);
    lists += "]";
  }
  write_file(folder / "p.json", lists + "]}");  // all rows of the file, by somebody who does not know which are held out
  const Setup by_file = prepare(resolve(settings));
  CHECK(by_file.clients.rows == natural.clients.rows);
}

TEST_CASE("data and dataset together, and settings of files without a file, are refused; the command line wins over a file") {
  const TemporaryFolder folder;
  write_clients(folder, true);
  Settings both = settings_of(folder, "x");
  both["dataset"] = {std::string("synthetic"), false};
  CHECK_USAGE_ERROR(resolve(both), "dataset", "synthetic", "data", folder.path().string());
  both["dataset"].from_command_line = true;
  CHECK_USAGE_ERROR(prepare(resolve(both)), "data", "clients");
  CHECK(resolve(both).dataset == "synthetic");
  CHECK(resolve(both).data.empty());
  both["data"].from_command_line = true;
  both["dataset"].from_command_line = false;
  CHECK(resolve(both).dataset == "file");
  CHECK_USAGE_ERROR(resolve(parse_settings("label = 'x'\n", "test")), "label", "--data", "synthetic");
  CHECK_USAGE_ERROR(resolve(parse_settings("clients = 0\n", "test")), "clients", "0", "partition 'pathological'", "1");
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
