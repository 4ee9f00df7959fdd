#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace fedstride {

/// A table of an LMDB file.
struct StateTable {
  std::string_view name;
  std::size_t key_bytes = 0;  ///< size of an integer key; 0: text keys, all on one page
};

/// Checks an LMDB file (data format 1, as written by LMDB 0.9 with MDB_NOSUBDIR) before it is mapped. LMDB trusts its page
/// numbers: a damaged number can crash the process or make it overwrite pages in use. Checks that the number of every used or
/// free page is valid and occurs once, and that keys are in order. Reads the pages of all trees and the headers of large values,
/// but not the values. Throws Error (failure), naming the file, if it is truncated, damaged or not an LMDB file.
void check_state_pages(const std::filesystem::path& file, std::span<const StateTable> tables);

}  // namespace fedstride
