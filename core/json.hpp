#pragma once

#include <cmath>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace fedstride {

// This project's names of nlohmann's types. Slow to compile: include it in .cpp files only.
using Json = nlohmann::json;                 ///< keys sorted
using OrderedJson = nlohmann::ordered_json;  ///< keys in the order in which they were added

// Parsing and dumping are compiled once, in json.cpp: they cost more to compile than most files here.

/// Parses a text; the result is_discarded() if it is no JSON.
Json parse_json(std::string_view text);
OrderedJson parse_ordered_json(std::string_view text);

/// The same, but throws Json::parse_error (the message of nlohmann, with the byte). `watch` is told of every value.
Json parse_json_or_throw(std::string_view text, const Json::parser_callback_t& watch = nullptr);
OrderedJson parse_ordered_json_or_throw(std::string_view text, const OrderedJson::parser_callback_t& watch = nullptr);

/// Everything a parser meets, in its order; an event that answers false ends the parsing.
using JsonEvents = nlohmann::json_sax<Json>;

/// Tells of every value of a text, keeping none of them. False if it is no JSON or an event ended it.
bool sax_parse_json(std::string_view text, JsonEvents& events);
bool sax_parse_json(std::istream& bytes, JsonEvents& events);

/// The text of a value: indented by so many columns, or on one line (-1). Bytes that are no UTF-8 become U+FFFD.
std::string dump_json(const Json& json, int indent = -1);
std::string dump_json(const OrderedJson& json, int indent = -1);

/// The number, or null for NaN and infinities, which JSON lacks.
inline OrderedJson number_or_null(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

}  // namespace fedstride
