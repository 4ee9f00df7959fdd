#include "core/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

// A folder that contains one of these belongs to the program.
constexpr std::string_view kMarks[] = {"checkpoint", "ledger.jsonl", "rounds.jsonl",  "sweep.json",    "tune.json",
                                       "memory",     "runs.key",     "authority.pem", "statement.json"};
// Other files and folders that the program keeps there; tests/cli/outputs_test.cpp checks that the list is complete.
constexpr std::string_view kKept[] = {
    "config.toml", "schema.json",      "partition.json",  "partition.rows.npy", "partition.sizes.npy", "summary.json",
    "states",      "states.new",       "states.old",      "survivors",          "timeline.events",     "versions",
    "cells.csv",   "error.txt",        "experiment.toml", "result.json",        "rounds.csv",          "summary.csv",
    "clients.csv", "expectations.csv", "rungs.csv",       "winner.toml"};

bool is_kept(const fs::path& name) {
  return std::ranges::find(kMarks, name.string()) != std::end(kMarks) ||
         std::ranges::find(kKept, name.string()) != std::end(kKept) || name.extension() == ".key" || name.extension() == ".pem" ||
         name.extension() == ".safetensors";
}

bool is_marked(const fs::path& folder) {
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return is_there(folder / mark); });
}

// True if the program keeps this file, or a parent folder of it, in one of its folders.
bool is_program_s(const fs::path& file, const fs::path& own) {
  for (fs::path inner = file; inner.has_relative_path(); inner = inner.parent_path()) {
    const fs::path folder = inner.parent_path();
    if (is_kept(inner.filename()) && (folder == own || is_marked(folder))) return true;
  }
  return false;
}

// The absolute path, with existing links resolved; empty if that fails.
fs::path whole(const fs::path& path) {
  std::error_code error;
  fs::path absolute = fs::absolute(path, error);
  if (error) return {};
  absolute = fs::weakly_canonical(absolute, error);
  if (absolute.has_relative_path() && !absolute.has_filename()) absolute = absolute.parent_path();  // the path ended in a slash
  return error ? fs::path() : absolute;
}

}  // namespace

void check_output(const fs::path& path, const fs::path& own) {
  const auto refused = [&](const std::string& why) { return failure("cannot write '" + path.string() + "': " + why); };
  const FileTarget target = target_of(path);
  if (target.kind != FileTarget::Kind::made && ::access(target.path.c_str(), W_OK) != 0) throw refused(std::strerror(errno));
  if (target.kind == FileTarget::Kind::written_into) return;
  const fs::path parent = target.path.has_parent_path() ? target.path.parent_path() : fs::path(".");
  const fs::path folder = whole(parent), kept = own.empty() ? own : whole(own);
  if (is_program_s(folder / target.path.filename(), kept))
    throw refused("fedstride keeps its own file of this name in the folder of a run, a sweep or a client; name another file");
  if (!kept.empty() && folder == kept) return;  // the run creates it
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw refused("there is no folder '" + parent.string() + "'");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw refused("its folder is not writable: " + std::string(std::strerror(errno)));
}

}  // namespace fedstride
