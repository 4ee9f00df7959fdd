#include "core/json.hpp"

#include <istream>

namespace fedstride {

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }
OrderedJson parse_ordered_json(std::string_view text) { return OrderedJson::parse(text, nullptr, false); }

Json parse_json_or_throw(std::string_view text, const Json::parser_callback_t& watch) { return Json::parse(text, watch); }
OrderedJson parse_ordered_json_or_throw(std::string_view text, const OrderedJson::parser_callback_t& watch) {
  return OrderedJson::parse(text, watch);
}

bool sax_parse_json(std::string_view text, JsonEvents& events) { return Json::sax_parse(text, &events); }
bool sax_parse_json(std::istream& bytes, JsonEvents& events) { return Json::sax_parse(bytes, &events); }

std::string dump_json(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }
std::string dump_json(const OrderedJson& json, int indent) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace fedstride
