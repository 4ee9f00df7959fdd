#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace fedstride {

// This project's names of nlohmann's types. Slow to compile: include it in .cpp files only.
using Json = nlohmann::json;                 ///< keys sorted
using OrderedJson = nlohmann::ordered_json;  ///< keys in the order in which they were added

/// Parses a text; the result is_discarded() if it is no JSON. Compiled once, in json.cpp: nlohmann's parser costs more to
/// compile than most files here.
Json parse_json(std::string_view text);
OrderedJson parse_ordered_json(std::string_view text);

/// The number, or null for NaN and infinities, which JSON lacks.
inline OrderedJson number_or_null(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

}  // namespace fedstride
