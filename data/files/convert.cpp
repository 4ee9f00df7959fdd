#include "data/files/convert.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/call_failed.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/python_part.hpp"
#include "core/text.hpp"
#include "data/kept_objects.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVersion = "convert 3";  // increment when conversion gives other arrays

Descriptor new_memory() {
  Descriptor file(::memfd_create("fedstride", MFD_CLOEXEC));
  if (!file) throw failure(std::string("no memory for converted data: ") + std::strerror(errno));
  return file;
}

std::string path_of(const Descriptor& file) { return "/dev/fd/" + std::to_string(file.get()); }

/// The training files, then the test files; those in a folder of pictures in the order of their paths. Throws Error (failure) for
/// a pipe or a device in place of a file.
std::vector<fs::path> files_of(const OwnFiles& data) {
  std::vector<fs::path> files;
  for (const auto* part : {&data.train, &data.test})
    for (const fs::path& path : *part) {
      if (data.form != FileForm::pictures) {
        size_of_file(path);
        files.push_back(path);
        continue;
      }
      const std::size_t begin = files.size();
      for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.is_regular_file()) files.push_back(entry.path());
      std::sort(files.begin() + static_cast<std::ptrdiff_t>(begin), files.end());
    }
  return files;
}

/// What the archive depends on: the files' names and contents, and all options.
std::string digest_of(const OwnFiles& data, const std::string& options) {
  Hash hash;
  hash.text(kVersion).text(options);
  std::vector<char> some(std::size_t{1} << 20);
  for (const fs::path& path : files_of(data)) {
    hash.text(path.string()).value(size_of_file(path));
    std::ifstream file = opened_stream(path);
    while (file.read(some.data(), static_cast<std::streamsize>(some.size())) || file.gcount() > 0)
      hash.bytes(some.data(), static_cast<std::size_t>(file.gcount()));
  }
  return hash.hex();
}

/// The converter's options, without `out`.
Json options_of(const OwnFiles& data, const ReadSettings& settings, const std::vector<std::string>& words) {
  const auto paths = [](const std::vector<fs::path>& files) {
    std::vector<std::string> names;
    for (const fs::path& file : files) names.push_back(fs::absolute(file).string());
    return names;
  };
  return {{"format", choice_name(data.form)},
          {"train", paths(data.train)},
          {"test", paths(data.test)},
          {"inputs", settings.inputs},
          {"label", settings.label},
          {"client_column", settings.client_column},
          {"shape", settings.shape},
          {"resize", settings.resize},
          {"protected", settings.rows_are_protected},
          {"tables", true},  // which may be written as CSV
          {"words", words}};
}

/// Converts the data into an open file.
void convert_into(const Descriptor& out, Json options) {
  options["out"] = path_of(out);
  const std::vector<int> kept{out.get()};
  const auto [code, printed] = run_python_part("fedstride_convert", dump_json(options), kept);
  std::string said = one_line(std::string(trimmed(printed)));
  if (said.empty())
    said = "'" + options["train"][0].text() + "' cannot be converted: the converter ended " +
           (code < 0 ? "by signal " + std::to_string(-code) + "; the file may be damaged" : "with code " + std::to_string(code));
  if (code != 0) throw code == static_cast<int>(Error::Kind::usage) ? usage_error(said) : failure(said);
}

bool keeps_nothing() {
  const char* limit = std::getenv("FEDSTRIDE_CACHE_LIMIT");
  return limit != nullptr && std::string_view(limit) == "0";
}

}  // namespace

Converted in_memory(std::span<const std::uint8_t> bytes) {
  Descriptor memory = new_memory();
  while (!bytes.empty()) {
    const ssize_t some = ::write(memory.get(), bytes.data(), bytes.size());
    if (some <= 0) throw failure(std::string("no memory for data: ") + std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(some));
  }
  return {.path = path_of(memory), .memory = std::move(memory)};
}

void convert_data(const OwnFiles& data, const ReadSettings& settings, const std::vector<std::string>& words,
                  const fs::path& out) {
  files_of(data);
  const FileTarget target = target_of(out);
  if (target.kind == FileTarget::Kind::written_into) throw usage_error("out is '" + out.string() + "'; it must be a file");
  const Temporary made = make_temporary(target.path, 0600);
  if (!made.file) throw call_failed("cannot write '" + out.string() + "': " + std::strerror(errno), errno);
  try {
    convert_into(made.file, options_of(data, settings, words));
    fs::rename(made.path, target.path);
  } catch (...) {
    ::unlink(made.path.c_str());
    throw;
  }
}

Converted converted(const OwnFiles& data, const ReadSettings& settings, const std::vector<std::string>& words, bool is_private) {
  if (is_private || keeps_nothing()) {
    files_of(data);
    Descriptor memory = new_memory();
    convert_into(memory, options_of(data, settings, words));
    return {.path = path_of(memory), .memory = std::move(memory)};
  }
  const std::string options = dump_json(options_of(data, settings, words)), digest = digest_of(data, options);
  const KeptPlace place = place_of_object(digest);
  const fs::path path = place.folder / place.name;
  std::error_code error;
  if (!fs::exists(path, error)) {
    convert_data(data, settings, words, path);
    if (digest_of(data, options) != digest) {
      fs::remove(path, error);
      throw failure("'" + data.train.front().string() + "' was changed while it was converted; try again");
    }
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);  // `fedstride data forget --dry-run` shows the last use
  return {.path = path};
}

}  // namespace fedstride
