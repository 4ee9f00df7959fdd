#include <doctest/doctest.h>

#include <set>

#include "core/client_report.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sweep/cells/sweep.hpp"
#include "sweep/results/results.hpp"
#include "sweep/results/summary.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/csv_table.hpp"
#include "tests/support/refusal.hpp"
#include "tests/sweep/results/made_cells.hpp"

namespace fedstride::test::tables_test {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTables[] = {"cells.csv", "rounds.csv", "clients.csv", "summary.csv", "expectations.csv"};

// Both levels of privacy, a tuned rate, two seeds.
std::string private_sweep(const test::TemporaryFolder& folder) {
  return "data = '" + folder.path().string() +
         "'\nmodel = 'dense 8 | relu | dense classes'\nclients = 3\nrounds = 3\nbatch = 6\noptimizer = 'sgd'\n"
         "classes = 3\nmean = '0.67'\ndeviation = '1.2'\npublic-test = true\nvalidation-fraction = 0.1\ndp = "
         "'both'\nclient-noise-multiplier = 1.0\nclient-clip = 0.5\n"
         "[experiment]\ntitle = 't'\nclaim = 'c'\n[sweep]\nnoise-multiplier = [1.0, 2.0]\nlearning-rate = [0.1, 0.2]\n"
         "seed = [1, 2]\n[tune]\nkeys = ['learning-rate']\non = 'test'\nwhy = 'it is public'\n"
         "[[expect]]\nclaim = 'learns, \"well\"'\nvalue = { metric = 'test_accuracy', where = { noise-multiplier = 1 }, "
         "pick = 'best' }\nabove = 0.0\nreason = 'none'\n"
         "[[expect]]\nclaim = 'tight'\nvalue = { metric = 'epsilon_by_tight', where = { noise-multiplier = 2, learning-rate = "
         "0.1 } }\n"
         "equals = { metric = 'epsilon_spent', where = { noise-multiplier = 2, learning-rate = 0.1 } }\nwithin = 1e-6\n";
}

void run_sweep(const test::TemporaryFolder& folder, const std::string& text) {
  const Experiment experiment = parse_experiment(text, "t.toml", "full");
  SweepOptions options;
  options.out = folder / "s";
  options.threads = 1;
  const auto cells = expand(experiment, options.inputs);
  REQUIRE(sweep(experiment, cells, options).failed.empty());
}

std::string field(const CsvTable& table, std::size_t row, std::string_view column) {
  return table.rows.at(row).at(table.column(column));
}

// docs/results.md names a column or metric at the beginning of a table's row: "| `name` | ...".
std::set<std::string> documented() {
  std::set<std::string> names;
  const std::string text = read_file(fs::path(FEDSTRIDE_SOURCE_DIR) / "docs/results.md");
  for (const auto line : split(text, '\n')) {
    if (!line.starts_with("| `")) continue;
    const auto cell = line.substr(2, line.find(" |", 2) - 2);
    const auto parts = split(cell, '`');
    for (std::size_t i = 1; i < parts.size(); i += 2) names.emplace(parts[i]);
  }
  return names;
}

// The name under which a column is documented, once for all of its kind.
std::string documented_name(const std::string& name) {
  for (const std::string prefix : {"epsilon_by_", "client_epsilon_by_"})
    if (name.starts_with(prefix)) return prefix + "NAME";
  if (name.starts_with("rows_of_class_")) return "rows_of_class_C";
  return name;
}

}  // namespace

