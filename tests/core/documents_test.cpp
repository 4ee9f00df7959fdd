// Documents: links lead somewhere, and the length that was agreed on is kept.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride::test::documents_test {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = FEDSTRIDE_SOURCE_DIR;

std::vector<fs::path> documents() {
  std::vector<fs::path> found{kRoot / "README.md", kRoot / "CONTRIBUTING.md", kRoot / "CHANGELOG.md",
                              kRoot / "tools/bench/README.md"};
  for (const char* folder : {"docs", "experiments", "examples"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
      if (entry.path().extension() == ".md") found.push_back(entry.path());
  return found;
}

// Text without fenced blocks, whose brackets are code.
std::string prose(const std::string& text) {
  std::string result;
  bool in_block = false;
  for (const auto line : split(text, '\n')) {
    if (line.starts_with("```"))
      in_block = !in_block;
    else if (!in_block)
      result += std::string(line) + "\n";
  }
  return result;
}

// The anchors that GitHub makes of headings: lower case, spaces to hyphens, other marks left out.
std::set<std::string> anchors(const std::string& text) {
  std::set<std::string> found;
  const std::string lines = prose(text);
  for (const auto line : split(lines, '\n')) {
    if (!line.starts_with("#")) continue;
    std::string anchor;
    for (const char letter : trimmed(line.substr(line.find_first_not_of('#')))) {
      const auto byte = static_cast<unsigned char>(letter);
      if (std::isalnum(byte) != 0 || letter == '-' || letter == '_' || byte >= 0x80)
        anchor += static_cast<char>(std::tolower(byte));
      if (letter == ' ') anchor += '-';
    }
    found.insert(anchor);
  }
  return found;
}

int words(const fs::path& file) {
  std::istringstream text(read_file(file));
  int count = 0;
  for (std::string word; text >> word;) ++count;
  return count;
}

}  // namespace

TEST_CASE("every link of a document leads to a file and a heading that are there") {
  const std::regex link(R"(\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+))", std::regex::multiline);
  int links = 0;
  for (const fs::path& file : documents()) {
    const std::string text = prose(read_file(file));
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const std::string target = (*at)[1].matched ? (*at)[1].str() : (*at)[2].str();
      if (target.starts_with("https://") || target.starts_with("http://")) continue;
      ++links;
      CAPTURE(file.string());
      CAPTURE(target);
      const auto hash = target.find('#');
      const fs::path place = hash == 0 ? file : file.parent_path() / target.substr(0, hash);
      REQUIRE(fs::exists(place));
      if (hash != target.npos) CHECK(anchors(read_file(place)).contains(target.substr(hash + 1)));
    }
  }
  CHECK(links > 100);
}

TEST_CASE("the front page and all documents together are no longer than agreed") {
  CHECK(words(kRoot / "README.md") <= 900);
  int together = words(kRoot / "README.md") + words(kRoot / "CONTRIBUTING.md") + words(kRoot / "tools/bench/README.md");
  for (const auto& entry : fs::directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") together += words(entry.path());
  CHECK(together <= 36600);
}

TEST_CASE("every program among the examples can be started by its name") {
  int programs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "examples")) {
    if (entry.path().extension() != ".py") continue;
    CAPTURE(entry.path().string());
    ++programs;
    CHECK(read_file(entry.path()).starts_with("#!/usr/bin/env python3\n"));
    CHECK((entry.status().permissions() & fs::perms::owner_exec) != fs::perms::none);
  }
  CHECK(programs >= 16);
}

}  // namespace fedstride::test::documents_test
