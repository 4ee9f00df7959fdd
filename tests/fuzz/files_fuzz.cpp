// A fuzz target (libFuzzer) of the readers of data files that people bring: NumPy archives, LEAF's JSON, tables and idx files, told
// apart by their first bytes. An error is one line; data that are read are whole. HDF5 files are read by a library of its own, and
// tests/data/hdf5_test.cpp cuts and alters them. tests/fuzz/files has a seed of each kind.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "data/files/assembly.hpp"
#include "data/files/binary.hpp"
#include "data/files/csv.hpp"
#include "data/files/leaf_json.hpp"
#include "data/files/npz.hpp"

namespace fedstride {
namespace {

/// A failed check ends the process, which libFuzzer reports together with the input.
void require(bool holds) {
  if (!holds) std::abort();
}

/// A file of these bytes, in memory where there is a place for such files.
std::string file_of(const std::string& bytes, const char* name) {
  static const std::string folder =
      (access("/dev/shm", W_OK) == 0 ? "/dev/shm/fedstride-fuzz-" : "/tmp/fedstride-fuzz-") + std::to_string(getpid()) + "-";
  std::string path = folder + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

void check(const Dataset& data) {
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

void read_bytes(std::span<const std::uint8_t> bytes) {
  Assembly both("the file", "the file");
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("PK")) {
    read_npz(bytes, {}, both);
  } else if (text.starts_with("{")) {
    read_leaf_json(bytes, both);
  } else if (text.starts_with(std::string("\0\0", 2))) {
    const std::size_t middle = text.size() - std::min<std::size_t>(10, text.size());  // two labels
    file_of(text.substr(middle), "labels");
    read_idx_files(file_of(text.substr(0, middle), "images"), both, false);
  } else {
    const ReadSettings settings{.label = text.starts_with("k") ? "kind" : "", .client_column = text.starts_with("k") ? "2" : ""};
    read_csv(file_of(text, "table"), settings, both, false);
  }
  const DataPair pair = both.finish(TargetsAre::automatic, false);
  check(pair.train);
  check(pair.test);
}

}  // namespace
}  // namespace fedstride

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    fedstride::read_bytes({data, size});
  } catch (const fedstride::Error& error) {
    const std::string text = error.what();
    if (text.empty()) std::abort();
  }
  return 0;
}
