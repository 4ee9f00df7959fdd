#include "sweep/results/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/probability.hpp"

namespace fedstride {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Returns half the width of the 95 % interval over n seeds, in standard errors of the mean.
double t_quantile(int n) {
  constexpr int kMaxTabulatedSeeds = 1000;
  static const std::vector<double> known = [] {
    std::vector<double> list(kMaxTabulatedSeeds + 1, kNoValue);
    for (int i = 2; i <= kMaxTabulatedSeeds; ++i) list[static_cast<std::size_t>(i)] = student_t_quantile(0.05, i - 1);
    return list;
  }();
  return n <= kMaxTabulatedSeeds ? known[static_cast<std::size_t>(n)] : student_t_quantile(0.05, n - 1);
}

/// Visits each name that occurs in any of these lists, in ascending order, with its values.
void merge_numbers(std::span<const Numbers* const> lists, function_ref<void(std::string_view, std::span<const double>)> visit) {
  std::vector<std::pair<Numbers::const_iterator, Numbers::const_iterator>> heads;
  for (const Numbers* list : lists) heads.emplace_back(list->begin(), list->end());
  std::vector<double> values;
  for (;;) {
    const std::string* name = nullptr;
    for (const auto& [at, end] : heads)
      if (at != end && (name == nullptr || at->first < *name)) name = &at->first;
    if (name == nullptr) return;
    values.clear();
    for (auto& [at, end] : heads)
      if (at != end && at->first == *name) values.push_back((at++)->second);
    visit(*name, values);
  }
}

using Clients = std::span<const CellResult::Client>;

Clients clients_of(const CellResult& cell, std::uint32_t round) {
  // equal_range is not used, since its result does not compile with Clang 14 and this standard library.
  return {std::ranges::lower_bound(cell.clients, round, {}, &CellResult::Client::round),
          std::ranges::upper_bound(cell.clients, round, {}, &CellResult::Client::round)};
}

class SeedsSummary {
 public:
  SeedsSummary(const Seeds& seeds, function_ref<void(const SummaryLine&)> visit) : visit_(visit) {
    for (const CellResult* cell : seeds)
      if (cell->status == "finished") cells_.push_back(cell);
  }

  void last() {
    lists_.clear();
    for (const CellResult* cell : cells_) lists_.push_back(&cell->numbers);
    lines({}, {});
  }

  void clients(std::optional<std::uint32_t> round) {
    std::vector<Clients> left;
    for (const CellResult* cell : cells_)
      left.push_back(clients_of(*cell, round ? *round : static_cast<std::uint32_t>(cell->rounds.size())));
    for (;;) {
      const CellResult::Client* next = nullptr;
      for (const Clients& list : left)
        if (!list.empty() && (next == nullptr || list.front().client < next->client)) next = &list.front();
      if (next == nullptr) return;
      lists_.clear();
      for (Clients& list : left)
        if (!list.empty() && list.front().client == next->client) {
          lists_.push_back(&list.front().numbers);
          list = list.subspan(1);
        }
      lines(round, next->client);
    }
  }

  void partition() {
    std::size_t most = 0;
    for (const CellResult* cell : cells_) most = std::max(most, cell->rows_per_class.size());
    std::vector<double> values;
    for (std::uint32_t client = 0; client < most; ++client)
      for (std::size_t label = 0;; ++label) {
        values.clear();
        for (const CellResult* cell : cells_)
          if (client < cell->rows_per_class.size() && label < cell->rows_per_class[client].size())
            values.push_back(static_cast<double>(cell->rows_per_class[client][label]));
        if (values.empty()) break;
        const std::string metric = "rows_of_class_" + std::to_string(label);
        visit_({.metric = metric, .client = client, .statistics = statistics(values)});
      }
  }

  std::uint32_t rounds() const {
    std::size_t most = 0;
    for (const CellResult* cell : cells_) most = std::max(most, cell->rounds.size());
    return static_cast<std::uint32_t>(most);
  }

  void round(std::uint32_t round) {
    lists_.clear();
    for (const CellResult* cell : cells_)
      if (round <= cell->rounds.size()) lists_.push_back(&cell->rounds[round - 1].numbers);
    lines(round, {});
  }

 private:
  void lines(std::optional<std::uint32_t> round, std::optional<std::uint32_t> client) {
    merge_numbers(lists_, [&](std::string_view metric, std::span<const double> values) {
      if (!is_timing(metric)) visit_({.metric = metric, .round = round, .client = client, .statistics = statistics(values)});
    });
  }

