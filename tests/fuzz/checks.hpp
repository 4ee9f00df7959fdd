#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "data/dataset.hpp"

// Common to the fuzz targets (libFuzzer) of everything that people bring: a failed check ends the process, which libFuzzer reports
// together with the input.

namespace fedstride::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Bytes are read, or refused in one line.
template <class Use>
void read_or_refuse(Use use) {
  try {
    use();
  } catch (const Error& error) {
    const std::string text = error.what();
    require(!text.empty() && text.find('\n') == std::string::npos);
  }
}

/// A file of these bytes, in memory where there is a place for such files.
inline std::string file_of(const std::string& bytes, const char* name) {
  static const std::string folder =
      (access("/dev/shm", W_OK) == 0 ? "/dev/shm/fedstride-fuzz-" : "/tmp/fedstride-fuzz-") + std::to_string(getpid()) + "-";
  std::string path = folder + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

/// Data that were read are whole.
inline void check(const Dataset& data) {
  require(data.clients.empty() || data.clients.size() == data.size());
  for (const std::uint32_t client : data.clients) require(client < data.client_names.size());
  const std::size_t size = data.shape.size();
  require(data.pixels.size() + data.features.size() + data.tokens.size() == data.size() * size);
  for (const std::uint16_t token : data.tokens) require(token < data.vocabulary);
  if (data.targets == Targets::classes)
    for (const Label label : data.labels) require(label < data.classes);
  if (data.targets == Targets::positions)
    for (const Label label : data.position_labels) require(label == kNoLabel || label < data.classes);
  if (data.targets == Targets::values || data.targets == Targets::flags)
    require(data.values.size() == data.size() * static_cast<std::size_t>(data.classes));
}

}  // namespace fedstride::fuzz
