#pragma once

#include <nlohmann/json.hpp>

namespace fedstride {

// The names of nlohmann's types here. Slow to compile: for .cpp files alone.
using Json = nlohmann::json;                 ///< keys sorted
using OrderedJson = nlohmann::ordered_json;  ///< keys in the order in which they were added

}  // namespace fedstride
