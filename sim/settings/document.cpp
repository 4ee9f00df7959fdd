#include "sim/settings/document.hpp"

#include <toml++/toml.h>  // slow to compile: included only here

#include <algorithm>
#include <cctype>
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

// Advice on a line that is not valid TOML: how to write the first unquoted word used as a value; empty if it has no such word.
std::string advice_on_line(std::string_view line) {
  const auto equals = line.find('=');
  if (equals == line.npos || line.substr(0, equals).find_first_of("\"'#") != line.npos) return {};
  std::string_view values = trimmed(line.substr(equals + 1));
  const bool is_list = values.starts_with('[');
  if (is_list) values = values.substr(1, values.rfind(']') == values.npos ? values.npos : values.rfind(']') - 1);
  for (const std::string_view one : is_list ? split(values, ',') : std::vector<std::string_view>{values}) {
    const std::string_view word = trimmed(one.substr(0, one.find('#')));
    const std::string lower = lower_case(word);
    if (word == "true" || word == "false" || word == "inf" || word == "nan") continue;
    if (lower == "true" || lower == "false") return "'" + std::string(word) + "' must be written " + lower;
    const auto first = static_cast<unsigned char>(word.empty() ? '\0' : word.front());
    if ((std::isalpha(first) == 0 && first != '/' && first != '.' && first != '~') || word.find_first_of("\"'[]{}=") != word.npos)
      continue;
    const std::string quoted = toml_string(std::string(word));
    return "the word " + std::string(word) +
           " needs quotes: " + (is_list ? quoted : std::string(trimmed(line.substr(0, equals))) + " = " + quoted);
  }
  return {};
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
    const std::size_t number = error.source().begin.line;
    const auto lines = split(text, '\n');
    const std::string lower = lower_case(name);
    std::string what = lower.ends_with(".yaml") || lower.ends_with(".yml") || lower.ends_with(".json")
                           ? "the file must be TOML, with the names of flags as keys: rounds = 10"
                       : number >= 1 && number <= lines.size() ? one_line(advice_on_line(lines[number - 1]))
                                                               : "";
    if (what.empty()) what = one_line(std::string(error.description()));
    throw usage_error("'" + name + "', line " + std::to_string(number) + ": " + what);
  }
}

std::string toml_string(const std::string& text) {
  std::ostringstream stream;
  stream << toml::value<std::string>(text);
  return stream.str();
}

}  // namespace fedstride
