#include "sweep/cells/cell_state.hpp"

#include <algorithm>

#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "partitions/outside_rows.hpp"
#include "sweep/cells/cell_keys.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxStateBytes = std::uint64_t{64} << 20;

// True if the folder holds anything other than error.txt and temporary files.
bool holds_results(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().filename() != "error.txt" && !is_temporary(at->path())) return true;
  return false;
}

CellState damaged(const std::string& why) { return {CellState::Kind::damaged, why}; }

std::size_t line_count(const fs::path& path) {
  const std::string text = read_file(path, size_of_file(path));
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

CellState run_state(const fs::path& folder, const Cell& cell, const InputHashes& inputs) {
  if (!fs::exists(folder / "config.toml")) return damaged("it contains no run: config.toml is missing");
  const Configuration wanted = resolve(cell.settings);
  if (determining_text(resolve(read_settings((folder / "config.toml").string()))) != determining_text(wanted))
    return damaged("its config.toml belongs to another run");
  if (!fs::exists(folder / "summary.json")) return {CellState::Kind::unfinished};
  const Json summary = parse_json(read_file(folder / "summary.json", kMaxStateBytes));
  if (!summary.is_object()) return damaged("its summary.json is not a JSON object");
  const Json finished = summary.value("finished", Json());
  const Json rounds = summary.value("rounds", Json());
  if (!finished.is_boolean() || !rounds.is_number_unsigned())
    return damaged("its summary.json must have 'finished' and 'rounds'");
  const auto data = inputs.find(data_input(wanted));
  if (data != inputs.end() && !data->second.empty() && !is_private(wanted) && summary.value("data_hash", Json()) != data->second)
    return damaged("its data_hash differs: the run used other data");
  if (summary.value("numerics_version", Json()) != numerics_version(wanted))
    return damaged("its numerics_version is not " + std::to_string(numerics_version(wanted)));
  const bool complete = rounds == static_cast<std::uint64_t>(wanted.rounds) || summary.contains("halted");
  if (finished != true || !complete) return {CellState::Kind::unfinished, "", rounds.get<std::uint64_t>()};
  if (line_count(folder / "rounds.jsonl") != rounds)
    return damaged("its rounds.jsonl does not have as many rounds as its summary.json");
  const bool has_rows = wanted.partition.as<OutsideRows>() == nullptr;  // otherwise only the own code knows them
  if (has_rows && !wanted.publishable && !fs::exists(folder / "partition.json")) return damaged("its partition.json is missing");
  return {CellState::Kind::finished};
}

CellState other_state(const fs::path& folder) {
  if (!fs::exists(folder / "result.json")) return damaged("it contains no result.json");
  const Json result = parse_json(read_file(folder / "result.json", kMaxStateBytes));
  return result.is_structured() ? CellState{CellState::Kind::finished} : damaged("its result.json is not a JSON object or array");
}

}  // namespace

CellState cell_state(const fs::path& sweep, const Experiment& experiment, const Cell& cell, const InputHashes& inputs) {
  const fs::path folder = sweep / "cells" / cell.key;
  if (!holds_results(folder)) return {};
  try {
    return experiment.command == "run" ? run_state(folder, cell, inputs) : other_state(folder);
  } catch (const Error& error) {
    return damaged(error.what());
  } catch (const fs::filesystem_error& error) {
    return damaged(error.code().message());
  }
}

std::string_view name_of(CellState::Kind kind) {
  constexpr std::string_view names[] = {"new", "unfinished", "finished", "damaged"};
  return names[static_cast<int>(kind)];
}

}  // namespace fedstride
