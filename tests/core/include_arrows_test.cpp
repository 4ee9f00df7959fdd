#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "core/files.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

/// The arrows of docs/architecture.md: each folder and those it stands on. Transitive: what these may include, it may.
const std::map<std::string, Names> kArrows{
    {"core", {}},
    {"data", {"core"}},
    {"partitions", {"core"}},
    {"optim", {"core"}},
    {"nn", {"data"}},
    {"client", {"nn", "optim"}},
    {"server", {"nn"}},
    {"sim", {"client", "server", "partitions"}},
    {"experiments", {"sim"}},
    {"bench", {"experiments"}},
    {"cli", {"experiments", "bench"}},
};

Names reachable(const std::string& folder) {
  Names all{folder};
  for (const auto& next : kArrows.at(folder)) all.merge(reachable(next));
  return all;
}

/// What is wrong with the #include lines of one file of a folder.
std::vector<std::string> complaints(const std::string& folder, const std::string& text) {
  static const std::regex include_line(R"(^[ \t]*#[ \t]*include[ \t]*([<"])([^">]*)[">])", std::regex::multiline);
  const Names allowed = reachable(folder);
  std::vector<std::string> found;
  for (std::sregex_iterator line(text.begin(), text.end(), include_line), end; line != end; ++line) {
    const std::string path = (*line)[2];
    const std::string first = path.substr(0, path.find('/'));
    if ((*line)[1] == "\"") {
      if (!kArrows.contains(first) || path == first)
        found.push_back("includes \"" + path + "\", which does not begin with a folder of the project");
      else if (!allowed.contains(first))
        found.push_back("includes \"" + path + "\", but no arrow leads from " + folder + " to " + first);
    } else if (kArrows.contains(first) && path != first) {
      found.push_back("includes <" + path + ">; the project's own headers stand in quotes");
    } else if (first == "CLI" && folder != "cli") {
      found.push_back("includes <" + path + ">; only cli/ knows CLI11");
    }
  }
  return found;
}

bool is_source(const fs::path& path) { return path.extension() == ".cpp" || path.extension() == ".hpp"; }

const fs::path kRoot = FEDSTRIDE_SOURCE_DIR;

TEST_CASE("no folder includes what no arrow leads to") {
  int files = 0;
  for (const auto& [folder, unused] : kArrows)
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      ++files;
      for (const auto& complaint : complaints(folder, read_file(entry.path())))
        FAIL_CHECK(fs::relative(entry.path(), kRoot).string() << " " << complaint);
    }
  CHECK(files > 20);
}

TEST_CASE("every folder with sources has its arrows") {
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with('.') || name == "build" || name == "tests") continue;
    const fs::directory_iterator files(entry);
    const bool has_sources =
        std::any_of(begin(files), end(files), [](const auto& file) { return is_source(file.path()); });
    if (has_sources) CHECK_MESSAGE(kArrows.contains(name), name << "/ is in no arrow");
  }
}

TEST_CASE("every folder's target links exactly the folders its arrows name") {
  static const std::regex depends(R"(fedstride_folder\(([a-z]+)(?:\s+DEPENDS((?:\s+[a-z]+)*))?)");
  for (const auto& [folder, arrows] : kArrows) {
    const std::string text = read_file(kRoot / folder / "CMakeLists.txt");
    std::smatch match;
    if (!std::regex_search(text, match, depends)) continue;  // cli/ is the program
    CHECK(match[1] == folder);
    Names linked;
    const std::string list = match[2];
    static const std::regex word("[a-z]+");
    for (std::sregex_iterator name(list.begin(), list.end(), word), end; name != end; ++name)
      linked.insert(name->str());
    CHECK_MESSAGE(linked == arrows, folder << "/CMakeLists.txt links other folders than its arrows name");
  }
}

TEST_CASE("the check sees an arrow that is not there") {
  CHECK(complaints("core", "#pragma once\n#include \"core/text.hpp\"\n#include <vector>\n").empty());
  CHECK(complaints("cli", "#include \"core/text.hpp\"\n#include <CLI/CLI.hpp>\n").empty());
  CHECK(complaints("client", "#include \"data/dataset.hpp\"\n").empty());  // over nn
  CHECK(complaints("core", "  # include \"data/dataset.hpp\"\n").size() == 1);
  CHECK(complaints("nn", "#include \"optim/optimizer.hpp\"\n#include \"client/trainer.hpp\"\n").size() == 2);
  CHECK(complaints("client", "#include \"server/round.hpp\"\n").size() == 1);
  CHECK(complaints("server", "#include \"tests/support/skip.hpp\"\n").size() == 1);
  CHECK(complaints("sim", "#include \"fleet.hpp\"\n").size() == 1);
  CHECK(complaints("sim", "#include <core/text.hpp>\n").size() == 1);
  CHECK(complaints("sim", "#include <CLI/CLI.hpp>\n").size() == 1);
  CHECK(complaints("core", "// #include \"data/dataset.hpp\"\n").empty());
}

}  // namespace
}  // namespace fedstride
