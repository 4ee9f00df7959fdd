#include "sim/run/reference_runs.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/simd.hpp"
#include "core/text.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::reference_runs_test {
namespace {

const std::string kFile = std::string(FEDSTRIDE_SOURCE_DIR) + "/examples/reference.toml";
const std::string kVersion = "numerics-version = " + std::to_string(kNumericsVersion) + "\n";

constexpr std::size_t kEvery = 12;  // the entry cli/reference_runs has all

void read(const std::string& text) {
  const test::TemporaryFolder folder;
  write_file(folder / "runs.toml", text);
  read_reference_runs(folder / "runs.toml");
}

}  // namespace

TEST_CASE("a sample of the reference runs has its hashes") {
  if (!kFused) {
    MESSAGE("skipped: this build rounds multiply-adds twice");
    return;
  }
  const auto runs = read_reference_runs(kFile);
  CHECK(runs.size() >= 60);
  for (std::size_t i = 0; i < runs.size(); i += kEvery) {
    CAPTURE(runs[i].name);
    CHECK(hash_of(runs[i], 2) == runs[i].hash);
  }
}

TEST_CASE("an update puts hashes and version in place and leaves the rest of the file alone") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "runs.toml";
  write_file(
      path,
      "# mine\nnumerics-version = 1\n[common]\nrounds = 1\n[run.a]\nhash = \"\"\n\n[run.b]\nseed = 2\nhash = \"x\"  # old\n");
  CHECK_USAGE_ERROR(read_reference_runs(path), "version 1", std::to_string(kOpenNumericsVersion));
  CHECK(read_reference_runs(path, true).size() == 2);
  update_reference_runs(path, {"11", "22"});
  CHECK(read_file(path) ==
        "# mine\n" + kVersion + "[common]\nrounds = 1\n[run.a]\nhash = \"11\"\n\n[run.b]\nseed = 2\nhash = \"22\"  # old\n");
  CHECK(read_reference_runs(path)[1].hash == "22");
  CHECK_USAGE_ERROR(update_reference_runs(path, {"11"}), "2 runs");
}

TEST_CASE("an update of inline tables keeps them, and one that would spoil the file is refused before anything is run") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "runs.toml";
  write_file(path, "numerics-version = 6 # six\nrun.a.hash = ''\nrun.b = {seed=1, hash=\"x\"}  # b\nrun.c = {hash = \"\"}\n");
  REQUIRE(read_reference_runs(path, true).size() == 3);
  update_reference_runs(path, {"11", "22", "33"});
  CHECK(read_file(path) == "numerics-version = " + std::to_string(kNumericsVersion) +
                               " # six\nrun.a.hash = \"11\"\nrun.b = {seed=1, hash=\"22\"}  # b\nrun.c = {hash = \"33\"}\n");
  write_file(path, kVersion + "run = {a = {hash = 'x'}, b = {hash = 'x'}}\n");
  update_reference_runs(path, {"long", ""});
  CHECK(read_file(path) == kVersion + "run = {a = {hash = \"long\"}, b = {hash = \"\"}}\n");
  for (const std::string hash : {"\"\"\"\nx\"\"\"", "\"\"\"\"\"\"", "\"\\u0041\"", "''''''"}) {
    CAPTURE(hash);
    const std::string text = kVersion + "[run.a]\nhash = " + hash + "\n";
    write_file(path, text);
    CHECK(read_reference_runs(path).size() == 1);
    CHECK_USAGE_ERROR(read_reference_runs(path, true), "line 3", "--update");
    CHECK_USAGE_ERROR(update_reference_runs(path, {"11"}), "line 3", "--update");
    CHECK(read_file(path) == text);
  }
}

TEST_CASE("what is not a file of reference runs is refused, with the line") {
  CHECK_USAGE_ERROR(read(""), "numerics-version");
  CHECK_USAGE_ERROR(read("numerics-version = \"7\"\n[run.a]\nhash = \"\"\n"), "line 1", "numerics-version");
  CHECK_USAGE_ERROR(read(kVersion), "[run.NAME]");
  CHECK_USAGE_ERROR(read(kVersion + "[run]\n"), "[run.NAME]");
  CHECK_USAGE_ERROR(read(kVersion + "[common]\nhash = \"\"\n[run.a]\nhash = \"\"\n"), "line 3", "[common]");
  CHECK_USAGE_ERROR(read(kVersion + "rounds = 3\n"), "line 2", "'rounds'", "[common]");
  CHECK_USAGE_ERROR(read(kVersion + "[run.a]\nrounds = 3\n"), "'a'", "hash");
  CHECK_USAGE_ERROR(read(kVersion + "[run.a]\nhash = \"\"\nroundz = 3\n"), "line 4", "roundz", "rounds");
  CHECK_USAGE_ERROR(read(kVersion + "[run.a]\nhash = \"\"\nout = \"x\"\n"), "line 4", "out");
  CHECK_USAGE_ERROR(read(kVersion + "[run]\na = 1\n"), "run.a", "table");
  CHECK_USAGE_ERROR(read("x = ["), "runs.toml", "line 1");
}

}  // namespace fedstride::test::reference_runs_test
