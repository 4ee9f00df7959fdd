#include "run/document.hpp"

#include <toml++/toml.h>  // slow to compile: nowhere else

#include <algorithm>
#include <sstream>

#include "core/text.hpp"

namespace fedstride {
namespace {

DocumentNode converted(const toml::node& node) {
  DocumentNode result{.line = node.source().begin.line, .column = node.source().begin.column};
  if (const auto* boolean = node.as_boolean()) {
    result.value = boolean->get();
  } else if (const auto* integer = node.as_integer()) {
    result.value = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    result.value = number->get();
  } else if (const auto* text = node.as_string()) {
    result.value = text->get();
  } else if (const auto* array = node.as_array()) {
    DocumentNode::List list;
    for (const auto& element : *array) list.push_back(converted(element));
    result.value = std::move(list);
  } else if (const auto* table = node.as_table()) {
    DocumentNode::Table entries;
    for (auto&& [key, element] : *table) entries.emplace_back(std::string(key.str()), converted(element));
    std::ranges::stable_sort(entries, {}, [](const auto& entry) { return std::pair(entry.second.line, entry.second.column); });
    result.value = std::move(entries);
  }
  return result;
}

}  // namespace

Setting DocumentNode::setting() const {
  return std::visit(
      []<class Value>(const Value& scalar) -> Setting {
        if constexpr (std::is_constructible_v<decltype(Setting::value), Value>)
          return {.value = scalar};
        else
          return {};
      },
      value);
}

Error Document::wrong(const DocumentNode& at, const std::string& what) const {
  return usage_error("'" + name + "', line " + std::to_string(at.line) + ": " + what);
}

Document parse_document(std::string_view text, const std::string& name) {
  try {
    return {name, converted(toml::parse(text, name))};
  } catch (const toml::parse_error& error) {
    std::string what(error.description());
    std::ranges::replace(what, '\n', ' ');
    throw usage_error("'" + name + "', line " + std::to_string(error.source().begin.line) + ": " + what);
  }
}

std::string toml_string(const std::string& text) {
  std::ostringstream stream;
  stream << toml::value<std::string>(text);
  return stream.str();
}

}  // namespace fedstride
