#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride::test::comments_test {
namespace {

/// Words that begin a fragment: "Whether it fits." for "True if it fits.", "What a client sends." for "A client's answer."
constexpr std::array<std::string_view, 3> kFragmentWords{"What", "Whether", "Of"};

/// The comment of a line without its slashes; empty if there is none. A line of a raw string counts as code.
std::string_view comment_of(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (quoted && line[i] == '\\') {
      ++i;
    } else if (!quoted && line.substr(i, 3) == "'\"'") {
      i += 2;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && line.substr(i, 2) == "//") {
      const auto text = line.find_first_not_of("/<! ", i);
      return text == line.npos ? std::string_view{} : line.substr(text);
    }
  }
  return {};
}

bool begins_fragment(std::string_view sentence) {
  for (const auto word : kFragmentWords)
    if (sentence.starts_with(word) && sentence.size() > word.size() && sentence[word.size()] == ' ') return true;
  return false;
}

/// The sentences of a line's comment that begin with such a word, from there to the end of the line.
std::vector<std::string> fragments(std::string_view line) {
  std::vector<std::string> found;
  const std::string_view comment = comment_of(line);
  if (begins_fragment(comment)) found.emplace_back(comment);
  for (auto stop = comment.find(". "); stop != comment.npos; stop = comment.find(". ", stop + 1))
    if (const auto sentence = trimmed(comment.substr(stop + 2)); begins_fragment(sentence)) found.emplace_back(sentence);
  return found;
}

TEST_CASE("comments are sentences, not fragments") {
  namespace fs = std::filesystem;
  const fs::path root = FEDSTRIDE_SOURCE_DIR;
  const std::set<std::string> left_out{"build"};
  int files = 0;
  for (const auto& folder : fs::directory_iterator(root)) {
    const std::string name = folder.path().filename().string();
    if (!folder.is_directory() || name.starts_with('.') || left_out.contains(name)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const auto extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".cpp" && extension != ".hpp")) continue;
      ++files;
      int number = 0;
      const std::string text = read_file(entry.path());
      for (const auto line : split(text, '\n')) {
        ++number;
        for (const auto& fragment : fragments(line))
          FAIL_CHECK(fs::relative(entry.path(), root).string() << ":" << number << ": '" << fragment << "'");
      }
    }
  }
  CHECK(files > 100);
}

TEST_CASE("the check sees a fragment") {
  CHECK(fragments("/// Whether the value fits.").size() == 1);
  CHECK(fragments("  int size;  ///< Of all rows.").size() == 1);
  CHECK(fragments("// Reads it. What follows is ignored. Of the rest nothing.").size() == 2);
  CHECK(fragments("text = \"\\\" // What\";  // What else").size() == 1);
  CHECK(fragments("say(\"'\" + name + \"'\");  // What it says").size() == 1);
  CHECK(fragments("if (c == '\"') stop();  // What it quotes").size() == 1);
  CHECK(fragments("/// True if the value fits.").empty());
  CHECK(fragments("/// Offers whatever is left. Often none.").empty());
  CHECK(fragments("say(\"// What is this?\");").empty());
  CHECK(fragments("What(no_comment);").empty());
}

}  // namespace
}  // namespace fedstride::test::comments_test
