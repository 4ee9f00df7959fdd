// Several test files are one compiler call: a name that two of them have must not meet.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride::test::namespaces_test {
namespace {

namespace fs = std::filesystem;

/// Why a test file of that name could not be compiled together with others; "" if it can.
std::string objection(const std::string& name, const std::string& text) {
  bool own = false;
  for (const std::string_view line : split(text, '\n')) {
    if (!own && line.starts_with("using namespace")) return "has '" + std::string(line) + "', which is for every file after it";
    if (line.starts_with("#define")) return "has '" + std::string(line) + "'";
    own = own || line == "namespace fedstride::test::" + name + " {";
  }
  return own ? "" : "has no 'namespace fedstride::test::" + name + " {'";
}

}  // namespace

TEST_CASE("every test file keeps its names in a namespace that is called as the file") {
  const fs::path tests = fs::path(FEDSTRIDE_SOURCE_DIR) / "tests";
  std::map<std::string, int> named;  // "core/hash_test"
  for (const auto& entry : fs::recursive_directory_iterator(tests)) {
    const std::string name = entry.path().stem().string();
    if (!name.ends_with("_test") || entry.path().extension() != ".cpp") continue;
    const fs::path inside = fs::relative(entry.path(), tests);
    const std::string why = objection(name, read_file(entry.path()));
    CHECK_MESSAGE(why.empty(), inside.string() << " " << why);
    // Files of a folder are compiled together; those of a folder inside are, too, unless it has a target.
    fs::path folder = inside.parent_path();
    while (folder.has_parent_path() && !fs::exists(tests / ".." / folder / "CMakeLists.txt")) folder = folder.parent_path();
    CHECK_MESSAGE(++named[(folder / name).string()] == 1, inside.string() << " has the name of another file");
  }
  CHECK(named.size() > 100);
}

TEST_CASE("the check sees what it is there for") {
  const std::string good = "#include <vector>\nnamespace fedstride::test::a_test {\n}\n";
  CHECK(objection("a_test", good) == "");
  CHECK(objection("b_test", good) == "has no 'namespace fedstride::test::b_test {'");
  CHECK(objection("a_test", "using namespace std;\n" + good).starts_with("has 'using namespace std;'"));
  CHECK(objection("a_test", good + "#define EVERY 1\n") == "has '#define EVERY 1'");
}

}  // namespace fedstride::test::namespaces_test
