#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace fedstride {

// This project's names of nlohmann's types. Slow to compile: include it in .cpp files only.
using Json = nlohmann::json;                 ///< keys sorted
using OrderedJson = nlohmann::ordered_json;  ///< keys in the order in which they were added

/// The number, or null for NaN and infinities, which JSON lacks.
inline OrderedJson number_or_null(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

}  // namespace fedstride
