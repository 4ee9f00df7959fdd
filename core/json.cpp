#include "core/json.hpp"

namespace fedstride {

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }
OrderedJson parse_ordered_json(std::string_view text) { return OrderedJson::parse(text, nullptr, false); }

}  // namespace fedstride
