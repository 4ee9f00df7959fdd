#pragma once

#include <filesystem>
#include <vector>

#include "run/compositions/composition.hpp"

namespace fedstride {

/// The cases of a composition file (docs/compositions.md). A fault of one case is that case's `error`: an unknown
/// key or word, a missing field, a number out of range or no number (NaN, Infinity and 1e999 included), a key given twice,
/// an id that is missing or an earlier case's. Throws Error (failure), naming the file, if it cannot be read, is larger
/// than kMaxCompositionFile, is no JSON, or has another version, an unknown key beside the cases, or too many cases.
std::vector<CompositionCase> read_compositions(const std::filesystem::path& path);

}  // namespace fedstride
