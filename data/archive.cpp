#include "data/archive.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

#include "core/error.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxArchivedFileBytes = std::uint64_t{1} << 30;

void copy_entry(struct archive* reader, const std::string& archive_name, const fs::path& to) {
  std::ofstream file(to, std::ios::binary | std::ios::trunc);
  std::vector<char> buffer(std::size_t{1} << 18);
  std::uint64_t total = 0;
  for (;;) {
    const la_ssize_t count = archive_read_data(reader, buffer.data(), buffer.size());
    if (count < 0) throw failure("cannot unpack " + archive_name + ": " + archive_error_string(reader));
    if (count == 0) break;
    total += static_cast<std::uint64_t>(count);
    if (total > kMaxArchivedFileBytes)
      throw failure(archive_name + " holds a file of more than " + std::to_string(kMaxArchivedFileBytes) + " bytes");
    file.write(buffer.data(), count);
  }
  file.close();
  if (!file) throw failure("cannot write '" + to.string() + "': is the disk full?");
}

}  // namespace

void unpack_files(const fs::path& archive, std::span<const std::string> names, const fs::path& folder) {
  const std::string archive_name = "'" + archive.string() + "'";
  const std::unique_ptr<struct archive, decltype(&archive_read_free)> reader(archive_read_new(), archive_read_free);
  if (!reader) throw failure("libarchive cannot be initialised");
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  if (archive_read_open_filename(reader.get(), archive.c_str(), std::size_t{1} << 18) != ARCHIVE_OK)
    throw failure("cannot unpack " + archive_name + ": " + archive_error_string(reader.get()));

  std::vector<std::string> missing(names.begin(), names.end());
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK || code == ARCHIVE_WARN) {
    const char* path = archive_entry_pathname(entry);
    if (path == nullptr || archive_entry_filetype(entry) != AE_IFREG) continue;
    const std::string name = fs::path(path).filename().string();
    const auto found = std::find(missing.begin(), missing.end(), name);
    if (found == missing.end()) continue;
    copy_entry(reader.get(), archive_name, folder / name);
    missing.erase(found);
  }
  if (code != ARCHIVE_EOF) throw failure("cannot unpack " + archive_name + ": " + archive_error_string(reader.get()));
  if (!missing.empty()) throw failure(archive_name + " has no '" + missing.front() + "' in it");
}

}  // namespace fedstride
