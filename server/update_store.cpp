#include "server/update_store.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/call_failed.hpp"
#include "core/error.hpp"

namespace fedstride {

UpdateStore::~UpdateStore() {
  for (const std::span<float> mapped : mapped_) ::munmap(mapped.data(), mapped.size_bytes());
}

std::span<const float> UpdateStore::keep(std::span<const float> values) {
  const std::span<float> kept = place(values.size());
  std::ranges::copy(values, kept.begin());
  return kept;
}

std::span<float> UpdateStore::place(std::size_t size) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t bytes = std::uint64_t{size} * sizeof(float);
  if (bytes > memory_ - used_) return place_in_file(size);
  used_ += bytes;
  return view(vectors_.emplace_back(size));
}

std::span<float> UpdateStore::place_in_file(std::size_t size) {
  if (size == 0) return {};
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (const char* named = std::getenv("TMPDIR"); error && named != nullptr) folder = named;
  const auto refused = [&](int why) {
    return call_failed("cannot store an update in folder '" + folder.string() + "': " + std::strerror(why) +
                           "; set TMPDIR to another folder, or allow more memory with --update-memory",
                       why);
  };
  if (!file_) file_ = opened(folder, O_TMPFILE | O_RDWR, 0600);
  if (!file_) throw refused(errno);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t bytes = std::uint64_t{size} * sizeof(float);
  const std::uint64_t whole_pages = (bytes + page - 1) / page * page;
  // The file is allocated before it is mapped, so a full disk is an error here, not a signal when a page is written.
  if (const int why = ::posix_fallocate(file_.get(), static_cast<off_t>(file_bytes_), static_cast<off_t>(whole_pages)); why != 0)
    throw refused(why);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), static_cast<off_t>(file_bytes_));
  if (mapped == MAP_FAILED) throw refused(errno);
  file_bytes_ += whole_pages;
  return mapped_.emplace_back(static_cast<float*>(mapped), size);
}

}  // namespace fedstride
