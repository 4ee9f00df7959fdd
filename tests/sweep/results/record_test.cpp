#include "sweep/results/record.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/error.hpp"
#include "core/json.hpp"
#include "tests/support/refusal.hpp"
#include "tests/sweep/results/made_cells.hpp"

namespace fedstride::test::record_test {
namespace {

SweepResults made() {
  SweepResults results;
  results.folder = "sweeps/made";
  results.experiment = made_experiment({made_axis("optimizer", {"sgd", "pooled"}), made_axis("seed", {"1", "2"})});
  results.experiment.tuning = {.keys = {"learning-rate"}, .on = "validation", .metric = "accuracy", .why = {}};
  for (const char* const optimizer : {"sgd", "pooled"})
    for (const char* const seed : {"1", "2"}) results.cells.push_back(made_cell({{"optimizer", optimizer}, {"seed", seed}}, {}));
  results.cells[0].texts["data_hash"] = "abc";
  results.cells[0].texts["model_hash"] = "def";
  results.cells[0].numbers["seconds"] = 1.5;
  results.machine = {{"processor", "a processor"}, {"commit", "123"}, {"libraries", "Eigen 3.4.0"}};
  results.summary = {{.configuration = "c",
                      .point = {{"optimizer", "sgd"}},
                      .metric = "test_accuracy",
                      .n = 2,
                      .mean = 0.5,
                      .deviation = 0.25,
                      .low = std::numeric_limits<double>::quiet_NaN(),
                      .high = 0.75,
                      .rank = 1},
                     {.configuration = "c", .point = {}, .metric = "test_accuracy", .round = 3, .mean = 0.125}};
  return results;
}

}  // namespace

TEST_CASE("a record has the rule, the axes, the data, the machine, the day, and each mean after the last round") {
  const Json record = parse_json(results_record(made(), "2026-11-27"));
  CHECK(record["format"] == "fedstride results 1");
  CHECK(record["day"] == "2026-11-27");
  CHECK(record["rule"]["metric"] == "validation_accuracy");
  CHECK(record["rule"]["tuned"][0] == "learning-rate");
  CHECK(record["axes"]["optimizer"].size() == 2);
  CHECK(record["data"]["hashes"][0] == "abc");
  CHECK(record["machine"]["commit"] == "123");
  CHECK(record["cells"].size() == made().cells.size());
  CHECK(record["cells"][0]["model_hash"] == "def");
  CHECK(record["cells"][0]["seconds"] == 1.5);
  CHECK(record["cells"][0]["point"].contains("seed"));
  CHECK(record["data"]["sets"][0]["status"] == "made by the program");
  REQUIRE(record["values"].size() == 1);
  CHECK(record["values"][0]["point"]["optimizer"] == "sgd");
  CHECK(record["values"][0]["mean"] == 0.5);
  CHECK(record["values"][0]["low"].is_null());
}

TEST_CASE("a sweep that is not finished is not recorded, and the day is that of SOURCE_DATE_EPOCH") {
  SweepResults results = made();
  results.cells[2].status = "unfinished";
  CHECK_FAILURE(results_record(results, "2026-11-27"), "sweeps/made", "unfinished", "finished sweeps");
  ::setenv("SOURCE_DATE_EPOCH", "86400", 1);
  CHECK(day_of_record() == "1970-01-02");
  ::setenv("SOURCE_DATE_EPOCH", "soon", 1);
  CHECK_USAGE_ERROR(day_of_record(), "SOURCE_DATE_EPOCH", "'soon'", "seconds");
  ::unsetenv("SOURCE_DATE_EPOCH");
  CHECK(day_of_record().size() == 10);
}

}  // namespace fedstride::test::record_test
