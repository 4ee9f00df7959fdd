#include "cli/terminal/results.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/flags.hpp"
#include "cli/terminal/columns.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sweep/file/cost.hpp"

namespace fedstride {
namespace {

constexpr std::array<const char*, 3> kMeanMetrics = {"test_accuracy", "test_r2", "test_loss"};
constexpr std::array<const char*, 3> kMeanTitles = {"test accuracy", "test R2", "test loss"};
constexpr std::size_t kMaxMeanRows = 50;

// The means of one configuration.
struct MeanRow {
  std::string point;
  int seeds = 0;
  std::array<int, 3> counts = {};
  std::array<double, 3> sums = {};
};

// The summary.json of a finished run; empty if it is not finished or cannot be read.
Json finished_summary(const Json& cell) {
  try {
    constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;
    const std::string path = cell.at("folder").text() + "/summary.json";
    if (!cell.contains("error") && is_there(path))
      if (Json summary = parse_json(read_file(path, kMaxBytes)); summary.value("finished", Json(false)) == Json(true))
        return summary;
  } catch (const std::exception&) {  // the tables say why the cell cannot be read
  }
  return {};
}

// Adds a finished cell's numbers to the row of its configuration; `name` names a cell without a point.
void add_cell(const Json& cell, const std::string& name, std::map<std::string, std::size_t>& places, std::vector<MeanRow>& rows) {
  const Json summary = finished_summary(cell);
  if (summary.is_null()) return;
  const auto [place, is_new] = places.try_emplace(cell.at("configuration").text(), rows.size());
  if (is_new) {
    std::string point;
    for (const auto& [key, value] : cell.at("point").items())
      if (key != "seed") point += (point.empty() ? "" : ", ") + key + " " + value.text();
    rows.push_back({.point = one_line(point.empty() ? name : point)});
  }
  MeanRow& row = rows[place->second];
  ++row.seeds;
  for (std::size_t i = 0; i < kMeanMetrics.size(); ++i)
    if (const Json value = summary.value(kMeanMetrics[i], Json()); value.is_number()) {
      ++row.counts[i];
      row.sums[i] += value.get<double>();
    }
}

}  // namespace

void add_by_flag(CLI::App& command, std::string& by) {
  add_choice_flag(command, "--by", by, choices_of<Cost>(),
                  "what figures over rounds are plotted against, and what tables count until the target is reached: rounds, "
                  "virtual seconds or "
                  "megabytes");
}

void print_means(const Json& sweeps) {
  std::vector<MeanRow> rows;
  for (const Json& sweep : sweeps) {
    std::map<std::string, std::size_t> places;
    for (const Json& cell : sweep.at("cells")) add_cell(cell, sweep.at("experiment").at("name").text(), places, rows);
  }
  const auto has = [&](std::size_t i) {
    return std::ranges::any_of(rows, [i](const MeanRow& row) { return row.counts[i] > 0; });
  };
  if (rows.empty() || (!has(0) && !has(1) && !has(2))) return;
  constexpr std::size_t kOthers = 40;  // columns for the numbers
  std::size_t width = 4;
  for (const MeanRow& row : rows) width = std::max(width, row.point.size());
  width = std::min(width, std::max<std::size_t>(terminal_columns(100), kOthers + 20) - kOthers);
  const auto line = [&](const std::string& point, const std::string& seeds, const std::array<std::string, 3>& numbers) {
    std::printf("%-*s  %5s", static_cast<int>(width), shortened(point, width).c_str(), seeds.c_str());
    for (std::size_t i = 0; i < kMeanMetrics.size(); ++i)
      if (has(i)) std::printf("  %13s", numbers[i].c_str());
    std::printf("\n");
  };
  line("mean", "seeds", {kMeanTitles[0], kMeanTitles[1], kMeanTitles[2]});
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxMeanRows); ++i) {
    std::array<std::string, 3> numbers;
    for (std::size_t k = 0; k < kMeanMetrics.size(); ++k) {
      char text[32];
      std::snprintf(text, sizeof text, "%.4g", rows[i].sums[k] / rows[i].counts[k]);
      numbers[k] = rows[i].counts[k] == rows[i].seeds ? text : "-";
    }
    line(rows[i].point, std::to_string(rows[i].seeds), numbers);
  }
  if (rows.size() > kMaxMeanRows) std::printf("and %zu more, in summary.csv\n", rows.size() - kMaxMeanRows);
}

}  // namespace fedstride
