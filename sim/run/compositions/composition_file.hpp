#pragma once

#include <filesystem>
#include <vector>

#include "sim/run/compositions/composition.hpp"

namespace fedstride {

/// The cases of a composition file (docs/compositions.md). A mistake in one case becomes that case's `error`: an unknown key or word, a
/// missing field, a number out of range or not a number (including NaN, Infinity and 1e999), a duplicate key, a missing id or that of
/// an earlier case. Throws Error (failure), naming the file, if it cannot be read, is larger than kMaxCompositionFile, is not JSON, or
/// has another version, an unknown key outside the cases, or too many cases.
std::vector<CompositionCase> read_compositions(const std::filesystem::path& path);

}  // namespace fedstride
