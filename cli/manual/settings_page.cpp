#include <string>

#include "cli/manual/manual.hpp"
#include "core/text.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride {
namespace {

// Shortens "a whole number from 1 to 10" to "1 to 10", and "a number from 1" to "from 1": the default shows the type.
std::string short_range(std::string text) {
  for (const std::string_view words : {"a whole number ", "a number "})
    if (text.starts_with(words)) text.erase(0, words.size());
  if (text.starts_with("from ") && text.find(" to ") != text.npos) text.erase(0, 5);
  return text;
}

std::string entry(const KeyInfo& key) {
  std::string help = key.help;
  if (!key.parts.empty()) help += " (" + joined(key.parts) + ")";
  const bool is_list = key.valid_text.starts_with("valid: ");
  const std::string standard = key.is_flag || key.default_text.empty() ? "" : " [" + key.default_text + "]";
  std::string valid = is_list ? key.valid_text.substr(7) : short_range(key.valid_text);
  if (!valid.empty()) valid = (is_list ? ": " : "; ") + valid;
  return "- `" + key.name + "`" + standard + ": " + help + valid + "\n";
}

}  // namespace

std::string settings_page() {
  std::string page =
      "# Settings\n\nEvery setting of a run. Each is a command-line flag (`--name`), a key in a TOML file, and a keyword "
      "argument in "
      "Python (with `_` for `-`). Brackets hold the default, parentheses the parts that have the setting. Made by `fedstride "
      "manual --settings FILE`.\n";
  const auto keys = all_keys();
  for (std::size_t question = 0; question < std::size(kQuestionTitles); ++question) {
    page += "\n## " + std::string(kQuestionTitles[question]) + "\n\n";
    for (const KeyInfo& key : keys)
      if (key.question == static_cast<Question>(question)) page += entry(key);
  }
  return page;
}

}  // namespace fedstride
