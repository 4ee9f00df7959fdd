#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

// Tests read what the program writes with a parser of their own, not with core/json.hpp.
namespace fedstride::test {

using Json = nlohmann::json;

/// is_discarded() if the text is no JSON.
inline Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

}  // namespace fedstride::test