TEST_CASE("a private sweep's tables: complete, documented, the same from a folder too large to hold") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  run_sweep(folder, private_sweep(folder));
  const fs::path sweep = folder / "s";
  const SweepResults results = read_results(sweep);
  write_tables(results);

  const CsvTable cells = read_csv(sweep / "cells.csv");
  REQUIRE(cells.rows.size() == 8);
  CHECK(field(cells, 7, "noise_multiplier") == "2");
  CHECK(field(cells, 7, "learning_rate") == "0.2");
  CHECK(field(cells, 7, "learning_rate_result") == "0.2");  // SGD's own, as the clients report it
  CHECK(field(cells, 7, "seed") == "2");
  CHECK(field(cells, 7, "status") == "finished");
  CHECK(field(cells, 7, "test_accuracy") == number_text(results.cells[7].numbers.at("test_accuracy")));
  CHECK(field(cells, 7, "command").starts_with("fedstride run --"));
  CHECK(read_csv(sweep / "rounds.csv").rows.size() == 24);
  const CsvTable clients = read_csv(sweep / "clients.csv");
  REQUIRE(clients.rows.size() == 72);
  CHECK(field(clients, 5, "round") == "2");
  CHECK(field(clients, 5, "client") == "2");

  const CsvTable summary = read_csv(sweep / "summary.csv");
  REQUIRE(summary.rows.size() == results.summary.size());
  for (std::size_t i = 0; i < summary.rows.size(); ++i) {
    const SummaryRow& row = results.summary[i];
    CHECK(field(summary, i, "metric") == row.metric);
    CHECK(field(summary, i, "round") == (row.round ? std::to_string(*row.round) : ""));
    CHECK(field(summary, i, "client") == (row.client ? std::to_string(*row.client) : ""));
    CHECK(field(summary, i, "mean") == number_text(row.mean));
    CHECK(field(summary, i, "low") == number_text(row.low));
    CHECK(field(summary, i, "rank") == std::to_string(row.rank));
  }
  const CsvTable claims = read_csv(sweep / "expectations.csv");
  REQUIRE(claims.rows.size() == 2);
  CHECK(field(claims, 0, "claim") == "learns, \"well\"");
  CHECK(field(claims, 0, "status") == "holds");
  CHECK(field(claims, 1, "status") == "holds");

  SUBCASE("every column and metric is documented") {
    const auto names = documented();
    for (const char* table : kTables)
      for (const auto& column : read_csv(sweep / table).columns) {
        if (column == "noise_multiplier" || column == "learning_rate" || column == "seed") continue;  // swept
        const std::string plain = column.ends_with("_result") ? column.substr(0, column.size() - 7) : column;
        CHECK_MESSAGE(names.contains(documented_name(plain)), table << " has the column " << column);
      }
    for (std::size_t i = 0; i < summary.rows.size(); ++i)
      CHECK_MESSAGE(names.contains(documented_name(field(summary, i, "metric"))), field(summary, i, "metric"));
    CHECK_FALSE(names.contains("no_such_column"));
    for_each_report_number([&](const auto& field) {
      if (field.is(ReportRule::shown | ReportRule::with_lots | ReportRule::with_test) && field.name != "client")
        CHECK_MESSAGE(names.contains(std::string(field.name)), field.name);
    });
  }
  SUBCASE("read again, one configuration at a time, the bytes are the same") {
    std::map<std::string, std::string> before;
    for (const char* table : kTables) before[table] = read_file(sweep / table);
    const SweepResults lean = read_results(sweep, {.held_bytes = 0, .rows = 30});
    CHECK(lean.rounds_left_out);
    CHECK(lean.cells[0].rounds.empty());
    CHECK(names(lean.left_out, {"30", "summary.csv"}));
    for (const SummaryRow& row : lean.summary) {
      CHECK_FALSE(row.round);
      CHECK_FALSE(row.client);
    }
    write_tables(lean);
    for (const char* table : kTables) CHECK_MESSAGE(read_file(sweep / table) == before[table], table);
  }
  SUBCASE("a cell that failed has its row and its error, and is in no mean") {
    const fs::path cell = sweep / "cells" / results.cells[0].cell.key;
    write_file(cell / "rounds.jsonl", "{}\n{}\n{}\n");
    write_tables(read_results(sweep));
    const CsvTable damaged = read_csv(sweep / "cells.csv");
    CHECK(field(damaged, 0, "status") == "failed");
    CHECK(field(damaged, 0, "error").find("rounds.jsonl") != std::string::npos);
    CHECK(field(damaged, 0, "test_accuracy").empty());
    CHECK(field(damaged, 1, "status") == "finished");
    CHECK(field(read_csv(sweep / "summary.csv"), 0, "n") == "1");
    CHECK(field(read_csv(sweep / "summary.csv"), 0, "standard_deviation").empty());
    CHECK(field(read_csv(sweep / "expectations.csv"), 0, "status") == "not run");
  }
}

TEST_CASE("publishable runs leave out what no guarantee covers, and their tables too") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  run_sweep(folder, "publishable = true\nrandomness = 'secret'\n" + private_sweep(folder));
  write_tables(read_results(folder / "s"));
  const CsvTable cells = read_csv(folder / "s/cells.csv");
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(field(cells, i, "status") == "finished");
    CHECK_FALSE(field(cells, i, "epsilon_by_tight").empty());
  }
  for (const char* gone : {"examples", "train_loss", "validation_accuracy", "steps"})
    CHECK_MESSAGE(std::ranges::find(cells.columns, gone) == cells.columns.end(), gone);
  CHECK(read_csv(folder / "s/clients.csv").rows.empty());
  CHECK(field(read_csv(folder / "s/expectations.csv"), 0, "status") == "holds");  // chosen by a public test part
}

TEST_CASE("names that meet are told apart, and cells without a key leave its column empty") {
  const test::TemporaryFolder folder;
  SweepResults results;
  results.folder = folder.path();
  results.experiment = test::made_experiment({test::made_axis("model", {"x"}), test::made_axis("rank", {"1", "2"})});
  results.experiment.command = "evaluate";
  results.cells = {test::made_cell({{"model", "x"}, {"rank", "1"}}, {{"rank", 5}, {"status", 2}, {"cell", 3}}),
                   test::made_cell({{"model", "a, \"b\""}}, {{"model", 1}})};
  results.summary = summarize(results.experiment, results.cells);
  write_tables(results);
  const CsvTable cells = read_csv(folder / "cells.csv");
  CHECK(cells.columns == std::vector<std::string>{"cell", "configuration", "model", "rank", "status", "cell_result",
                                                  "model_result", "rank_result", "status_result", "seconds", "evaluation_seconds",
                                                  "examples_per_second", "peak_memory_bytes", "error", "command"});
  CHECK(field(cells, 0, "rank_result") == "5");
  CHECK(field(cells, 0, "model_result").empty());
  CHECK(field(cells, 1, "model") == "a, \"b\"");
  CHECK(field(cells, 1, "rank").empty());
  CHECK(read_csv(folder / "rounds.csv").rows.empty());
  const CsvTable summary = read_csv(folder / "summary.csv");
  CHECK(summary.columns == std::vector<std::string>{"configuration", "model", "rank", "metric", "round", "client", "n", "mean",
                                                    "standard_deviation", "low", "high", "rank_result"});
}

}  // namespace fedstride::test::tables_test
