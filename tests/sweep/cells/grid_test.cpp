#include "sweep/cells/grid.hpp"

#include <doctest/doctest.h>

#include <set>

#include "core/error.hpp"
#include "sim/settings/document.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::grid_test {
namespace {

Experiment parsed(const std::string& text, const Settings& fixed = {}) {
  return parse_experiment(text, "grid.toml", "full", fixed);
}

std::vector<std::string> points(const Experiment& experiment) {
  std::vector<std::string> result;
  for_each_cell(experiment, [&](const Cell& cell) { result.push_back(point_text(cell)); });
  return result;
}

/// 144 cells, of which 57 are valid. Its data are nowhere: whatever reads them fails.
constexpr const char* kRefusedGrid =
    "data = '/nowhere/data.csv'\nclients = 20\noptimizer = 'sgd'\ndp = 'client'\nnoise-multiplier = 1.0\n"
    "[sweep]\nlocal-objective = ['plain', 'prox', 'scaffold', 'dyn', 'nova', 'fair']\n"
    "server-optimizer = ['average', 'momentum', 'adagrad', 'adam', 'yogi', 'fedexp']\n"
    "cohort = ['all', 'poisson', 'fixed', 'power-of-choice']\n";

std::vector<RefusedGroup> refused(const Experiment& experiment) {
  try {
    check_cells(experiment);
  } catch (const RefusedCells& error) {
    CHECK(error.kind() == Error::Kind::usage);
    return error.groups;
  }
  return {};
}

}  // namespace

TEST_CASE("a setting that only some cells may have is refused with the table that sets it for these") {
  const std::string file = "rounds = 1\n[sweep]\npartition = ['iid', 'pathological', 'dirichlet']\n";
  CHECK_USAGE_ERROR(check_cells(parsed(file + "alpha = [0.1]\n")), "'iid'", "[when.partition.dirichlet]");
  CHECK_NOTHROW(check_cells(parsed(file + "[when.partition.dirichlet]\nalpha = 0.1\n")));
}

TEST_CASE("all invalid cells are refused before anything is read, each reason once, with what leaves them out") {
  const Experiment experiment = parsed(kRefusedGrid);
  CHECK_USAGE_ERROR(check_cells(experiment), "87", "144",
                    "(local-objective plain, server-optimizer average, cohort power-of-choice)", "'power-of-choice'");
  std::size_t cells = 0;
  std::set<std::string> reasons;
  std::string exclusions;
  for (const RefusedGroup& group : refused(experiment)) {
    cells += group.cells.size();
    CHECK(reasons.insert(group.reason).second);
    CHECK_FALSE(group.exclusions.empty());
    for (const std::string& exclusion : group.exclusions) exclusions += (exclusions.empty() ? "" : ", ") + exclusion;
  }
  CHECK(cells == 87);
  CHECK(reasons.size() <= 8);
  CHECK(exclusions.find("{cohort = 'power-of-choice'}") != std::string::npos);
  CHECK(exclusions.find("{local-objective = 'dyn', server-optimizer = 'adam'}") != std::string::npos);
  const Experiment left = parsed(std::string(kRefusedGrid) + "exclude = [" + exclusions + "]\n");
  CHECK(cell_count(left) == 57);
  CHECK_NOTHROW(check_cells(left));
}

TEST_CASE("one invalid cell is said by itself, and one of another fault than a rule's has its reason too") {
  CHECK_USAGE_ERROR(check_cells(parsed("[sweep]\nbatch = [10, -1]")), "(batch -1)", "batch", "-1");
  const auto groups = refused(parsed("[sweep]\noptimizer = ['adadp', 'sgd']\ntolerance = [1.0, 2.0]"));
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].cells.size() == 2);
  CHECK(names(groups[0].reason, {"tolerance", "optimizer", "'sgd'"}));
}

TEST_CASE("cells that no run of this program can carry out are refused") {
  CHECK(names(refused(parsed("partition = 'own'\nroster = 'r'")).at(0).reason, {"'fedstride serve'"}));
  CHECK(names(refused(parsed("code = 'train=mover 1'")).at(0).reason, {"fedstride.run(train=...)"}));
}

TEST_CASE("the grid is the product of its lists, the last one fastest") {
  CHECK(points(parsed("[sweep]\nseed = [1, 2]\nbatch = [10, 20]")) ==
        std::vector<std::string>{"batch 10, seed 1", "batch 10, seed 2", "batch 20, seed 1", "batch 20, seed 2"});
}

TEST_CASE("a file without lists is one cell") {
  const Experiment experiment = parsed("rounds = 3");
  CHECK(points(experiment).size() == 1);
  CHECK(cell_count(experiment) == 1);
}

