#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "data/files/assembly.hpp"

namespace fedstride {

/// Reads a file of LEAF (Caldas et al. 2018): {"users": [name, ...], "num_samples": [n, ...], "user_data": {name: {"x": [...], "y":
/// [...]}}}. An x is a number, a list of numbers (of lists, for pictures), or a text, which becomes a token for each character
/// (Characters::leaf); a y a number, a text, a list of numbers, or, where x is a text, the character that follows it. It is read as it
/// streams by: memory is that of the data. Throws Error (failure) naming user and key: another form, a user without a sample, numbers of samples
/// that are not those told.
void read_leaf_json(const std::filesystem::path& path, Assembly& into, bool as_test);

/// The same of a file's bytes.
void read_leaf_json(std::span<const std::uint8_t> bytes, Assembly& into);

}  // namespace fedstride
