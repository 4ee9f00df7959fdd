// Parts are found by their registries: one that is in none, in no test or in no document compiles, and nothing else misses it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride::test::registered_parts_test {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

const fs::path kRoot = FEDSTRIDE_SOURCE_DIR;

bool is_of_word(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_'; }

/// The words of letters, digits and underlines.
Names words_of(std::string_view text) {
  Names words;
  for (std::size_t first = 0; first < text.size(); ++first) {
    std::size_t last = first;
    while (last < text.size() && is_of_word(text[last])) ++last;
    if (last > first) words.emplace(text.substr(first, last - first));
    first = last;
  }
  return words;
}

/// The words of the lists of parts: add_parts<...>, add_compressors<...>, ChoiceList<...>, std::variant<...> and what extends one, DrawList and others.
Names listed_in(std::string_view text) {
  Names listed;
  for (const std::string_view list :
       {"add_parts<", "add_compressors<", "ChoiceList<", "std::variant<", "List = std::tuple<", "Extended<"})
    for (auto at = text.find(list); at != text.npos; at = text.find(list, at + 1)) {
      at += list.size();
      listed.merge(words_of(text.substr(at, text.find('>', at) - at)));
    }
  return listed;
}

struct NamedPart {
  std::string file;
  std::string type;
  std::string name;
};

/// The classes of that text that have a kName.
std::vector<NamedPart> parts_of(const std::string& file, const std::string& text) {
  std::vector<NamedPart> parts;
  std::string type;
  for (std::string_view line : split(text, '\n')) {
    for (const std::string_view begins : {"struct ", "class "})
      if (line.starts_with(begins)) {
        const std::string_view rest = line.substr(begins.size());
        type = rest.substr(0, rest.find_first_of(" :;"));
      }
    constexpr std::string_view kSays = "  static constexpr std::string_view kName = \"";
    if (!line.starts_with(kSays)) continue;
    line.remove_prefix(kSays.size());
    parts.push_back({file, type, std::string(line.substr(0, line.find('"')))});
  }
  return parts;
}

/// Files below a folder whose names end so, as one text.
std::string all_of(const fs::path& folder, std::string_view ending) {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().filename().string().ends_with(ending)) text += read_file(entry.path());
  return text;
}

}  // namespace

TEST_CASE("every part is in the list of its family, in a test and in a document") {
  std::vector<NamedPart> parts;
  Names listed;
  for (const char* folder : {"client", "data", "dp", "nn", "partitions", "server", "sim"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".cpp") continue;
      const std::string text = read_file(entry.path());
      for (NamedPart& part : parts_of(fs::relative(entry.path(), kRoot).string(), text)) parts.push_back(std::move(part));
      listed.merge(listed_in(text));
    }
  // Layers that nobody writes are in no document.
  const std::string layers = read_file(kRoot / "nn/layer.hpp");
  const Names unwritten = words_of(layers.substr(layers.find("Extended<WrittenLayer")));
  const std::string tests = all_of(kRoot / "tests", "_test.cpp"), documents = all_of(kRoot / "docs", ".md");
  const Names tested = words_of(tests);
  for (const NamedPart& part : parts) {
    CHECK_MESSAGE(
        listed.contains(part.type),
        part.file << ": " << part.type << " is in no list of parts; put it in the list of its family, as tools/new-part does");
    CHECK_MESSAGE((tested.contains(part.type) || tested.contains(part.name) || tests.find('"' + part.name + '"') != tests.npos),
                  part.file << ": no tests/**/*_test.cpp has the word " << part.type << "; the part needs a test of its own");
    CHECK_MESSAGE(
        (unwritten.contains(part.type) || documents.find('`' + part.name + '`') != documents.npos ||
         documents.find('`' + part.name + ' ') != documents.npos || documents.find('"' + part.name + '"') != documents.npos),
        part.file << ": no docs/*.md has `" << part.name << "`; say there what it is for");
  }
  CHECK(parts.size() > 100);
}

TEST_CASE("every command is in the program and in a test") {
  const std::string declared = read_file(kRoot / "cli/commands.hpp"), program = read_file(kRoot / "cli/command_line.cpp");
  const std::string tests = all_of(kRoot / "tests/cli", "_test.cpp");
  const Names added = words_of(program);
  int commands = 0;
  for (const std::string& word : words_of(declared)) {
    if (!word.starts_with("add_") || !word.ends_with("_command")) continue;
    const std::string name = word.substr(4, word.size() - 12);
    CHECK_MESSAGE(added.contains(word), "cli/command_line.cpp: " << word << " is not in the list of add_commands");
    CHECK_MESSAGE(tests.find('"' + name + '"') != tests.npos, "no tests/cli/**/*_test.cpp has \"" << name << '"');
    ++commands;
  }
  CHECK(commands > 10);
}

// tools/new-part marks the places that it cannot write.
TEST_CASE("nothing of a part's skeleton is left to fill in") {
  const std::string mark = std::string("FILL") + " IN";
  for (const char* folder : {"cli", "client", "data", "docs", "dp", "examples", "nn", "partitions", "server", "sim", "tests"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".cpp" && extension != ".md" && entry.path().filename() != "load_in_pytorch.py")
        continue;
      const std::string text = read_file(entry.path());
      int number = 0;
      for (const std::string_view line : split(text, '\n')) {
        ++number;
        const auto at = line.find(mark);
        CHECK_MESSAGE(at == line.npos, fs::relative(entry.path(), kRoot).string()
                                           << ":" << number << ": " << line.substr(std::min(at, line.size())));
      }
    }
}

TEST_CASE("the check reads sources as they are written") {
  const auto parts =
      parts_of("a.hpp", "struct Ab final : PartBase<C, Ab> {\n  static constexpr std::string_view kName = \"a-b\";\n");
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].type == "Ab");
  CHECK(parts[0].name == "a-b");
  CHECK(listed_in("add_parts<Family, Ab,\n  Cd>(all); using E = std::variant<F, G>;") == Names{"Family", "Ab", "Cd", "F", "G"});
}

}  // namespace fedstride::test::registered_parts_test
