#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace fedstride {

/// A table of a file of LMDB.
struct StateTable {
  std::string_view name;
  std::size_t key_bytes = 0;  ///< of whole numbers; 0: texts, on a single page
};

/// Checks a file of LMDB (data format 1, as 0.9 writes it), made without subfolder, before it is mapped. LMDB trusts the numbers that lead
/// from page to page, so that a damaged one ends the process, or has it write over pages that are in use. Here each page that is used, and
/// each that is free, must be where it can be, once; keys must be in order. Read are the pages of all trees and the heads of large values, but
/// not these values. Throws Error (failure) that names the file: cut, damaged or not such a file.
void check_state_pages(const std::filesystem::path& file, std::span<const StateTable> tables);

}  // namespace fedstride
