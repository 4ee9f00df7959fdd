#include "sweep/results/record.hpp"

#include <ctime>
#include <map>
#include <set>

#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "data/official.hpp"
#include "sweep/results/settings_of_cells.hpp"

namespace fedstride {
namespace {

std::string data_status(const std::string& dataset, const std::string& data_dir) {
  const DatasetSource& source = dataset_source(dataset);
  if (source.place.file.empty() && !source.read) return "made by the program";
  if (!source.is_published) return "own files";
  const OfficialSet* set = official_set(dataset);
  return set != nullptr && !is_official(*set, dataset_folder(source, {.data_dir = data_dir})) ? "not its authors' files"
                                                                                              : "published";
}

Json data_of(const SweepResults& results) {
  std::map<std::string, std::string> folders;  // from a data set's name to its folder
  std::set<std::string> hashes;
  for (const CellResult& cell : results.cells) {
    const auto settings = resolved_settings(cell.cell);
    const auto folder = cell.cell.settings.find("data-dir");
    if (const auto dataset = settings.find("dataset"); dataset != settings.end())
      folders[dataset->second] = folder == cell.cell.settings.end() ? "" : value_text(folder->second.value);
    if (const std::string hash = cell.text("data_hash"); !hash.empty()) hashes.insert(hash);
  }
  Json data = Json::array();
  for (const auto& [name, folder] : folders) data.push_back(Json{{"dataset", name}, {"status", data_status(name, folder)}});
  return Json{{"sets", std::move(data)}, {"hashes", std::vector<std::string>(hashes.begin(), hashes.end())}};
}

// Writes one mean per line, so that changes are readable as a diff.
std::string values_of(const SweepResults& results) {
  std::vector<std::string> values;
  for (const SummaryRow& row : results.summary) {
    if (row.round || row.client) continue;
    Json point = Json::object();
    for (const auto& [key, value] : row.point) point[key] = value;
    values.push_back("\n    " + dump_json({{"point", std::move(point)},
                                           {"metric", row.metric},
                                           {"n", row.n},
                                           {"mean", number_or_null(row.mean)},
                                           {"deviation", number_or_null(row.deviation)},
                                           {"low", number_or_null(row.low)},
                                           {"high", number_or_null(row.high)},
                                           {"rank", row.rank}}));
  }
  return joined(values, ",");
}

// Lists each cell's point, model hash and seconds, against which another machine's results can be checked.
std::string cells_of(const SweepResults& results) {
  std::vector<std::string> cells;
  for (const CellResult& cell : results.cells) {
    Json point = Json::object();
    for (const auto& [key, value] : cell.cell.point) point[key] = value;
    Json json{{"point", std::move(point)}, {"seconds", number_or_null(cell.numbers.of("seconds"))}};
    if (const std::string hash = cell.text("model_hash"); !hash.empty()) json["model_hash"] = hash;
    cells.push_back("\n    " + dump_json(json));
  }
  return joined(cells, ",");
}

}  // namespace

std::string results_record(const SweepResults& results, std::string_view day) {
  for (const CellResult& cell : results.cells)
    if (cell.status != "finished")
      throw failure("'" + results.folder.string() + "' has a cell that is " + cell.status + " (" + cell.cell.command +
                    "); only finished sweeps are recorded");
  const Experiment& experiment = results.experiment;
  Json settings = Json::object(), axes = Json::object(), machine = Json::object(), claims = Json::array();
  for (const FixedSetting& setting : fixed_settings(results))
    if (!setting.is_default) settings[setting.key] = setting.value;
  for (const std::string& key : swept_keys(results)) {
    std::vector<std::string> labels;
    for (const Axis& axis : experiment.axes)
      for (std::size_t i = 0; i < axis.keys.size(); ++i)
        if (axis.keys[i] == key)
          for (const Axis::Value& value : axis.values) labels.push_back(value.labels[i]);
    axes[key] = labels;
  }
  for (const auto& [name, value] : results.machine) machine[name] = value;
  for (const ExpectationResult& one : results.expectations)
    claims.push_back(Json{{"claim", one.expectation.claim}, {"status", one.status}, {"text", one.text}});
  const Json record{
      {"format", "fedstride results 1"},
      {"experiment", experiment.name},
      {"title", experiment.title},
      {"scale", experiment.scale},
      {"day", std::string(day)},
      {"rule",
       Json{{"tuned", experiment.tuning.keys}, {"on", experiment.tuning.on}, {"metric", experiment.tuning.metric_name()}}},
      {"settings", std::move(settings)},
      {"axes", std::move(axes)},
      {"data", data_of(results)},
      {"machine", std::move(machine)},
      {"claims", std::move(claims)}};
  std::string text = dump_json(record, 2);
  text.resize(text.rfind('\n'));  // the last bracket's line
  return text + ",\n  \"cells\": [" + cells_of(results) + "\n  ],\n  \"values\": [" + values_of(results) + "\n  ]\n}\n";
}

std::string day_of_record() {
  const std::string day = source_day();
  return day.empty() ? day_text(std::time(nullptr)) : day;
}

}  // namespace fedstride
