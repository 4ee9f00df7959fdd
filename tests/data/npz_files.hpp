#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/data/files.hpp"

namespace fedstride::test {

/// A .npy file by hand: "(3, 2)" is a shape.
inline std::string npy_bytes(const std::string& type, const std::string& shape, const std::string& bytes,
                             const char* fortran = "False") {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  return file + header + bytes;
}

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

using Entries = std::vector<std::pair<std::string, std::string>>;

/// A zip archive, as numpy.savez makes them (stored) or savez_compressed.
inline std::string npz_bytes(const Entries& entries, bool compressed = false) {
  std::string out(std::size_t{1} << 20, '\0');
  std::size_t used = 0;
  for (const auto& entry : entries) out.resize(out.size() + entry.second.size() + 4096);
  archive* writer = archive_write_new();
  archive_write_set_format_zip(writer);
  if (!compressed) archive_write_zip_set_compression_store(writer);
  archive_write_open_memory(writer, out.data(), out.size(), &used);
  for (const auto& [name, bytes] : entries) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, (name + ".npy").c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_write_header(writer, entry);
    archive_write_data(writer, bytes.data(), bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  out.resize(used);
  return out;
}

}  // namespace fedstride::test
