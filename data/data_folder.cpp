#include "data/data_folder.hpp"

#include <cstdlib>
#include <vector>

#include "core/environment.hpp"
#include "core/error.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

fs::path cache_folder() {
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "fedstride";
  if (const auto home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "fedstride";
  return {};
}

fs::path data_folder(const DataOptions& options) {
  if (!options.data_dir.empty()) return options.data_dir;
  if (const auto folder = environment("FEDSTRIDE_DATA"); !folder.empty()) return folder;
  if (fs::path folder = cache_folder(); !folder.empty()) return folder;
  throw failure("no data folder: none of --data-dir, FEDSTRIDE_DATA, XDG_CACHE_HOME and HOME is set");
}

fs::path find_dataset(const DataOptions& options, const DataPlace& place) {
  const bool told = !options.data_dir.empty();
  fs::path folder = data_folder(options);
  std::vector<fs::path> candidates{folder / place.name};
  for (const auto alias : place.aliases) {
    if (alias.empty()) continue;
    candidates.push_back(folder / alias);
    candidates.push_back(folder / place.name / alias);
  }
  if (told) candidates.push_back(folder);
  if (!told && !place.system_folder.empty()) candidates.emplace_back(place.system_folder);
  for (const auto& candidate : candidates)
    if (has_file(candidate, place.file)) return candidate;

  std::string text = "data set '" + std::string(place.name) + "' was not found: ";
  if (std::error_code ignored; told && !fs::exists(folder, ignored)) {
    text += "'" + folder.string() + "' does not exist";
  } else {
    text += "no " + std::string(place.file) + " in '" + candidates.front().string() + "'";
    if (candidates.size() > 1) text += " or '" + candidates.back().string() + "'";
  }
  throw failure(text + "; download it with 'fedstride data get " + std::string(place.name) +
                "' or give the folder that contains it with --data-dir");
}

bool has_file(const fs::path& folder, std::string_view file) {
  return is_file(folder / file) || is_file(folder / (std::string(file) + ".gz"));
}

fs::path plain_or_gzipped(const fs::path& folder, std::string_view file) {
  if (fs::path plain = folder / file; is_file(plain)) return plain;
  if (fs::path gzipped = folder / (std::string(file) + ".gz"); is_file(gzipped)) return gzipped;
  throw failure("'" + (folder / file).string() + "' is missing (plain or gzipped)");
}

}  // namespace fedstride
