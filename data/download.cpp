#include "data/download.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <curl/curl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <vector>

#include "core/call_failed.hpp"
#include "core/error.hpp"
#include "core/files.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr curl_off_t kMaxDownloadBytes = curl_off_t{1} << 30;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct Transfer {
  std::FILE* file = nullptr;
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t received = 0;
  int write_error = 0;
  bool too_large = false;
  DownloadProgress progress;
};

std::size_t write_bytes(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  transfer.received += bytes;
  transfer.too_large = transfer.offset + transfer.received > static_cast<std::uint64_t>(kMaxDownloadBytes);
  if (transfer.too_large) return 0;
  if (std::fwrite(data, 1, bytes, transfer.file) != bytes) {
    transfer.write_error = errno;
    return 0;
  }
  return bytes;
}

int report(void* user, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (now > 0)
    transfer.progress(transfer.name, transfer.offset + static_cast<std::uint64_t>(now),
                      total > 0 ? transfer.offset + static_cast<std::uint64_t>(total) : 0);
  return 0;
}

enum class Outcome { complete, cannot_resume };

/// Fetches the contents of the URL, starting at byte `offset`, and appends them to the file.
Outcome fetch(const std::string& url, const fs::path& path, std::uint64_t offset, DownloadProgress progress) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(), curl_easy_cleanup);
  if (initialized != CURLE_OK || !handle) throw failure("libcurl cannot be initialized");
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), offset > 0 ? "ab" : "wb"));
  if (!file) throw call_failed("cannot write '" + path.string() + "': " + std::strerror(errno), errno);

  Transfer transfer{.file = file.get(), .name = path.filename().string(), .offset = offset, .progress = progress};
  char reason[CURL_ERROR_SIZE] = "";
  CURL* curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "fedstride");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 30L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, kMaxDownloadBytes);
  curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(offset));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, report);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  const CURLcode code = curl_easy_perform(curl);
  const bool flushed = std::fflush(file.get()) == 0;

  long answer = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
  const std::string asked = "cannot get " + url + ": ";
  if (transfer.write_error != 0 || !flushed)
    throw failure("cannot write '" + path.string() +
                  "': " + std::strerror(transfer.write_error != 0 ? transfer.write_error : errno));
  if (transfer.too_large || code == CURLE_FILESIZE_EXCEEDED)
    throw failure(asked + "it is larger than " + std::to_string(kMaxDownloadBytes) + " bytes, the limit");
  if (offset > 0 &&
      (code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME || (code == CURLE_HTTP_RETURNED_ERROR && answer == 416)))
    return Outcome::cannot_resume;
  if (code == CURLE_HTTP_RETURNED_ERROR) throw failure(asked + "the server answered " + std::to_string(answer));
  if (code == CURLE_PARTIAL_FILE)
    throw failure(asked + "the connection ended after " + std::to_string(offset + transfer.received) +
                  " bytes; run the same command again to continue");
  if (code != CURLE_OK) throw failure(asked + (reason[0] != '\0' ? reason : curl_easy_strerror(code)));
  return Outcome::complete;
}

std::string address_of(const OfficialDownload& item, const std::string& mirror, bool alone) {
  if (mirror.empty()) return std::string(item.url);
  if (alone && mirror.back() != '/') return mirror;
  return mirror + (mirror.back() == '/' ? "" : "/") + std::string(item.file);
}

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
      throw failure(archive_name + " contains a file of more than " + std::to_string(kMaxArchivedFileBytes) + " bytes");
    file.write(buffer.data(), count);
  }
  file.close();
  if (!file) throw failure("cannot write '" + to.string() + "': is the disk full?");
}

/// Extracts only the given files, from any folder of a tar archive (gzipped or not), into `folder`.
void unpack_files(const fs::path& path, std::span<const std::string> names, const fs::path& folder) {
  const std::string archive_name = "'" + path.string() + "'";
  const std::unique_ptr<struct archive, decltype(&archive_read_free)> reader(archive_read_new(), archive_read_free);
  if (!reader) throw failure("libarchive cannot be initialized");
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  if (archive_read_open_filename(reader.get(), path.c_str(), std::size_t{1} << 18) != ARCHIVE_OK)
    throw failure("cannot unpack " + archive_name + ": " + archive_error_string(reader.get()));

  std::vector<std::string> missing(names.begin(), names.end());
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK || code == ARCHIVE_WARN) {
    const char* entry_path = archive_entry_pathname(entry);
    if (entry_path == nullptr || archive_entry_filetype(entry) != AE_IFREG) continue;
    const std::string name = fs::path(entry_path).filename().string();
    const auto found = std::find(missing.begin(), missing.end(), name);
    if (found == missing.end()) continue;
    copy_entry(reader.get(), archive_name, folder / name);
    missing.erase(found);
  }
  if (code != ARCHIVE_EOF) throw failure("cannot unpack " + archive_name + ": " + archive_error_string(reader.get()));
  if (!missing.empty()) throw failure(archive_name + " has no '" + missing.front() + "'");
}

}  // namespace

void download_file(const std::string& url, const fs::path& path, std::string_view sha256, DownloadProgress progress) {
  for (;;) {
    std::error_code ignored;
    const std::uint64_t offset = fs::is_regular_file(path, ignored) ? fs::file_size(path) : 0;
    if (offset > 0 && file_sha256(path) == sha256) return;
    try {
      if (fetch(url, path, offset, progress) == Outcome::complete && file_sha256(path) == sha256) return;
    } catch (...) {
      if (offset == 0 && fs::is_empty(path, ignored)) fs::remove(path, ignored);
      throw;
    }
    const std::string found = file_sha256(path);
    fs::remove(path, ignored);
    if (offset == 0)
      throw failure("the download from " + url + " has SHA-256 " + found + "; it must be " + std::string(sha256) +
                    "; nothing was kept");
    // The partial file may have been corrupt, so download again from the beginning.
  }
}

void get_dataset(const OfficialSet& set, const fs::path& folder, const std::string& mirror, DownloadProgress progress) {
  const fs::path target = folder / set.name;
  const fs::path work = folder / ("." + std::string(set.name) + ".download");
  std::error_code error;
  make_folder(work);
  try {
    for (const auto& item : set.downloads)
      download_file(address_of(item, mirror, set.downloads.size() == 1), work / item.file, item.sha256, progress);
  } catch (...) {
    fs::remove(work, error);  // keeps the folder if a partial download remains
    throw;
  }

  std::vector<std::string> names;
  if (set.is_archive) {
    for (const auto& file : set.files) names.emplace_back(file.name);
    unpack_files(work / set.downloads.front().file, names, work);
  } else {
    for (const auto& item : set.downloads) names.emplace_back(item.file);
  }
  make_folder(target);
  for (const auto& name : names) {
    fs::rename(work / name, target / name, error);
    if (error) throw failure("cannot move '" + name + "' to '" + target.string() + "': " + error.message());
  }
  // Plain files take precedence over gzipped ones, so no older file in the other form may remain.
  for (const auto& file : set.files)
    for (const std::string& other : {std::string(file.name), std::string(file.name) + ".gz"})
      if (std::ranges::find(names, other) == names.end()) fs::remove(target / other, error);
  fs::remove_all(work, error);
}

}  // namespace fedstride
