#include "data/data_folder.hpp"

#include <cstdlib>

#include "core/error.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool has(const fs::path& folder, std::string_view file) {
  return is_file(folder / file) || is_file(folder / (std::string(file) + ".gz"));
}

}  // namespace

fs::path data_folder(const DataOptions& options) {
  if (!options.data_dir.empty()) return options.data_dir;
  if (const auto folder = environment("FEDSTRIDE_DATA"); !folder.empty()) return folder;
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "fedstride";
  if (const auto home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "fedstride";
  throw failure("no folder for data: none of --data-dir, FEDSTRIDE_DATA, XDG_CACHE_HOME and HOME is set");
}

fs::path find_dataset(const DataOptions& options, std::string_view name, std::string_view file,
                      std::initializer_list<std::string_view> aliases, std::string_view system_folder) {
  const fs::path folder = data_folder(options);
  std::vector<fs::path> places{folder / name};
  for (const auto alias : aliases) {
    places.push_back(folder / alias);
    places.push_back(folder / name / alias);
  }
  if (!options.data_dir.empty()) places.push_back(folder);
  if (options.data_dir.empty() && !system_folder.empty()) places.emplace_back(system_folder);
  for (const auto& place : places)
    if (has(place, file)) return place;

  std::string text = "data set '" + std::string(name) + "' is not here: no " + std::string(file) + " in '" +
                     places.front().string() + "'";
  if (!options.data_dir.empty()) text += " or '" + folder.string() + "'";
  if (options.data_dir.empty() && !system_folder.empty()) text += " or '" + std::string(system_folder) + "'";
  throw failure(text + "; get it with 'fedstride data get " + std::string(name) + "' or name its folder with --data-dir");
}

fs::path plain_or_gzipped(const fs::path& folder, std::string_view file) {
  if (const fs::path plain = folder / file; is_file(plain)) return plain;
  if (const fs::path gzipped = folder / (std::string(file) + ".gz"); is_file(gzipped)) return gzipped;
  throw failure("'" + (folder / file).string() + "' is missing (gzipped would do too)");
}

}  // namespace fedstride
