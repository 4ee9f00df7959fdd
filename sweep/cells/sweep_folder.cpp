#include "sweep/cells/sweep_folder.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>

#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/processors.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "sweep/cells/cell_state.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

// Returns the first "model name" in /proc/cpuinfo.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(':'); colon != line.npos) return std::string(trimmed(line.substr(colon + 1)));
  return "unknown";
}

// Describes the machine and build that compute the results.
std::map<std::string, std::string> machine_description() {
  const BuildInfo build = build_info();
  std::map<std::string, std::string> machine{{"processor", processor_name()},
                                             {"processors", std::to_string(usable_processors())},
                                             {"version", build.version},
                                             {"commit", build.commit},
                                             {"compiler", build.compiler},
                                             {"libraries", library_versions()},
                                             {"instruction_set", build.instruction_set},
                                             {"numerics_version", std::to_string(kNumericsVersion)}};
  if (const std::uint64_t memory = machine_memory(); memory > 0) machine["memory_bytes"] = std::to_string(memory);
  if (utsname system{}; ::uname(&system) == 0) machine["system"] = std::string(system.sysname) + " " + system.release;
  return machine;
}

}  // namespace

fs::path sweep_path(const Experiment& experiment, const std::string& out) {
  return out.empty() ? fs::path("sweeps") / experiment.name : fs::path(out);
}

void check_sweep_folder(const fs::path& folder, const Experiment& experiment) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  if (!fs::is_directory(folder, error))
    throw usage_error("out '" + folder.string() +
                      "' is not a folder; name a sweep's folder, or one that is empty or does not exist yet");
  // The folder is listed before sweep.json is looked for, since another rank or shard may be starting the same sweep.
  std::string strange;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename() != "cells" && entry.path().filename() != "weights" && entry.path() != sweep_key(folder) &&
        !is_temporary(entry.path()))
      strange = entry.path().filename().string();
  if (!fs::exists(folder / "sweep.json", error)) {
    if (strange.empty()) return;
    throw usage_error("out '" + folder.string() + "' contains something other than a sweep ('" + strange +
                      "'); name a sweep's folder, or one that is empty or does not exist yet");
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
  make_folder(folder);
  load_or_create_key(sweep_key(folder));
}

void write_sweep_folder(const fs::path& folder, const Experiment& experiment, const InputHashes& inputs) {
  make_folder(folder / "cells");
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
