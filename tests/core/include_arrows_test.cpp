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

/// The arrows of docs/architecture.md: each folder and those it stands on. Transitive: what these may include, it may.
const std::map<std::string, Names> kArrows{
    {"core", {}},
    {"data", {"core"}},
    {"partitions", {"core"}},
    {"optim", {"core"}},
    {"dp", {"core"}},
    {"nn", {"data"}},
    {"objectives", {"core"}},
    {"attacks", {"data"}},
    {"personal", {"core"}},
    {"client", {"nn", "optim", "objectives", "attacks", "personal", "dp"}},
    {"server", {"nn", "objectives", "attacks", "dp"}},
    {"sim", {"client", "server", "partitions"}},
    {"net", {"client", "server"}},
    {"run", {"sim", "net"}},
    {"sweep", {"run"}},
    {"report", {"sweep"}},
    {"mpi", {"sweep"}},
    {"bench", {"client"}},
    {"cli", {"report", "bench", "mpi"}},
    {"fedstride", {"cli"}},
    {"python", {"cli"}},
};

Names reachable(const std::string& folder) {
  Names all{folder};
  for (const auto& next : kArrows.at(folder)) all.merge(reachable(next));
  return all;
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
  const Names allowed = reachable(folder);
  std::vector<std::string> found;
  for (const auto line : split(text, '\n')) {
    const auto quoted = included(line);
    if (quoted.empty()) continue;
    const auto slash = quoted.find('/');
    const std::string first(slash == quoted.npos ? "" : quoted.substr(1, slash - 1));
    const auto complain = [&](const std::string& why) { found.push_back("includes " + std::string(quoted) + why); };
    if (quoted.front() == '"') {
      if (!kArrows.contains(first))
        complain(", which does not begin with a folder of the project");
      else if (!allowed.contains(first))
        complain(", but no arrow leads from " + folder + " to " + first);
    } else if (kArrows.contains(first)) {
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
    const bool has_sources = std::any_of(begin(files), end(files), [](const auto& file) { return is_source(file.path()); });
    if (has_sources) CHECK_MESSAGE(kArrows.contains(name), name << "/ is in no arrow");
  }
}

/// The folders that fedstride_folder(NAME [DEPENDS folder...] [LINK ...] [OPTIMISE ...] [HOT ...] ...) of a CMakeLists.txt names,
/// the keywords in any order.
Names linked_folders(const std::string& text) {
  const Names keywords{"DEPENDS", "LINK", "OPTIMISE", "HOT", "COLD", "UNIT_OF", "BATCH", "EXCEPT"};
  Names folders;
  bool listed = false;
  std::istringstream words(text.substr(text.find("fedstride_folder(")));
  for (std::string word; words >> word;) {
    const bool last = word.ends_with(')');
    if (last) word.pop_back();
    if (keywords.contains(word))
      listed = word == "DEPENDS";
    else if (listed)
      folders.insert(word);
    if (last) break;
  }
  return folders;
}

TEST_CASE("every folder's target links exactly the folders its arrows name") {
  for (const auto& [folder, arrows] : kArrows) {
    if (folder == "fedstride" || folder == "python") continue;  // headers alone; a module, which links cli
    const std::string text = read_file(kRoot / folder / "CMakeLists.txt");
    REQUIRE_MESSAGE(text.find("fedstride_folder(" + folder) != text.npos, folder << "/CMakeLists.txt makes no target");
    CHECK_MESSAGE(linked_folders(text) == arrows, folder << "/CMakeLists.txt links other folders than its arrows name");
  }
}

TEST_CASE("the folders of a target are those after DEPENDS, wherever that stands") {
  CHECK(linked_folders("fedstride_folder(core LINK Eigen3::Eigen)").empty());
  CHECK(linked_folders("fedstride_folder(optim DEPENDS core)") == Names{"core"});
  CHECK(linked_folders("fedstride_folder(net DEPENDS client server OPTIMISE -O1 LINK a b)") == Names{"client", "server"});
  CHECK(linked_folders("# nets\nfedstride_folder(net BATCH 4 LINK a\n  DEPENDS client\n server)\nother(x DEPENDS y)") ==
        Names{"client", "server"});
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
  CHECK(complaints("run", "#include <pybind11/pybind11.h>\n").size() == 1);
  CHECK(complaints("core", "// #include \"data/dataset.hpp\"\n").empty());
}

}  // namespace
}  // namespace fedstride::test::include_arrows_test
