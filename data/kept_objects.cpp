#include "data/kept_objects.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/descriptor.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "data/data_folder.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kObject = ".object", kNew = ".new-";
constexpr std::size_t kMaxTop = std::size_t{1} << 16;  // bytes read from a file to find its source

/// The folder of the kept objects; empty if there is none.
fs::path objects_folder() {
  const fs::path cache = cache_folder();
  return cache.empty() ? cache : cache / "objects";
}

Error folder_error(const fs::path& folder, const std::string& why) {
  return failure("the folder for converted data '" + folder.string() + "' " + why);
}

/// Restricts the folder to its owner.
void close_to_others(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) throw folder_error(folder, std::string("cannot be used: ") + std::strerror(errno));
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) throw folder_error(folder, "is not a folder that this user owns");
  if ((status.st_mode & 077) != 0 && ::chmod(folder.c_str(), 0700) != 0)
    throw folder_error(folder, std::string("cannot be restricted to its owner: ") + std::strerror(errno));
}

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) throw failure("cannot remove '" + path.string() + "': " + error.message());
}

/// The class of the object that was converted to this file, as stated in its third line; empty if the file is damaged.
std::string made_of(const fs::path& path) {
  const Descriptor file = opened(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (!file) return "";
  std::string top(kMaxTop, '\0');
  const ssize_t count = uninterrupted([&] { return ::read(file.get(), top.data(), top.size()); });
  top.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  if (top.starts_with("PK")) return "a file or folder of another format";  // a NumPy archive (data/files/convert.hpp)
  const auto lines = split(top, '\n');
  if (lines.size() < 4) return "";
  try {
    return one_line(parse_json(lines[2]).value("made_of", Json("")).get<std::string>());
  } catch (const std::exception&) {
    return "";
  }
}

}  // namespace

KeptPlace place_of_object(std::string_view digest) {
  const fs::path folder = objects_folder();
  if (folder.empty()) throw failure("no folder for converted data: neither XDG_CACHE_HOME nor HOME is set");
  make_folder(folder.parent_path());
  ::mkdir(folder.c_str(), 0700);  // the next line reports errors
  close_to_others(folder);
  const SecretKey key = load_or_create_key(folder / "key");
  return {folder, keyed_hash(key, "object " + std::string(digest)).substr(0, 32) + std::string(kObject)};
}

std::vector<KeptObject> kept_objects() {
  std::vector<KeptObject> found;
  std::error_code error;
  for (fs::directory_iterator at(objects_folder(), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    struct stat status {};
    if (!name.ends_with(kObject) || ::lstat(at->path().c_str(), &status) != 0) continue;
    found.push_back({.name = name.substr(0, name.size() - kObject.size()),
                     .made_of = made_of(at->path()),
                     .bytes = static_cast<std::uint64_t>(status.st_size),
                     .last_used = status.st_mtime});
  }
  std::ranges::sort(found, [](const KeptObject& a, const KeptObject& b) {
    return a.last_used != b.last_used ? a.last_used > b.last_used : a.name < b.name;
  });
  return found;
}

KeptObject forget_object(std::string_view beginning) {
  std::vector<KeptObject> found = kept_objects();
  std::erase_if(found, [&](const KeptObject& one) { return !one.name.starts_with(beginning); });
  if (found.size() != 1)
    throw usage_error("name is '" + std::string(beginning) + "', which begins " +
                      (found.empty() ? "no name of converted data" : counted(found.size(), "name") + " of converted data") +
                      "; 'fedstride data forget --dry-run' lists them");
  remove_file(objects_folder() / (found.front().name + std::string(kObject)));
  return found.front();
}

void forget_objects() {
  const fs::path folder = objects_folder();
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(kObject) || name.starts_with(kNew) || name == "key" || is_temporary(at->path()))
      files.push_back(at->path());
  }
  for (const fs::path& file : files) remove_file(file);
}

}  // namespace fedstride
