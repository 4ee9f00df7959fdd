#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride::test::include_arrows_test {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;
/// Each folder with a target, by its path, and the paths of those it stands on.
using Arrows = std::map<std::string, Names>;

const fs::path kRoot = FEDSTRIDE_SOURCE_DIR;

/// The words after DEPENDS in each fedstride_folder(NAME [DEPENDS folder...] [LINK ...] ...) of a CMakeLists.txt.
Names linked_folders(const std::string& text) {
  const Names keywords{"DEPENDS", "LINK", "OPTIMIZE", "HOT", "COLD", "UNIT_OF", "BATCH", "EXCEPT"};
  Names folders;
  for (auto call = text.find("fedstride_folder("); call != text.npos; call = text.find("fedstride_folder(", call + 1)) {
    bool listed = false;
    std::istringstream words(text.substr(call));
    for (std::string word; words >> word;) {
      const bool last = word.ends_with(')');
      if (last) word.pop_back();
      if (keywords.contains(word))
        listed = word == "DEPENDS";
      else if (listed)
        folders.insert(word);
      if (last) break;
    }
  }
  return folders;
}

/// The arrows that the targets link. The module of Python, which is no such folder, links cli.
Arrows read_arrows() {
  Arrows names{{"python", {"cli"}}};
  std::map<std::string, std::string> path_of;
  for (const auto& top : fs::directory_iterator(kRoot)) {
    if (!top.is_directory() || Names{"build", "examples", ".git"}.contains(top.path().filename())) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (entry.path().filename() != "CMakeLists.txt") continue;
      const std::string text = read_file(entry.path());
      const auto folder = fs::relative(entry.path().parent_path(), kRoot);
      if (text.find("fedstride_folder(" + folder.filename().string() + " ") == text.npos) continue;
      names[folder.string()] = linked_folders(text);
      path_of[folder.filename().string()] = folder.string();
    }
  }
  path_of["cli"] = "cli";
  Arrows arrows;
  for (const auto& [folder, linked] : names)
    for (auto& paths = arrows[folder]; const auto& name : linked) paths.insert(path_of.at(name));
  return arrows;
}

const Arrows& arrows() {
  static const Arrows read = read_arrows();
  return read;
}

/// The folder and all that it may include: what these may include, it may.
Names reachable(const Arrows& arrows, const std::string& folder, const Names& above = {}) {
  REQUIRE_MESSAGE(!above.contains(folder), folder << " is in a circle of arrows");
  Names seen = above, all{folder};
  seen.insert(folder);
  for (const auto& next : arrows.at(folder)) all.merge(reachable(arrows, next, seen));
  return all;
}

/// The folder with a target that this path lies in; empty if there is none.
std::string folder_of(std::string path) {
  while (!path.empty() && !arrows().contains(path)) path = fs::path(path).parent_path().string();
  return path;
}

/// `"core/text.hpp"` of `#include "core/text.hpp"  // why`, quotes included; empty for every other line.
std::string_view included(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with('#')) return {};
  line = trimmed(line.substr(1));
  if (!line.starts_with("include")) return {};
  line = trimmed(line.substr(7));
  const auto end = line.find_first_of("\">", 1);
  return end == line.npos ? std::string_view{} : line.substr(0, end + 1);
}

/// The complaints about the #include lines of one file of a folder.
std::vector<std::string> complaints(const std::string& folder, const std::string& text) {
  const Names allowed = reachable(arrows(), folder);
  std::vector<std::string> found;
  for (const auto line : split(text, '\n')) {
    const auto quoted = included(line);
    if (quoted.empty()) continue;
    const std::string name(quoted.substr(1, quoted.size() - 2));
    const std::string target = folder_of(name);
    const std::string first = name.substr(0, name.find('/'));
    const auto complain = [&](const std::string& why) { found.push_back("includes " + std::string(quoted) + why); };
    if (quoted.front() == '"') {
      if (target.empty())
        complain(", which does not begin with a folder of the project");
      else if (!allowed.contains(target))
        complain(", but no arrow leads from " + folder + " to " + target);
    } else if (!target.empty()) {
      complain("; the project's own headers stand in quotes");
    } else if (first == "CLI" && folder != "cli") {
      complain("; only cli/ knows CLI11");
    } else if (first == "pybind11" && folder != "python") {
      complain("; only python/ knows pybind11");
    }
  }
  return found;
}

bool is_source(const fs::path& path) { return path.extension() == ".cpp" || path.extension() == ".hpp"; }

TEST_CASE("no folder includes what its target does not link") {
  int files = 0;
  for (const auto& top : fs::directory_iterator(kRoot)) {
    const std::string name = top.path().filename().string();
    if (!top.is_directory() || name.starts_with('.') || Names{"build", "examples", "tools"}.contains(name)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      const std::string path = fs::relative(entry.path(), kRoot).string();
      const std::string folder = folder_of(path);
      if (name == "tests" && folder.empty()) continue;  // tests may include everything; their kits are a target
      ++files;
      REQUIRE_MESSAGE(!folder.empty(), path << " is in no target's folder");
      for (const auto& complaint : complaints(folder, read_file(entry.path()))) FAIL_CHECK(path << " " << complaint);
    }
  }
  CHECK(files > 400);
}

/// The arrows between the folders at the top.
Arrows between_top_folders() {
  const auto top = [](const std::string& path) { return path.substr(0, path.find('/')); };
  Arrows merged;
  for (const auto& [folder, linked] : arrows())
    for (auto& of_top = merged[top(folder)]; const auto& path : linked)
      if (top(path) != top(folder)) of_top.insert(top(path));
  return merged;
}

