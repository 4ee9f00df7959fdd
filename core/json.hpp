#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace fedstride {

// The names of nlohmann's types here. Slow to compile: for .cpp files alone.
using Json = nlohmann::json;                 ///< keys sorted
using OrderedJson = nlohmann::ordered_json;  ///< keys in the order in which they were added

/// JSON has no NaN and no infinities: null.
inline OrderedJson number_or_null(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

}  // namespace fedstride
