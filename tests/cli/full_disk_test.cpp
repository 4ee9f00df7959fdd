#include <doctest/doctest.h>

#include "tests/cli/program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/small_disk.hpp"

namespace fedstride::test::full_disk_test {

namespace fs = std::filesystem;

namespace {

// About 13,000 parameters: the checkpoint is much larger than all else.
const Words kWide{"--model", "dense 2000 | relu | dense classes", "--optimizer", "sgd", "--quiet"};

Words wide(const TemporaryFolder& folder, Words more) {
  more.insert(more.end(), kWide.begin(), kWide.end());
  return federation(folder, more);
}

}  // namespace

TEST_CASE("a run that cannot write its first checkpoint fails in one line and leaves no folder behind") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  const auto before = contents(folder.path());
  const TemporaryFolder output;
  const Process process(wide(folder, {"--out", folder / "a/b/out"}), output, "", 20'000);
  CHECK(process.wait() == 1);
  CHECK(names(process.err(), {"'" + (folder / "a/b/out/checkpoint") + "'", "File too large"}));
  CHECK(contents(folder.path()) == before);
}

TEST_CASE("on a disk that fills up, a run fails in one line, keeps what it had, and goes on when there is room") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(wide(folder, {"--out", folder / "whole", "--rounds", "4"})).code == 0);
  const SmallDisk disk(folder / "disk");
  if (!disk.mounted()) FEDSTRIDE_SKIP("a small disk cannot be mounted here (root can)");
  const std::string out = folder / "disk/out";
  REQUIRE(run_program(wide(folder, {"--out", out, "--rounds", "2"})).code == 0);
  // A stand-in for whatever else fills a disk.
  const std::string filler = folder / "disk/filler";
  {
    std::ofstream file(filler);
    while (file << std::string(4096, 'x') << std::flush) {
    }
  }
  const auto before = contents(out);
  const Outcome full = run_program({"run", "--resume", out, "--rounds", "4"});
  CHECK(full.code == 5);  // temporary
  CHECK(names(full.err, {"No space left on device"}));
  CHECK(contents(out) == before);
  CHECK(run_program({"evaluate", out}).code == 0);
  fs::remove(filler);
  CHECK(run_program({"run", "--resume", out, "--rounds", "4"}).code == 0);
  CHECK(fedstride::read_file(out + "/model.safetensors") == fedstride::read_file(folder / "whole/model.safetensors"));
}

}  // namespace fedstride::test::full_disk_test
