#include "sweep/cells/sweep_folder.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/secret_key.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/cells/machine.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

}  // namespace

fs::path sweep_path(const Experiment& experiment, const std::string& out) {
  return out.empty() ? fs::path("sweeps") / experiment.name : fs::path(out);
}

void check_sweep_folder(const fs::path& folder, const Experiment& experiment) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  if (!fs::is_directory(folder, error))
    throw usage_error("out '" + folder.string() +
                      "' is not a folder; name a sweep's folder, or one that is empty or not there yet");
  // Listed before sweep.json is looked for: another rank or shard may be beginning the same sweep at this moment.
  std::string strange;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename() != "cells" && entry.path() != sweep_key(folder) && entry.path().extension() != ".tmp")
      strange = entry.path().filename().string();
  if (!fs::exists(folder / "sweep.json", error)) {
    if (strange.empty()) return;
    throw usage_error("out '" + folder.string() + "' holds something else than a sweep ('" + strange +
                      "'); name a sweep's folder, or one that is empty or not there yet");
  }
  const Json json = parse_json(read_file(folder / "sweep.json", std::uint64_t{1} << 24));
  const Json name = json.is_object() ? json.value("experiment", Json()) : Json();
  if (!name.is_string()) throw usage_error("out '" + folder.string() + "' has a damaged sweep.json: it names no experiment");
  if (name != experiment.name)
    throw usage_error("out '" + folder.string() + "' belongs to the experiment '" + name.get<std::string>() + "', not to '" +
                      experiment.name + "'; name another folder");
}

fs::path sweep_key(const fs::path& folder) { return folder / "cells.key"; }

void keep_sweep_key(const fs::path& folder, const Experiment& experiment) {
  const auto sets_privacy = [](const Settings& settings) { return settings.contains("dp"); };
  const bool may_be_private =
      sets_privacy(experiment.settings) || std::ranges::any_of(experiment.axes, [&](const Axis& axis) {
        return std::ranges::any_of(axis.values, [&](const Axis::Value& value) { return sets_privacy(value.settings); });
      });
  if (!may_be_private || experiment.command != "run") return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw failure("cannot make folder '" + folder.string() + "': " + error.message());
  load_or_create_key(sweep_key(folder));
}

void write_sweep_folder(const fs::path& folder, const Experiment& experiment, const InputHashes& inputs) {
  std::error_code error;
  fs::create_directories(folder / "cells", error);
  if (error) throw failure("cannot make folder '" + folder.string() + "': " + error.message());
  const FolderLock lock(folder, FolderLock::Wait::yes);
  Json fixed = Json::object();
  for (const auto& [key, setting] : experiment.settings)
    if (setting.from_command_line) std::visit([&, &name = key](const auto& value) { fixed[name] = value; }, setting.value);
  const Json json{{"experiment", experiment.name},   {"file", experiment.file}, {"scale", experiment.scale},
                  {"command", experiment.command},   {"fixed", fixed},          {"inputs", inputs},
                  {"machine", machine_description()}};
  write_file(folder / "sweep.json", dump_json(json, 2) + "\n");
  write_file(folder / "experiment.toml", experiment.text);
}

}  // namespace fedstride
