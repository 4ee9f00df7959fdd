#include "python/words.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride::python {
namespace {

bool is_letter(char one) { return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9'); }
bool is_inside_name(char one) { return is_letter(one) || one == '-' || one == '_'; }

struct Names {
  std::map<std::string, std::set<std::string>, std::less<>> values;  ///< the known values of each keyword
  std::set<std::string, std::less<>> all_values;
};

const Names& names() {
  static const Names all = [] {
    Names names;
    for (const KeyInfo& key : all_keys()) {
      std::set<std::string>& values = names.values[key.name];
      for (const KnownName& known : key.known) values.insert(known.name);
      names.all_values.insert(values.begin(), values.end());
    }
    for (const char* other : {"config", "resume", "accept-other-builds"}) names.values[other];
    return names;
  }();
  return all;
}

// Phrases about the command line, and what replaces them in Python.
constexpr std::pair<std::string_view, std::string_view> kSayings[] = {
    {"the names of the flags that 'fedstride run --help' lists", "the keywords that help(fedstride.run) lists"},
    {"give the --out folder of a run", "give the folder of a run"},
};

// Rewrites text from left to right.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::string read() {
    while (at_ < text_.size())
      if (!saying() && !command() && !quoted() && !flag() && !name()) result_ += text_[at_++];
    return std::move(result_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  bool begins_a_word() const {
    return at_ == 0 || !(is_inside_name(text_[at_ - 1]) || text_[at_ - 1] == '/' || text_[at_ - 1] == '.');
  }
  // Returns the letters, digits, dashes and underscores that begin at `from`.
  std::string_view word(std::size_t from) const {
    std::size_t end = from;
    while (end < text_.size() && is_inside_name(text_[end])) ++end;
    return text_.substr(from, end - from);
  }
  // Skips this many characters, or all that are left, and writes `instead`.
  bool take(std::size_t length, std::string_view instead) {
    result_ += instead;
    at_ = length > text_.size() - at_ ? text_.size() : at_ + length;
    return true;
  }

  bool saying() {
    for (const auto& [program, python] : kSayings)
      if (rest().starts_with(program)) return take(program.size(), python);
    return false;
  }

  // Copies a command, such as "fedstride run --resume runs/x", up to the end of its clause.
  bool command() {
    constexpr std::string_view kProgram = "fedstride ";
    if (!begins_a_word() || !rest().starts_with(kProgram) || word(at_ + kProgram.size()).empty()) return false;
    const auto end = rest().find_first_of(",;)'");
    return take(end, rest().substr(0, end));
  }

  // Copies quoted text, but rewrites the name of a flag or key as a keyword, and a command's --help as help(function).
  bool quoted() {
    if (text_[at_] != '\'' || (at_ > 0 && is_letter(text_[at_ - 1]))) return false;
    const auto end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return false;
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    constexpr std::string_view kFlag = "flag ";
    if (const std::string function = explained_function(inside); !function.empty())
      return take(inside.size() + 2, "help(" + function + ")");
    if (inside.starts_with("--") && word(at_ + 3).size() + 2 == inside.size()) {
      if (result_.ends_with(kFlag)) result_.replace(result_.size() - kFlag.size(), kFlag.size(), "keyword ");
      return take(inside.size() + 2, "'" + keyword_of(inside.substr(2)) + "'");
    }
    const bool is_key = result_.ends_with("key ") || (text_.starts_with("key '") && result_.ends_with("did you mean "));
    return take(inside.size() + 2, "'" + (is_key ? keyword_of(inside) : std::string(inside)) + "'");
  }

  // Returns "fedstride.privacy.epsilon" for "fedstride privacy epsilon --help"; "" if Python has no such function.
  static std::string explained_function(std::string_view command) {
    constexpr std::string_view kHelp = " --help";
    if (!command.starts_with("fedstride ") || !command.ends_with(kHelp)) return {};
    std::string name(command.substr(0, command.size() - kHelp.size()));
    const bool known = name.starts_with("fedstride privacy ") || name == "fedstride run" || name == "fedstride sweep" ||
                       name == "fedstride tune" || name == "fedstride report";
    std::ranges::replace(name, ' ', '.');
    return known ? name : "";
  }

  bool flag() {
    if (!begins_a_word() || !rest().starts_with("--")) return false;
    const std::string_view flag = word(at_ + 2);
    const auto known = names().values.find(flag);
    if (known == names().values.end()) return false;
    const std::size_t after = at_ + 2 + flag.size();
    std::string value = after + 1 < text_.size() && text_[after] == ' ' ? value_at(after + 1, known->second) : "";
    const std::size_t length = 2 + flag.size() + (value.empty() ? 0 : 1 + value.size());
    if (flag == "resume") return take(length, "fedstride.resume(" + value + ")");
    if (known->second.contains(value)) value = '"' + value + '"';
    return take(length, keyword_of(flag) + (at_ == 0 && value.empty() ? "" : "=" + value));
  }
  // Returns the known value, number, placeholder (FILE; LOW,HIGH) or quoted path that begins at `at`; "" if it is none of these.
  std::string value_at(std::size_t at, const std::set<std::string>& known) const {
    if (text_[at] == '\'') {
      const auto end = text_.find('\'', at + 1);
      return end == std::string_view::npos ? "" : std::string(text_.substr(at, end + 1 - at));
    }
    std::size_t end = at;
    while (end < text_.size() && (is_inside_name(text_[end]) || text_[end] == '.' ||
                                  (text_[end] == ',' && end + 1 < text_.size() && text_[end + 1] != ' ')))
      ++end;
    std::string value(text_.substr(at, end - at));
    while (value.ends_with('.')) value.pop_back();
    const std::string_view first = std::string_view(value).substr(0, value.find('.'));
    const bool is_placeholder =
        !first.empty() && std::ranges::all_of(first, [](char one) { return (one >= 'A' && one <= 'Z') || one == ','; });
    double number = 0;
    return known.contains(value) || is_placeholder || parse_number(value, number) ? value : "";
  }

  bool name() {
    if (!begins_a_word() || !is_letter(text_[at_])) return false;
    const std::string_view name = word(at_);
    if (name.find('-') != std::string_view::npos && names().values.contains(name) && !names().all_values.contains(name) &&
        !text_.substr(at_ + name.size()).starts_with("/"))
      return take(name.size(), keyword_of(name));
    return take(name.size(), name);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string result_ = {};
};

}  // namespace

std::string keyword_of(std::string_view key) {
  std::string keyword(key);
  std::ranges::replace(keyword, '-', '_');
  return keyword;
}

std::string key_of(std::string_view keyword) {
  std::string key(keyword);
  std::ranges::replace(key, '_', '-');
  return key;
}

std::string in_python_words(std::string_view text) { return Reader(text).read(); }

}  // namespace fedstride::python
