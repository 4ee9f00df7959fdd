#include "sweep/report/tensorboard.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "core/error.hpp"
#include "core/event_file.hpp"
#include "core/files.hpp"
#include "sweep/results/read_cell.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRunName = 180;  // file systems allow 255 bytes

/// Returns the keys whose values differ between cells, in the order of the axes.
std::vector<std::string> varying_keys(const SweepResults& results) {
  const auto& cells = results.cells;
  std::vector<std::string> keys = swept_keys(results);
  std::map<std::string, std::set<std::string>> values;
  for (const auto& cell : cells)
    for (const auto& [key, value] : cell.cell.point) values[key].insert(value);
  std::erase_if(keys, [&](const std::string& key) {
    return values[key].size() < 2 &&
           std::ranges::all_of(cells, [&](const CellResult& cell) { return !cell.cell.value_of(key).empty(); });
  });
  return keys;
}

/// Returns a valid folder name made from the text: letters, digits and a few symbols.
std::string folder_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          std::string_view("=,.+-_").find(c) != std::string_view::npos;
    name += is_plain ? c : '_';
  }
  if (name.empty() || name.front() == '.') name.insert(0, 1, '_');
  return name.substr(0, kMaxRunName);
}

std::vector<std::string> run_names(const SweepResults& results) {
  const auto keys = varying_keys(results);
  std::vector<std::string> names;
  for (const auto& result : results.cells) {
    std::string name;
    for (const auto& key : keys)
      if (const std::string value = result.cell.value_of(key); !value.empty())
        name += (name.empty() ? "" : ",") + key + "=" + value;
    names.push_back(folder_name(name.empty() ? results.experiment.name : name));
  }
  // Appends the cell key to duplicate names, then the index if points share a run.
  for (const bool by_place : {false, true}) {
    std::map<std::string, int> again;
    for (const auto& name : names) ++again[name];
    for (std::size_t i = 0; i < names.size(); ++i)
      if (again[names[i]] > 1) names[i] += "-" + (by_place ? std::to_string(i) : folder_name(results.cells[i].cell.key));
  }
  return names;
}

double end_of(const fs::path& rounds) {
  std::error_code error;
  const auto time = fs::last_write_time(rounds, error);
  if (error) return 0;
  return std::chrono::duration<double>(std::chrono::file_clock::to_sys(time).time_since_epoch()).count();
}

double seconds_of(const CellResult::Round& round) {
  const double seconds = round.numbers.of("seconds");
  return std::isnan(seconds) ? 0 : seconds;
}

std::string events_of(const CellResult& cell, double end) {
  double time = end;
  for (const auto& round : cell.rounds) time -= seconds_of(round);
  std::string bytes = first_event(time);
  auto client = cell.clients.begin();
  for (const auto& round : cell.rounds) {
    std::vector<Scalar> scalars;
    for (const auto& [metric, value] : round.numbers) scalars.push_back({tensorboard_tag(metric), value});
    for (; client != cell.clients.end() && client->round <= round.round; ++client) {
      if (client->round < round.round || client->client >= kMaxExportedClients) continue;
      for (const auto& [metric, value] : client->numbers)
        scalars.push_back({"clients/" + metric + "/" + std::to_string(client->client), value});
    }
    time += seconds_of(round);
    bytes += scalar_event(time, round.round, scalars);
  }
  return bytes;
}

}  // namespace

TensorBoardExport export_tensorboard(const SweepResults& results, const fs::path& folder) {
  if (results.experiment.command != "run")
    throw usage_error("'" + results.folder.string() + "' contains results of '" + results.experiment.command +
                      "'; TensorBoard shows rounds, which only 'run' has");
  TensorBoardExport written;
  const auto names = run_names(results);
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    const fs::path place = cell_folder(results.folder, results.cells[i].cell);
    const CellResult again = results.rounds_left_out ? read_cell(results.cells[i].cell, place, results.experiment) : CellResult{};
    const CellResult& cell = results.rounds_left_out ? again : results.cells[i];
    if (cell.rounds.empty()) {
      ++written.without_rounds;
      continue;
    }
    std::uint32_t clients = 0;
    for (const auto& client : cell.clients) clients = std::max(clients, client.client + 1);
    if (clients > kMaxExportedClients)
      written.clients_left_out = std::max<std::size_t>(written.clients_left_out, clients - kMaxExportedClients);
    make_folder(folder / names[i]);
    write_file(folder / names[i] / kEventFile, events_of(cell, end_of(place / "rounds.jsonl")));
    written.runs.push_back(names[i]);
  }
  return written;
}

}  // namespace fedstride