  function_ref<void(const SummaryLine&)> visit_;
  std::vector<const CellResult*> cells_;
  std::vector<const Numbers*> lists_;
};

struct Standing {
  int lacking = 0;  // number of finished seeds without the metric
  double mean = 0;
};

std::optional<Standing> standing(const std::string& metric, const Seeds& seeds) {
  std::vector<double> values;
  int finished = 0;
  for (const CellResult* cell : seeds) {
    if (cell->status != "finished") continue;
    ++finished;
    if (const double value = cell->numbers.of(metric); !std::isnan(value)) values.push_back(value);
  }
  if (values.empty()) return std::nullopt;
  return Standing{.lacking = finished - static_cast<int>(values.size()), .mean = statistics(values).mean};
}

bool is_tuned(const Tuning& tuning, const std::string& key) { return std::ranges::find(tuning.keys, key) != tuning.keys.end(); }

// Returns the point without tuned keys and seed as text; configurations with the same text compete.
std::string contest(const Tuning& tuning, const Cell& cell) {
  std::string text;
  for (const auto& [key, value] : cell.point)
    if (key != "seed" && !is_tuned(tuning, key)) text += key + '\0' + value + '\0';
  return text;
}

}  // namespace

bool is_timing(std::string_view metric) { return std::ranges::find(kTimings, metric) != std::end(kTimings); }

SeedStatistics statistics(std::span<const double> values) {
  SeedStatistics result{.n = static_cast<int>(values.size()), .deviation = kNoValue, .low = kNoValue, .high = kNoValue};
  const double n = result.n;
  // Sums differences from the first value, so that equal values have deviation 0.
  for (const double value : values) result.mean += value - values.front();
  result.mean = values.front() + result.mean / n;
  if (result.n < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (n - 1));
  const double half = t_quantile(result.n) * result.deviation / std::sqrt(n);
  result.low = result.mean - half;
  result.high = result.mean + half;
  return result;
}

void summarize_configuration(const Seeds& seeds, const SummaryKinds& kinds, function_ref<void(const SummaryLine&)> visit) {
  SeedsSummary configuration(seeds, visit);
  configuration.last();
  if (kinds.clients) {
    configuration.clients({});
    configuration.partition();
  }
  for (std::uint32_t round = 1; round <= configuration.rounds(); ++round) {
    if (kinds.rounds || kinds.some_rounds.contains(round)) configuration.round(round);
    if (kinds.client_rounds) configuration.clients(round);
  }
}

std::vector<Seeds> by_configuration(const std::vector<CellResult>& cells) {
  std::vector<Seeds> groups;
  std::unordered_map<std::string, std::size_t> known;
  for (const CellResult& cell : cells) {
    const auto [place, fresh] = known.try_emplace(cell.cell.configuration, groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(&cell);
  }
  return groups;
}

std::vector<std::size_t> ordered(const Tuning& tuning, const std::vector<Seeds>& configurations) {
  std::vector<std::pair<Standing, std::size_t>> list;
  for (std::size_t i = 0; i < configurations.size(); ++i)
    if (const auto stands = standing(tuning.metric_name(), configurations[i])) list.emplace_back(*stands, i);
  const bool highest = !is_best_lowest(tuning.metric);
  std::ranges::stable_sort(list, [&](const auto& a, const auto& b) {
    if (a.first.lacking != b.first.lacking) return a.first.lacking < b.first.lacking;
    return highest ? a.first.mean > b.first.mean : a.first.mean < b.first.mean;
  });
  std::vector<std::size_t> order;
  order.reserve(list.size());
  for (const auto& [stands, place] : list) order.push_back(place);
  return order;
}

std::unordered_map<std::string, int> places(const Experiment& experiment, const std::vector<CellResult>& cells) {
  std::unordered_map<std::string, int> ranks;
  if (experiment.tuning.keys.empty()) return ranks;
  std::map<std::string, std::vector<Seeds>> contests;
  for (Seeds& seeds : by_configuration(cells)) {
    const std::string text = contest(experiment.tuning, seeds.front()->cell);
    contests[text].push_back(std::move(seeds));
  }
  for (const auto& [text, configurations] : contests) {
    int rank = 0;
    for (const std::size_t place : ordered(experiment.tuning, configurations))
      ranks[configurations[place].front()->cell.configuration] = ++rank;
  }
  return ranks;
}

SummaryRow summary_row(const Cell& cell, int rank, const SummaryLine& line) {
  SummaryRow row{.configuration = cell.configuration,
                 .metric = std::string(line.metric),
                 .round = line.round,
                 .client = line.client,
                 .n = line.statistics.n,
                 .mean = line.statistics.mean,
                 .deviation = line.statistics.deviation,
                 .low = line.statistics.low,
                 .high = line.statistics.high,
                 .rank = rank};
  for (const auto& part : cell.point)
    if (part.first != "seed") row.point.push_back(part);
  return row;
}

std::vector<SummaryRow> summarize(const Experiment& experiment, const std::vector<CellResult>& cells) {
  const auto rank_of = places(experiment, cells);
  std::vector<SummaryRow> rows;
  for (const Seeds& seeds : by_configuration(cells)) {
    const Cell& cell = seeds.front()->cell;
    const auto found = rank_of.find(cell.configuration);
    const int rank = found == rank_of.end() ? 0 : found->second;
    summarize_configuration(seeds, {}, [&](const SummaryLine& line) { rows.push_back(summary_row(cell, rank, line)); });
  }
  return rows;
}

}  // namespace fedstride
