#include "data/download.hpp"

#include <curl/curl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "core/error.hpp"
#include "data/archive.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr curl_off_t kMaxDownloadBytes = curl_off_t{1} << 30;

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

/// Fetches the url from byte `offset` on and appends it to the file.
Outcome fetch(const std::string& url, const fs::path& path, std::uint64_t offset, DownloadProgress progress) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(), curl_easy_cleanup);
  if (initialised != CURLE_OK || !handle) throw failure("libcurl cannot be initialised");
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), offset > 0 ? "ab" : "wb"), std::fclose);
  if (!file) throw failure("cannot write '" + path.string() + "': " + std::strerror(errno));

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
    throw failure(asked + "it is larger than the " + std::to_string(kMaxDownloadBytes) + " bytes that are accepted");
  if (offset > 0 &&
      (code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME || (code == CURLE_HTTP_RETURNED_ERROR && answer == 416)))
    return Outcome::cannot_resume;
  if (code == CURLE_HTTP_RETURNED_ERROR) throw failure(asked + "the server answered " + std::to_string(answer));
  if (code == CURLE_PARTIAL_FILE)
    throw failure(asked + "the connection ended after " + std::to_string(offset + transfer.received) +
                  " bytes; the same command goes on from there");
  if (code != CURLE_OK) throw failure(asked + (reason[0] != '\0' ? reason : curl_easy_strerror(code)));
  return Outcome::complete;
}

std::string address_of(const OfficialDownload& item, const std::string& mirror, bool alone) {
  if (mirror.empty()) return std::string(item.url);
  if (alone && mirror.back() != '/') return mirror;
  return mirror + (mirror.back() == '/' ? "" : "/") + std::string(item.file);
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
      throw failure("what " + url + " sends has SHA-256 " + found + "; it must be " + std::string(sha256) + ": nothing was kept");
    // The partial file may have been wrong: download again from the beginning.
  }
}

void get_dataset(const OfficialSet& set, const fs::path& folder, const std::string& mirror, DownloadProgress progress) {
  const fs::path target = folder / set.name;
  const fs::path work = folder / ("." + std::string(set.name) + ".download");
  std::error_code error;
  fs::create_directories(work, error);
  if (error) throw failure("cannot make the folder '" + work.string() + "': " + error.message());
  try {
    for (const auto& item : set.downloads)
      download_file(address_of(item, mirror, set.downloads.size() == 1), work / item.file, item.sha256, progress);
  } catch (...) {
    fs::remove(work, error);  // only if nothing worth continuing is in it
    throw;
  }

  std::vector<std::string> names;
  if (set.is_archive) {
    for (const auto& file : set.files) names.emplace_back(file.name);
    unpack_files(work / set.downloads.front().file, names, work);
  } else {
    for (const auto& item : set.downloads) names.emplace_back(item.file);
  }
  fs::create_directories(target, error);
  for (const auto& name : names) {
    if (!error) fs::rename(work / name, target / name, error);
    if (error) throw failure("cannot move '" + name + "' to '" + target.string() + "': " + error.message());
  }
  fs::remove_all(work, error);
}

}  // namespace fedstride
