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

// toml++ bounds nested values, but not the tables that a dotted name nests, on which it recurses; a name's length it does not bound.
constexpr std::size_t kMostDepth = 256;  // as toml++ for values
constexpr std::size_t kLongestName = 1024;

/// Throws Error (usage) for tables nested too deep or too long a name, before anything is parsed. Reads only as much of the syntax
/// as it needs; what is not TOML is left to the parser.
class NameCheck {
 public:
  NameCheck(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void run() {
    for (at_ = 0; at_ < text_.size(); ++at_) step(text_[at_]);
  }

 private:
  void step(char letter) {
    if (letter == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
    } else if (letter == '"' || letter == '\'') {
      skip_string(letter);
    } else if (letter == '\n') {
      ++line_;
      if (open_.empty()) begin_name(0);
    } else if (letter == '=') {
      is_name_ = false;
    } else if (!is_name_ && (letter == '{' || letter == '[')) {
      open_.push_back({depth_, letter == '{'});
      begin_name(depth_ + 1);
      is_name_ = letter == '{';
    } else if (!open_.empty() && (letter == '}' || letter == ']')) {
      is_name_ = false;
      depth_ = open_.back().depth;
      open_.pop_back();
    } else if (!open_.empty() && letter == ',') {
      begin_name(open_.back().depth + 1);
      is_name_ = open_.back().is_table;
    } else if (is_name_) {
      grow(1, letter == '.');
    }
  }
  void begin_name(std::size_t depth) {
    is_name_ = true;
    depth_ = depth;
    length_ = 0;
  }
  void grow(std::size_t letters, bool deeper) {
    if ((length_ += letters) > kLongestName)
      throw wrong("has a name of more than " + std::to_string(kLongestName) + " characters");
    if (deeper && ++depth_ > kMostDepth) throw wrong("has tables nested more than " + std::to_string(kMostDepth) + " deep");
  }
  void skip_string(char quote) {
    const std::string_view rest = text_.substr(at_);
    const std::string three(3, quote);
    const std::string_view end = rest.starts_with(three) ? std::string_view(three) : std::string_view(three).substr(0, 1);
    std::size_t size = end.size();
    while (size < rest.size() && !rest.substr(size).starts_with(end)) size += quote == '"' && rest[size] == '\\' ? 2 : 1;
    size = std::min(size + end.size(), rest.size());
    if (is_name_) grow(size, false);
    line_ += static_cast<std::size_t>(std::ranges::count(rest.substr(0, size), '\n'));
    at_ += size - 1;
  }
  Error wrong(const std::string& what) const {
    return usage_error("'" + name_ + "', line " + std::to_string(line_) + ": " + what);
  }

  struct Bracket {
    std::size_t depth;  ///< outside of it
    bool is_table;
  };
  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t depth_ = 0;
  std::size_t length_ = 0;
  bool is_name_ = true;
  std::vector<Bracket> open_;
};

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
  NameCheck(text, name).run();
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
