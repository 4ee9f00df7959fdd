// A fuzz target (libFuzzer) of the readers of data files that people bring: NumPy archives, LEAF's JSON, tables and idx files, told
// apart by their first bytes. An error is one line; data that are read are whole. HDF5 files have a target of their own.
// tests/fuzz/files has a seed of each kind.

#include <algorithm>
#include <string>

#include "data/files/assembly.hpp"
#include "data/files/binary.hpp"
#include "data/files/csv.hpp"
#include "data/files/leaf_json.hpp"
#include "data/files/npz.hpp"
#include "tests/fuzz/checks.hpp"

namespace fedstride {
namespace {

void read_bytes(std::span<const std::uint8_t> bytes) {
  Assembly both("the file", "the file");
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("PK")) {
    read_npz(bytes, {}, both);
  } else if (text.starts_with("{")) {
    read_leaf_json(bytes, both);
  } else if (text.starts_with(std::string("\0\0", 2))) {
    const std::size_t middle = text.size() - std::min<std::size_t>(10, text.size());  // two labels
    fuzz::file_of(text.substr(middle), "labels");
    read_idx_files(fuzz::file_of(text.substr(0, middle), "images"), both, false);
  } else {
    const ReadSettings settings{.label = text.starts_with("k") ? "kind" : "", .client_column = text.starts_with("k") ? "2" : ""};
    read_csv(fuzz::file_of(text, "table"), settings, both, false);
  }
  const DataPair pair = both.finish(TargetsAre::automatic, false);
  fuzz::check(pair.train);
  fuzz::check(pair.test);
}

}  // namespace
}  // namespace fedstride

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fedstride::fuzz::read_or_refuse([&] { fedstride::read_bytes({data, size}); });
  return 0;
}
