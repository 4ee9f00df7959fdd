#include "server/checkpoint.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::checkpoint_test {
namespace {

Checkpoint example() {
  Checkpoint checkpoint{.configuration = "digest", .round = 7, .model = rising_vector(33)};
  checkpoint.fleet_state = std::string("\0state\xff", 7);
  checkpoint.server_state = std::string("\0velocity", 9);
  checkpoint.results_bytes = 12345;
  checkpoint.results_hash = "hash";
  checkpoint.examples = 1ULL << 40;
  checkpoint.seconds = 1.25;
  return checkpoint;
}

}  // namespace

TEST_CASE("a checkpoint reads back as it was written") {
  const test::TemporaryFolder folder;
  save_checkpoint(folder / "checkpoint", example());
  const Checkpoint read = load_checkpoint(folder / "checkpoint");
  CHECK(read.configuration == "digest");
  CHECK(read.round == 7);
  CHECK(read.model == example().model);
  CHECK(read.fleet_state == example().fleet_state);
  CHECK(read.server_state == example().server_state);
  CHECK(read.results_bytes == 12345);
  CHECK(read.results_hash == "hash");
  CHECK(read.examples == 1ULL << 40);
  CHECK(read.seconds == 1.25);
}

TEST_CASE("a checkpoint with any byte changed, removed or added is refused") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "checkpoint";
  save_checkpoint(path, example());
  const std::string good = read_file(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write_file(path, bad);
    CAPTURE(i);
    // The newline after the checksum is the only byte without meaning.
    if (i == std::string_view("fedstride checkpoint 8\n").size() + 64) continue;
    CHECK_THROWS_AS(load_checkpoint(path), Error);
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{40}, good.size() / 2, good.size() - 1}) {
    write_file(path, good.substr(0, size));
    CHECK_THROWS_AS(load_checkpoint(path), Error);
  }
  write_file(path, good + "x");
  CHECK_THROWS_AS(load_checkpoint(path), Error);
}

TEST_CASE("another format and a missing file are named as such") {
  const test::TemporaryFolder folder;
  write_file(folder / "checkpoint", "fedstride checkpoint 2\nwhatever");
  CHECK_FAILURE(load_checkpoint(folder / "checkpoint"), folder / "checkpoint", "format 8");
  CHECK_FAILURE(load_checkpoint(folder / "absent"), folder / "absent");
}

}  // namespace fedstride::test::checkpoint_test
