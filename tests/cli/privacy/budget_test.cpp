// A budget belongs to rows: runs, sweeps and tuned runs add up in the record beside them.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "core/text.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::budget_test {
namespace {

/// Private runs on a copy of the same table.
struct Rows {
  TemporaryFolder folder;
  std::string data = folder / "data";

  Rows() { write_table(data); }

  Outcome run(const std::string& out, const Words& more = {}) const {
    Words words{"--dp", "example", "--noise-multiplier", "2", "--batch", "10", "--out", folder / out};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(federation(folder, words));
  }
  Json spent(const std::string& of = "") const {
    const Outcome told = run_program({"privacy", "budget", of.empty() ? data : of, "--json"});
    REQUIRE_MESSAGE(told.code == 0, told.err);
    return Json::parse(told.out);
  }
};

double epsilon_of(const std::string& run) {
  return Json::parse(read_file(run + "/summary.json"))["privacy"][0]["epsilon"].get<double>();
}

}  // namespace

TEST_CASE(
    "two experiments on the same rows cannot pass a limit, whatever folder they have, without another record named by hand") {
  const Rows rows;
  REQUIRE(rows.run("first").code == 0);
  const double once = epsilon_of(rows.folder / "first");
  CHECK(rows.spent()[0]["example_epsilon"].get<double>() == doctest::Approx(once));
  // The same run again is the same noise, and costs nothing; another seed's is not.
  REQUIRE(rows.run("again", {"--max-epsilon", number_text(once * 1.001)}).code == 0);
  CHECK(rows.spent()[0]["runs"] == 1);
  const Words limit{"--seed", "2", "--max-epsilon", number_text(once * 1.001)};
  const Outcome refused = rows.run("second", limit);
  CHECK(refused.code == 2);
  CHECK(names(refused.err, {"max-epsilon", "other runs"}));
  CHECK(line_count(refused.err) == 1);
  CHECK_FALSE(std::filesystem::exists(rows.folder / "second"));
  CHECK(rows.spent()[0]["runs"] == 1);  // what was refused was not spent

  // A limit between is met: the run ends in the round before, and a larger limit lets it go on.
  const Outcome halted = rows.run("halted", {"--seed", "2", "--rounds", "40", "--max-epsilon", number_text(once * 2)});
  REQUIRE_MESSAGE(halted.code == 0, halted.err);
  const Json summary = Json::parse(read_file(rows.folder / "halted/summary.json"));
  CHECK(summary["halted"].get<std::string>().find("max-epsilon") != std::string::npos);
  CHECK(summary["rounds"] > 0);
  CHECK(summary["rounds"] < 40);
  CHECK(rows.spent()[0]["example_epsilon"].get<double>() <= once * 2);
  REQUIRE(run_program({"run", "--resume", rows.folder / "halted", "--max-epsilon", number_text(once * 2.5)}).code == 0);
  CHECK(Json::parse(read_file(rows.folder / "halted/summary.json"))["rounds"] > summary["rounds"]);
  CHECK(rows.spent()[0]["runs"] == 2);
  CHECK(rows.spent()[0]["example_epsilon"].get<double>() > once * 2);
  CHECK(run_program({"privacy", "audit", rows.folder / "halted"}).code == 0);

  Words elsewhere = limit;
  elsewhere.insert(elsewhere.end(), {"--budget", rows.folder / "other.budget"});
  CHECK(rows.run("third", elsewhere).code == 0);
  CHECK(rows.spent(rows.folder / "other.budget")[0]["runs"] == 1);
}

TEST_CASE("rows of which one changed are other rows; what has no effect is refused") {
  const Rows rows;
  REQUIRE(rows.run("first").code == 0);
  const std::string file = rows.data + "/train.csv";
  std::string text = read_file(file);
  text.back() = ' ';
  text += '\n';
  std::ofstream(file) << text;
  REQUIRE(rows.run("second").code == 0);
  CHECK(rows.spent().size() == 2);
  const Outcome open = run_program({"run", "--data", rows.data, "--max-epsilon", "1", "--out", rows.folder / "open"});
  CHECK(open.code == 2);
  CHECK(names(open.err, {"max-epsilon", "dp"}));
  CHECK(names(run_program({"run", "--data", rows.data, "--budget", "x", "--out", rows.folder / "open"}).err, {"budget", "dp"}));
}

TEST_CASE("a sweep says what its cells cost together, and they are in the record") {
  const Rows rows;
  REQUIRE(rows.run("first").code == 0);
  std::string settings = read_file(rows.folder / "first/config.toml");
  for (const auto line : split(std::string(settings), '\n'))
    if (line.starts_with("seed = ")) settings.erase(settings.find(line), line.size() + 1);
  std::ofstream(rows.folder / "seeds.toml") << settings + "[sweep]\nseed = [11, 12]\n";
  const Outcome swept = run_program({"sweep", rows.folder / "seeds.toml", "--out", rows.folder / "sweep"});
  REQUIRE_MESSAGE(swept.code == 0, swept.err);
  const auto at = swept.out.find("2 cells on ");
  REQUIRE_MESSAGE(at != std::string::npos, swept.out);
  const Outcome again = run_program({"sweep", rows.folder / "seeds.toml", "--out", rows.folder / "sweep", "--json"});
  const Json cost = Json::parse(again.out)["together"][0];
  const double once = epsilon_of(rows.folder / "first");
  CHECK(cost["cells"] == 2);
  CHECK(cost["epsilon"] > once * 1.2);
  CHECK(cost["epsilon"] < once * 2);
  CHECK(rows.spent()[0]["runs"] == 3);
  CHECK(rows.spent()[0]["example_epsilon"] > cost["epsilon"]);
}

}  // namespace fedstride::test::budget_test