TEST_CASE("a list under a condition is there for the cells that meet it, values compared as numbers") {
  CHECK(points(parsed("[sweep]\noptimizer = ['adadp', 'sgd']\nrandom-fraction = [0.0, 1.0]\n[when.optimizer.sgd]\n"
                      "learning-rate = [0.1, 0.2]\n[when.random-fraction.\"1.0\"]\nbatch = [5, 6]\n")) ==
        std::vector<std::string>{
            "optimizer adadp, random-fraction 0", "optimizer adadp, random-fraction 1, batch 5",
            "optimizer adadp, random-fraction 1, batch 6", "optimizer sgd, random-fraction 0, learning-rate 0.1",
            "optimizer sgd, random-fraction 0, learning-rate 0.2", "optimizer sgd, random-fraction 1, learning-rate 0.1, batch 5",
            "optimizer sgd, random-fraction 1, learning-rate 0.1, batch 6",
            "optimizer sgd, random-fraction 1, learning-rate 0.2, batch 5",
            "optimizer sgd, random-fraction 1, learning-rate 0.2, batch 6"});
}

TEST_CASE("the same key may have a list under several conditions") {
  CHECK(points(parsed("[sweep]\noptimizer = ['sgd', 'adam']\n[when.optimizer.sgd]\nlearning-rate = [0.1]\n"
                      "[when.optimizer.adam]\nlearning-rate = [0.001, 0.01]")) ==
        std::vector<std::string>{"optimizer sgd, learning-rate 0.1", "optimizer adam, learning-rate 0.001",
                                 "optimizer adam, learning-rate 0.01"});
}

TEST_CASE("a condition holds of a key that is set once for all, or left at its default") {
  CHECK(points(parsed("optimizer = 'sgd'\n[when.optimizer.sgd]\nbatch = [1, 2]")).size() == 2);
  CHECK(points(parsed("[when.optimizer.auto]\nbatch = [1, 2]")).size() == 2);
}

TEST_CASE("a variant is a bundle of keys under a name, with lists of its own") {
  const Experiment experiment =
      parsed("rounds = 5\n[variant.keep]\nrounds = 6\nbatch = [1, 2]\n[variant.plain]\n[sweep]\nseed = [7]");
  CHECK(points(experiment) ==
        std::vector<std::string>{"variant keep, batch 1, seed 7", "variant keep, batch 2, seed 7", "variant plain, seed 7"});
  std::vector<std::string> rounds;
  for_each_cell(experiment, [&](const Cell& cell) { rounds.push_back(value_text(cell.settings.at("rounds").value)); });
  CHECK(rounds == std::vector<std::string>{"6", "6", "5"});
}

TEST_CASE("exclusions take cells away") {
  const Experiment experiment = parsed(
      "[sweep]\noptimizer = ['adadp', 'sgd']\nbatch = [1, 2]\n"
      "exclude = [{ optimizer = 'sgd', batch = 2.0 }]");
  CHECK(points(experiment) ==
        std::vector<std::string>{"optimizer adadp, batch 1", "optimizer adadp, batch 2", "optimizer sgd, batch 1"});
  CHECK(cell_count(experiment) == 3);
}

TEST_CASE("an exclusion that the command line left without cells is no error, and one it did not is kept") {
  const std::string text = "[sweep]\noptimizer = ['adadp', 'sgd']\nbatch = [1, 2]\nexclude = [{ optimizer = 'sgd', batch = 2 }]";
  const auto fixed = [](const char* key, const char* value) {
    return Settings{{key, {.value = std::string(value), .from_command_line = true}}};
  };
  CHECK(points(parsed(text, fixed("optimizer", "adadp"))).size() == 2);
  CHECK(points(parsed(text, fixed("optimizer", "sgd"))) == std::vector<std::string>{"batch 1"});
  CHECK(points(parsed(text, fixed("batch", "2"))) == std::vector<std::string>{"optimizer adadp"});
}

TEST_CASE("more than a million cells are refused before they are made") {
  std::string list = "[";
  for (int i = 1; i <= 1001; ++i) list += std::to_string(i) + ",";
  list += "]";
  CHECK_USAGE_ERROR(cell_count(parsed("[sweep]\nseed = " + list + "\nrounds = " + list)), "'grid.toml'", "1000000");
}

TEST_CASE("the same number is the same value, however it is written") {
  CHECK(same_value("0.0", "0"));
  CHECK(same_value("1e-5", "0.00001"));
  CHECK(same_value("sgd", "sgd"));
  CHECK(!same_value("sgd", "sgd2"));
  CHECK(!same_value("1", "1x"));
  CHECK(!same_value("", "0"));
}

}  // namespace fedstride::test::grid_test
