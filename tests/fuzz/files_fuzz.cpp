// A fuzz target (libFuzzer) of the readers of data files that people bring: NumPy archives, tables and idx files, told apart by
// their first bytes. An error is one line; data that are read are whole.
// tests/fuzz/files has a seed of each kind.

#include <algorithm>
#include <string>

#include "data/files/readers.hpp"
#include "tests/fuzz/checks.hpp"

namespace fedstride {
namespace {

void read_bytes(std::span<const std::uint8_t> bytes, bool is_protected) {
  ReadSettings settings;
  settings.rows_are_protected = is_protected;
  if (is_protected) settings.classes = 3;
  if (is_protected) settings.vocabulary = 50;
  Assembly both("the file", "the file", settings);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("PK")) {
    read_npz(bytes, settings, both);
  } else if (text.starts_with(std::string("\0\0", 2))) {
    const std::size_t middle = text.size() - std::min<std::size_t>(10, text.size());  // two labels
    const auto labels = fuzz::file_of(text.substr(middle), "labels");
    read_idx_files(fuzz::file_of(text.substr(0, middle), "images"), labels, both, false);
  } else {
    settings.label = text.starts_with("k") ? "kind" : "";
    settings.client_column = text.starts_with("k") ? "2" : "";
    read_csv(std::vector{TableFile{fuzz::file_of(text, "table")}}, settings, both, false);
  }
  const DataPair pair = both.finish(false);
  fuzz::check(pair.train);
  fuzz::check(pair.test);
}

}  // namespace
}  // namespace fedstride

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const bool is_protected : {false, true})
    fedstride::fuzz::read_or_refuse([&] { fedstride::read_bytes({data, size}, is_protected); });
  return 0;
}