TEST_CASE("no arrow leads back up, neither between targets nor between the folders at the top") {
  for (const auto& [folder, unused] : arrows()) CHECK(reachable(arrows(), folder).contains("core"));
  const Arrows merged = between_top_folders();
  for (const auto& [folder, unused] : merged) CHECK(reachable(merged, folder).contains("core"));
}

TEST_CASE("the table of docs/architecture.md has these arrows") {
  Arrows listed;
  const std::string document = read_file(kRoot / "docs/architecture.md");
  for (const auto line : split(document, '\n')) {
    if (!line.starts_with("| `")) continue;
    const auto cells = split(line, '|');
    const std::string folder(trimmed(cells.at(1)));
    if (!folder.ends_with("/`")) continue;
    Names& linked = listed[folder.substr(1, folder.size() - 3)];
    for (const auto name : split(cells.at(3), ','))
      if (!trimmed(name).empty()) linked.insert(std::string(trimmed(name)));
  }
  Arrows merged = between_top_folders();
  // The table leaves out what a folder includes through another that it names.
  for (auto& [folder, linked] : merged) {
    const Names direct = linked;
    for (const auto& name : direct)
      for (const auto& other : direct)
        if (other != name && reachable(merged, other).contains(name)) linked.erase(name);
  }
  for (const auto& [folder, linked] : merged) {
    INFO(folder);
    REQUIRE(listed.contains(folder));
    CHECK(listed.at(folder) == linked);
  }
}

/// The units (a header and its .cpp) whose includes lead in a circle; `includes` has those of each unit.
Names in_circles(Arrows includes) {
  for (bool smaller = true; smaller;) {
    const auto before = includes.size();
    std::erase_if(includes, [&](const auto& unit) {
      return std::ranges::none_of(unit.second, [&](const auto& name) { return includes.contains(name); });
    });
    smaller = includes.size() < before;
  }
  Names left;
  for (const auto& [unit, unused] : includes) left.insert(unit);
  return left;
}

TEST_CASE("no file of a run includes one above it") {
  Arrows includes;
  for (const std::string folder : {"sim/settings", "sim/prepare", "sim/run", "sim/parties"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      const std::string unit = fs::relative(entry.path(), kRoot).replace_extension().string();
      Names& others = includes[unit];
      const std::string text = read_file(entry.path());
      for (const auto line : split(text, '\n'))
        if (const auto quoted = included(line); quoted.starts_with('"'))
          others.insert(fs::path(quoted.substr(1, quoted.size() - 2)).replace_extension().string());
      others.erase(unit);
    }
  CHECK(includes.size() > 20);
  CHECK(in_circles(includes).empty());
}

TEST_CASE("a circle is seen, and what leads into it") {
  CHECK(in_circles({{"a", {"b"}}, {"b", {"c", "elsewhere"}}, {"c", {}}}).empty());
  CHECK(in_circles({{"a", {"b"}}, {"b", {"c"}}, {"c", {"b"}}, {"d", {}}}) == Names{"a", "b", "c"});
}

TEST_CASE("the folders of a target are those after DEPENDS, wherever that stands") {
  CHECK(linked_folders("fedstride_folder(core LINK Eigen3::Eigen)").empty());
  CHECK(linked_folders("fedstride_folder(optim DEPENDS core)") == Names{"core"});
  CHECK(linked_folders("fedstride_folder(net DEPENDS client server OPTIMIZE -O1 LINK a b)") == Names{"client", "server"});
  CHECK(linked_folders("# nets\nfedstride_folder(net BATCH 4 LINK a\n  DEPENDS client\n server)\nother(x DEPENDS y)") ==
        Names{"client", "server"});
}

TEST_CASE("the check sees an arrow that is not there") {
  CHECK(complaints("core", "#pragma once\n#include \"core/text.hpp\"\n#include <vector>\n").empty());
  CHECK(complaints("cli", "#include \"core/text.hpp\"\n#include <CLI/CLI.hpp>\n").empty());
  CHECK(complaints("client", "#include \"data/dataset.hpp\"\n#include \"client/optim/optimizer.hpp\"\n").empty());
  CHECK(complaints("core", "  # include \"data/dataset.hpp\"\n").size() == 1);
  CHECK(complaints("nn", "#include \"client/optim/optimizer.hpp\"\n#include \"client/trainer.hpp\"\n").size() == 2);
  CHECK(complaints("client/optim", "#include \"client/trainer.hpp\"\n").size() == 1);
  CHECK(complaints("client", "#include \"server/round.hpp\"\n").size() == 1);
  CHECK(complaints("server", "#include \"tests/support/skip.hpp\"\n").size() == 1);
  CHECK(complaints("server", "#include \"tests/kits/conformance.hpp\"\n").size() == 1);
  CHECK(complaints("tests/kits", "#include \"tests/kits/promises.hpp\"\n#include \"nn/network.hpp\"\n").empty());
  CHECK(complaints("tests/kits", "#include \"sim/run/run.hpp\"\n").size() == 1);
  CHECK(complaints("sim/run", "#include \"fleet.hpp\"\n").size() == 1);
  CHECK(complaints("sim/run", "#include <core/text.hpp>\n").size() == 1);
  CHECK(complaints("sim/run", "#include <CLI/CLI.hpp>\n").size() == 1);
  CHECK(complaints("sim/run", "#include <pybind11/pybind11.h>\n").size() == 1);
  CHECK(complaints("core", "// #include \"data/dataset.hpp\"\n").empty());
}

}  // namespace
}  // namespace fedstride::test::include_arrows_test
