// Takes 17 s of processor time: ADADP on 1, 2 and 8 threads with a model that cuts its steps into pieces.
#include <doctest/doctest.h>

#include <fstream>

#include "core/files.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/run.hpp"
#include "sim/settings/configuration.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::same_bits_test {
namespace {

// adadp-cnn, three clients of unequal size, few rows.
Settings settings_for(const test::TemporaryFolder& folder, const std::string& out, int threads) {
  return parse_settings(
      "optimizer = 'adadp'\nclients = 3\npartition = 'dirichlet'\nalpha = 0.5\nvalidation-fraction = 0.95\nrounds = 3\nbatch = "
      "10\n"
      "evaluate-every = 3\nthreads = " +
          std::to_string(threads) + "\nout = '" + (folder / out) + "'",
      "test");
}

std::vector<std::string> hashes(const std::string& folder) {
  std::vector<std::string> result;
  std::ifstream file(folder + "/rounds.jsonl");
  for (std::string line; std::getline(file, line);) result.push_back(Json::parse(line)["model_hash"]);
  return result;
}

}  // namespace

TEST_CASE("1, 2 and 8 threads give the same model in every round, also where they helped inside a step") {
  const test::TemporaryFolder folder;
  for (const int threads : {1, 2, 8}) {
    const Settings settings = settings_for(folder, std::to_string(threads), threads);
    const Configuration configuration = resolve(settings);
    const Setup setup = prepare(configuration);
    CHECK(setup.clients.rows[0].size() != setup.clients.rows[1].size());
    CHECK(setup.clients.rows[1].size() != setup.clients.rows[2].size());
    const RunSummary summary = run(configuration, settings);
    if (threads == 1) CHECK(summary.pieces_helped == 0);
    if (threads > 1) CHECK(summary.pieces_helped > 0);
  }
  REQUIRE(hashes(folder / "1").size() == 3);
  CHECK(hashes(folder / "2") == hashes(folder / "1"));
  CHECK(hashes(folder / "8") == hashes(folder / "1"));
}

TEST_CASE("a run stopped in a round and resumed, and the run's own configuration, give the same model") {
  const test::TemporaryFolder folder;
  Settings settings = settings_for(folder, "whole", 2);
  run(resolve(settings), settings);

  std::atomic<bool> stop{false};
  RunObserver observer;
  observer.stop = &stop;
  observer.round = [&](const RoundRecord&) { stop = true; };
  settings = settings_for(folder, "broken", 2);
  REQUIRE(run(resolve(settings), settings, observer).interrupted);
  resume(folder / "broken", {});
  CHECK(hashes(folder / "broken") == hashes(folder / "whole"));
  CHECK(read_file(folder / "broken/model.safetensors") == read_file(folder / "whole/model.safetensors"));

  settings = read_settings(folder / "whole/config.toml");
  settings["out"] = {folder / "again", true};
  run(resolve(settings), settings);
  CHECK(hashes(folder / "again") == hashes(folder / "whole"));
}

}  // namespace fedstride::test::same_bits_test
