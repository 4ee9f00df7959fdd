#include "cli/privacy/privacy_cases.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "cli/privacy/privacy_quantities.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{16} << 20;
constexpr int kDeepest = 16;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw usage_error("case '" + where + "': " + what);
}

OrderedJson parsed(const std::string& path) {
  const std::string text = read_file(path, kLargestFile);
  bool too_deep = false;
  const OrderedJson::parser_callback_t watch = [&](int depth, OrderedJson::parse_event_t, OrderedJson&) {
    too_deep = too_deep || depth > kDeepest;
    return !too_deep;
  };
  OrderedJson document;
  try {
    document = OrderedJson::parse(text, watch);
  } catch (const OrderedJson::exception& error) {
    throw failure("'" + path + "' is not JSON: " + error.what());
  }
  if (too_deep) throw failure("'" + path + "' nests deeper than " + std::to_string(kDeepest) + " levels");
  if (!document.is_object() || !document.contains("cases") || !document["cases"].is_array())
    throw failure("'" + path + "' has no list \"cases\"");
  return document;
}

std::string text_of(const OrderedJson& object, const std::string& key, const std::string& where) {
  if (!object.contains(key)) refuse(where, "'" + key + "' is missing");
  if (!object[key].is_string()) refuse(where, "'" + key + "' must be a text");
  return object[key].get<std::string>();
}

double bound_of(const OrderedJson& object, const std::string& key, double otherwise, const std::string& where) {
  if (!object.contains(key)) return otherwise;
  if (!object[key].is_number()) refuse(where, "'" + key + "' must be a number");
  return object[key].get<double>();
}

PrivacyCase read_case(const OrderedJson& object, const std::string& where) {
  PrivacyCase one{.id = where};
  one.mechanism = text_of(object, "mechanism", where);
  one.quantity = text_of(object, "quantity", where);
  if (object.contains("order_grid")) one.order_grid = text_of(object, "order_grid", where);
  if (!object.contains("parameters") || !object["parameters"].is_object())
    refuse(where, "'parameters' must be an object of numbers");
  for (const auto& [name, value] : object["parameters"].items()) {
    if (value.is_number())
      one.numbers[name] = value.get<double>();
    else if (value.is_string())
      one.texts[name] = value.get<std::string>();
    else
      refuse(where, "parameter '" + name + "' must be a number or a text");
  }
  return one;
}

}  // namespace

CaseAnswers answer_cases(const std::string& path) {
  const OrderedJson document = parsed(path);
  OrderedJson answers = OrderedJson::object();
  std::vector<std::string> outside;
  std::size_t number = 0;
  for (const OrderedJson& object : document["cases"]) {
    ++number;
    if (!object.is_object()) refuse(std::to_string(number), "it must be an object");
    const std::string id = text_of(object, "id", std::to_string(number));
    if (answers.contains(id)) refuse(id, "its id is there twice");
    const double value = answer(read_case(object, id));
    const double low = bound_of(object, "accept_min", -std::numeric_limits<double>::infinity(), id);
    const double high = bound_of(object, "accept_max", std::numeric_limits<double>::infinity(), id);
    answers[id] = value;
    if (!(value >= low && value <= high))
      outside.push_back(id + " is " + number_text(value) + ", not from " + number_text(low) + " to " +
                        number_text(high));
  }
  CaseAnswers result{answers.dump(1, ' ', false, OrderedJson::error_handler_t::replace), ""};
  if (!outside.empty())
    result.outside = std::to_string(outside.size()) + " of " + std::to_string(number) +
                     " answers out of bounds: " + joined(outside, "; ");
  return result;
}

}  // namespace fedstride
