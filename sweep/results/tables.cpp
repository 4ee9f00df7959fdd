#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "sweep/results/ahead.hpp"
#include "sweep/results/csv.hpp"
#include "sweep/results/read_cell.hpp"
#include "sweep/results/results.hpp"
#include "sweep/results/summary.hpp"

namespace fedstride {
namespace {

using Names = std::vector<std::string>;

// The metrics that come first in a table, in this order; others follow, sorted by name.
constexpr std::string_view kFirst =
    "rounds_done test_accuracy test_r2 test_loss validation_accuracy validation_r2 validation_loss train_loss rows loss accuracy "
    "examples steps "
    "rejected_steps accepted rejected rejected_share idle_rounds learning_rate worst_client_accuracy best_client_accuracy "
    "failed_updates epsilon_spent delta_spent client_epsilon_spent client_delta_spent";

constexpr std::string_view kTexts =
    "model_hash data_hash partition_hash numerics_version version commit compiler instruction_set randomness halted";

Names words_of(std::string_view text) {
  const auto parts = split(text, ' ');
  return {parts.begin(), parts.end()};
}

std::string as_column(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

/// The columns of a table, with unique names: a metric named like a key or a fixed column gets "_result" appended.
class Columns {
 public:
  void add(std::string_view name) {
    std::string unique(name);
    while (std::ranges::find(names_, unique) != names_.end()) unique += "_result";
    names_.push_back(std::move(unique));
  }
  template <class List>
  void add_all(const List& list) {
    for (const auto& name : list) add(name);
  }
  const Names& names() const { return names_; }

 private:
  Names names_;
};

Names as_columns(const Names& keys) {
  Names columns;
  for (const auto& key : keys) columns.push_back(as_column(key));
  return columns;
}

Names metrics_in_order(const NameSet& found) {
  Names names = words_of(kFirst);
  std::erase_if(names, [&](const std::string& name) { return !found.contains(name); });
  const NameSet first(names.begin(), names.end());
  for (const auto& name : found)
    if (!is_timing(name) && !first.contains(name)) names.push_back(name);
  return names;
}

/// Writes each row's metrics in column order.
class Metrics {
 public:
  explicit Metrics(Names names) : names_(std::move(names)), values_(names_.size()) {
    for (std::size_t i = 0; i < names_.size(); ++i) sorted_.push_back(i);
    std::ranges::sort(sorted_, {}, [&](std::size_t i) -> const std::string& { return names_[i]; });
  }
  const Names& names() const { return names_; }

  void write(CsvFile& file, const Numbers& numbers) {
    std::ranges::fill(values_, NAN);
    auto column = sorted_.begin();
    for (const auto& [name, value] : numbers) {  // both are sorted
      while (column != sorted_.end() && names_[*column] < name) ++column;
      if (column != sorted_.end() && names_[*column] == name) values_[*column] = value;
    }
    for (const double value : values_) file.number(value);
  }

 private:
  Names names_;
  std::vector<std::size_t> sorted_;
  std::vector<double> values_;
};

Names values_of(const Cell& cell, const Names& keys) {
  Names values;
  for (const auto& key : keys) values.push_back(cell.value_of(key));
  return values;
}

void write_texts(CsvFile& file, const Names& texts) {
  for (const auto& text : texts) file.text(text);
}

class Tables {
 public:
  explicit Tables(const SweepResults& results) : results_(results), keys_(swept_keys(results)), columns_(as_columns(keys_)) {}

  void cells() const {
    NameSet found;
    add_names(results_.cells, found);
    Metrics metrics(metrics_in_order(found));
    Names texts;
    if (results_.experiment.command == "run") texts = words_of(kTexts);
    Metrics timings(Names(std::begin(kTimings), std::end(kTimings)));
    Columns columns;
    columns.add_all(Names{"cell", "configuration"});
    columns.add_all(columns_);
    columns.add("status");
    columns.add_all(metrics.names());
    columns.add_all(texts);
    columns.add_all(timings.names());
    columns.add_all(Names{"error", "command"});
    CsvFile file(results_.folder / "cells.csv", columns.names());
    for (const CellResult& cell : results_.cells) {
      file.text(cell.cell.key).text(cell.cell.configuration);
      write_texts(file, values_of(cell.cell, keys_));
      file.text(cell.status);
      metrics.write(file, cell.numbers);
      for (const auto& name : texts) file.text(cell.text(name));
      timings.write(file, cell.numbers);
      file.text(cell.error).text(cell.cell.command);
    }
    file.finish();
  }

  /// Writes rounds.csv, clients.csv and summary.csv, which need the cells' rounds; holds one configuration in memory at a time.
  void rounds() const {
    NameSet round_names(results_.round_metrics.begin(), results_.round_metrics.end());
    NameSet client_names(results_.client_metrics.begin(), results_.client_metrics.end());
    for (const CellResult& cell : results_.cells) {
      add_names(cell.rounds, round_names);
      add_names(cell.clients, client_names);
    }
    Metrics round_metrics(metrics_in_order(round_names));
    Metrics client_metrics(metrics_in_order(client_names));
    Metrics timings(Names{"seconds", "evaluation_seconds", "examples_per_second"});
    Columns of_rounds, of_clients, of_summary;
    for (Columns* columns : {&of_rounds, &of_clients}) {
      columns->add_all(Names{"cell", "configuration"});
      columns->add_all(columns_);
      columns->add("round");
    }
    of_rounds.add_all(round_metrics.names());
    of_rounds.add("model_hash");
    of_rounds.add_all(timings.names());
    of_clients.add("client");
    of_clients.add_all(client_metrics.names());
    of_summary.add("configuration");
    Names seedless = keys_;
    std::erase(seedless, "seed");
    of_summary.add_all(as_columns(seedless));
    of_summary.add_all(Names{"metric", "round", "client", "n", "mean", "standard_deviation", "low", "high", "rank"});
    CsvFile rounds(results_.folder / "rounds.csv", of_rounds.names());
    CsvFile clients(results_.folder / "clients.csv", of_clients.names());
    CsvFile summary(results_.folder / "summary.csv", of_summary.names());
    const auto ranks = places(results_.experiment, results_.cells);
    for_each_configuration([&](const Seeds& seeds) {
      for (const CellResult* cell : seeds) {
        const Names point = values_of(cell->cell, keys_);
        for (const auto& round : cell->rounds) {
          rounds.text(cell->cell.key).text(cell->cell.configuration);
          write_texts(rounds, point);
          rounds.whole(round.round);
          round_metrics.write(rounds, round.numbers);
          rounds.text(round.model_hash);
          timings.write(rounds, round.numbers);
        }
        for (const auto& client : cell->clients) {
          clients.text(cell->cell.key).text(cell->cell.configuration);
          write_texts(clients, point);
          clients.whole(client.round).whole(client.client);
          client_metrics.write(clients, client.numbers);
        }
      }
      const Cell& cell = seeds.front()->cell;
      const Names point = values_of(cell, seedless);
      const auto rank = ranks.find(cell.configuration);
      summarize_configuration(seeds, {}, [&](const SummaryLine& line) {
        if (line.round && line.client && line.statistics.n < 2) return;  // clients.csv already has this number
        summary.text(cell.configuration);
        write_texts(summary, point);
        summary.text(line.metric);
        line.round ? summary.whole(*line.round) : summary.nothing();
        line.client ? summary.whole(*line.client) : summary.nothing();
        summary.whole(static_cast<std::uint64_t>(line.statistics.n));
        summary.number(line.statistics.mean).number(line.statistics.deviation);
        summary.number(line.statistics.low).number(line.statistics.high);
        rank == ranks.end() ? summary.nothing() : summary.whole(static_cast<std::uint64_t>(rank->second));
      });
    });
    rounds.finish();
    clients.finish();
    summary.finish();
  }

  void expectations() const {
    CsvFile file(results_.folder / "expectations.csv",
                 {"claim", "status", "value", "relation", "other", "within", "text", "reason"});
    for (const ExpectationResult& result : results_.expectations) {
      const Expectation& claim = result.expectation;
      file.text(claim.claim).text(result.status).number(result.value).text(claim.relation).number(result.other);
      file.number(claim.relation == "equals" ? claim.within : claim.margin).text(result.text).text(claim.reason);
    }
    file.finish();
  }

 private:
  void for_each_configuration(function_ref<void(const Seeds&)> visit) const {
    const std::vector<Seeds> configurations = by_configuration(results_.cells);
    if (!results_.rounds_left_out) {
      for (const Seeds& seeds : configurations) visit(seeds);
      return;
    }
    const auto read = [&](std::size_t i) {
      std::vector<CellResult> cells;
      for (const CellResult* known : configurations[i]) {
        cells.push_back(read_cell(known->cell, cell_folder(results_.folder, known->cell), results_.experiment));
        if (cells.back().status != known->status) cells.back() = *known;  // the folder has changed
      }
      return cells;
    };
    make_ahead(configurations.size(), read, [&](std::size_t, const std::vector<CellResult>& cells) {
      Seeds seeds;
      for (const CellResult& cell : cells) seeds.push_back(&cell);
      visit(seeds);
    });
  }

  const SweepResults& results_;
  Names keys_;
  Names columns_;
};

}  // namespace

void write_tables(const SweepResults& results) {
  const Tables tables(results);
  tables.cells();
  tables.rounds();
  tables.expectations();
}

}  // namespace fedstride
