#include "sweep/report/tensorboard.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/support/events.hpp"
#include "tests/support/folder.hpp"
#include "tests/sweep/report/made_results.hpp"

namespace fedstride::test::tensorboard_test {
namespace {

constexpr const char* kFile = "events.out.tfevents.fedstride";

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("each cell is a run called by what varies, each round a step with every number of the tables") {
  const TemporaryFolder folder;
  SweepResults results =
      made_results({.fractions = {0}, .rates = {0.01}, .seeds = 2, .rounds = 3, .clients = 2, .is_private = true});
  const TensorBoardExport written = export_tensorboard(results, folder.path());
  // One share and one rate: they tell nothing apart but whether there is a rate.
  CHECK(written.runs == Names{"optimizer=adadp,seed=1", "optimizer=adadp,seed=2", "optimizer=sgd,learning-rate=0.01,seed=1",
                              "optimizer=sgd,learning-rate=0.01,seed=2"});
  const auto events = EventReader::read(read_file(folder.path() / written.runs[1] / kFile));
  REQUIRE(events.size() == 4);
  const CellResult& cell = results.cells[1];
  for (std::uint32_t round = 1; round <= 3; ++round) {
    const auto& scalars = events[round].scalars;
    CHECK(events[round].step == round);
    CHECK(scalars.at("accuracy/test") == static_cast<float>(cell.rounds[round - 1].numbers.at("test_accuracy")));
    CHECK(scalars.at("loss/test") == static_cast<float>(cell.rounds[round - 1].numbers.at("test_loss")));
    CHECK(scalars.at("privacy/epsilon") == static_cast<float>(cell.rounds[round - 1].numbers.at("epsilon_spent")));
    CHECK(scalars.contains("privacy/epsilon_by_tight"));
    CHECK(scalars.at("clients/learning_rate/1") == static_cast<float>(cell.clients[2 * round - 1].numbers.at("learning_rate")));
    CHECK(scalars.size() == cell.rounds[round - 1].numbers.size() + 2 * 2);
  }
  // Again: the same bytes in the same file.
  const std::string before = read_file(folder.path() / written.runs[0] / kFile);
  export_tensorboard(results, folder.path());
  CHECK(read_file(folder.path() / written.runs[0] / kFile) == before);
}

TEST_CASE("time goes on by what the rounds took") {
  const TemporaryFolder folder;
  SweepResults results = made_results({.fractions = {0}, .rates = {0.01}, .seeds = 1, .rounds = 3, .clients = 1});
  for (auto& cell : results.cells)
    for (auto& round : cell.rounds) round.numbers["seconds"] = 2.0 * round.round;
  const auto written = export_tensorboard(results, folder.path());
  const auto events = EventReader::read(read_file(folder.path() / written.runs[0] / kFile));
  for (std::size_t i = 1; i < events.size(); ++i)
    CHECK(events[i].wall_time - events[i - 1].wall_time == doctest::Approx(2.0 * static_cast<double>(i)));
}

TEST_CASE("names are of letters that a folder may have, and no two cells share one") {
  const TemporaryFolder folder;
  SweepResults results = made_results({.fractions = {0}, .rates = {0.01}, .seeds = 2, .rounds = 1, .clients = 1});
  for (std::size_t i = 0; i < results.cells.size(); ++i)
    results.cells[i].cell.point = {{"model", "../../" + std::string(i % 2 == 0 ? "a|b" : "a/b")}};
  const auto written = export_tensorboard(results, folder.path());
  REQUIRE(written.runs.size() == 4);
  CHECK(std::set<std::string>(written.runs.begin(), written.runs.end()).size() == 4);
  for (const auto& name : written.runs) {
    CHECK(name.starts_with("model=.._.._a_b-"));
    CHECK(std::filesystem::exists(folder.path() / name / kFile));
  }
}

TEST_CASE("many clients have curves up to a number, cells without rounds none, and other commands are refused") {
  const TemporaryFolder folder;
  SweepResults results = made_results({.fractions = {0}, .rates = {0.01}, .seeds = 1, .rounds = 2, .clients = 40});
  results.cells[0].rounds.clear();
  const auto written = export_tensorboard(results, folder.path());
  CHECK(written.runs.size() == 1);
  CHECK(written.without_rounds == 1);
  CHECK(written.clients_left_out == 40 - kMaxExportedClients);
  const auto events = EventReader::read(read_file(folder.path() / written.runs[0] / kFile));
  CHECK(events[1].scalars.contains("clients/learning_rate/31"));
  CHECK(!events[1].scalars.contains("clients/learning_rate/32"));
  results.experiment.command = "privacy epsilon";
  CHECK_THROWS_AS(export_tensorboard(results, folder.path()), Error);
}

TEST_CASE("tags are in groups, and no two metrics share one") {
  CHECK(tensorboard_tag("test_accuracy") == "accuracy/test");
  CHECK(tensorboard_tag("validation_loss") == "loss/validation");
  CHECK(tensorboard_tag("worst_client_accuracy") == "clients/worst_accuracy");
  CHECK(tensorboard_tag("client_epsilon_by_rdp") == "privacy/client_epsilon_by_rdp");
  CHECK(tensorboard_tag("rejected_share") == "training/rejected_share");
}

}  // namespace fedstride::test::tensorboard_test
