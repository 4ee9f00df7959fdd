#include "sweep/file/experiment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "sim/run/reference_runs.hpp"
#include "sweep/cells/cell_keys.hpp"
#include "sweep/cells/grid.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::experiment_test {
namespace {

Experiment parsed(const std::string& text, const std::string& scale = "full", const Settings& fixed = {}) {
  return parse_experiment(text, "figure/experiment.toml", scale, fixed);
}

Setting typed(const std::string& text) { return {.value = text, .from_command_line = true}; }

// "key: a b c" for each axis.
std::vector<std::string> axes_of(const Experiment& experiment) {
  std::vector<std::string> result;
  for (const Axis& axis : experiment.axes) {
    std::string text;
    for (const auto& key : axis.keys) text += key + " ";
    for (const auto& value : axis.values) {
      text += "|";
      for (const auto& label : value.labels) text += " " + label;
    }
    for (const auto& [key, value] : axis.when) text += " when " + key + " " + value;
    result.push_back(text);
  }
  return result;
}

struct Refused {
  const char* text;
  std::vector<std::string_view> parts;  // of the message: places, keys, values and valid names
};

void check_refused(const Refused& row) {
  CAPTURE(row.text);
  const std::string message = error_of_kind(Error::Kind::usage, [&] { cell_count(parsed(row.text)); });
  CAPTURE(message);
  CHECK(names(message, {"'figure/experiment.toml'"}));
  for (const std::string_view part : row.parts) CHECK_MESSAGE(names(message, {part}), part);
}

const char* kSgd = R"(
rounds = 7
[sweep]
optimizer = ["adadp", "sgd"]
random-fraction = [1.0, 0]
seed = [2, 1]
batch = [10, 20]
[when.optimizer.sgd]
learning-rate = [0.1, 0.01]
partition = "interpolated"
)";

}  // namespace

TEST_CASE("axes are in the file's order, variants first, the seed last, each after what it depends on") {
  const auto axes = axes_of(parsed(std::string(kSgd) + "[variant.b]\ndecay = 0.9\ntolerance = [1, 2]\n[variant.a]\n"));
  CHECK(axes == std::vector<std::string>{"variant | b| a", "optimizer | adadp| sgd", "random-fraction | 1| 0", "batch | 10| 20",
                                         "| when optimizer sgd", "learning-rate | 0.1| 0.01 when optimizer sgd",
                                         "tolerance | 1| 2 when variant b", "seed | 2| 1"});
}

TEST_CASE("a condition on a key that another condition sets comes after it") {
  const auto axes =
      axes_of(parsed("[when.batch.20]\nrounds = [1, 2]\n[when.optimizer.sgd]\nbatch = [10, 20]\n"
                     "[sweep]\noptimizer = [\"adadp\", \"sgd\"]\n"));
  CHECK(axes ==
        std::vector<std::string>{"optimizer | adadp| sgd", "batch | 10| 20 when optimizer sgd", "rounds | 1| 2 when batch 20"});
}

TEST_CASE("an experiment is named after its folder, or after its file") {
  CHECK(parsed("").name == "figure");
  CHECK(parse_experiment("", "a/b/tiny.toml", "full").name == "tiny");
  CHECK(parsed("[experiment]\ntitle = 'T'\nsource = 'S'\nclaim = 'C'\nnote = 'N'").title == "T");
  CHECK(parsed("").title == "figure");
}

TEST_CASE("a scale's overrides replace values and lists; a plain value ends an axis, a list begins one") {
  const std::string text = std::string(kSgd) + R"(
[quick]
rounds = 1
batch = 10
[quick.sweep]
seed = [1]
clients = [2, 3]
[quick.when.optimizer.sgd]
learning-rate = [0.5]
)";
  const Experiment quick = parsed(text, "quick");
  CHECK(std::get<std::int64_t>(quick.settings.at("rounds").value) == 1);
  CHECK(axes_of(quick) == std::vector<std::string>{"optimizer | adadp| sgd", "random-fraction | 1| 0", "clients | 2| 3",
                                                   "| when optimizer sgd", "learning-rate | 0.5 when optimizer sgd", "seed | 1"});
  const Experiment full = parsed(text, "full");
  CHECK(std::get<std::int64_t>(full.settings.at("rounds").value) == 7);
  CHECK(full.axes.size() == 6);
}

TEST_CASE("what the command line fixes wins and is no axis any more, wherever the file has it") {
  const Experiment experiment =
      parsed(kSgd, "full", {{"learning-rate", typed("0.3")}, {"seed", typed("5")}, {"optimizer", typed("sgd")}});
  CHECK(axes_of(experiment) == std::vector<std::string>{"random-fraction | 1| 0", "batch | 10| 20", "| when optimizer sgd"});
  CHECK(std::get<std::string>(experiment.settings.at("learning-rate").value) == "0.3");
}

TEST_CASE("keys of a part that the command line replaces drop out, as in a run's file") {
  const Experiment experiment = parsed("optimizer = 'sgd'\n[sweep]\nlearning-rate = [0.1, 0.2]\nseed = [1]", "full",
                                       {{"dp", typed("none")}, {"partition", typed("iid")}, {"optimizer", typed("adam")}});
  CHECK(axes_of(experiment) == std::vector<std::string>{"learning-rate | 0.1| 0.2", "seed | 1"});
  const Experiment iid = parsed(
      "partition = 'interpolated'\n[sweep]\nrandom-fraction = [0, 1]\n[tune]\nkeys = ['random-fraction']\non = 'test'\nwhy = 'w'",
      "full", {{"partition", typed("iid")}});
  CHECK(axes_of(iid).empty());
  CHECK(iid.settings.size() == 1);
  CHECK(iid.tuning.keys.empty());
}

TEST_CASE("lists tied together are one axis; a key of them that is fixed leaves the others") {
  const std::string text = "[sweep]\nbatch = [10, 10, 20]\nzip = [['batch', 'rounds']]\nrounds = [1, 2, 3]\n[quick]\nrounds = 9";
  CHECK(axes_of(parsed(text)) == std::vector<std::string>{"batch rounds | 10 1| 10 2| 20 3"});
  CHECK(axes_of(parsed(text, "quick")) == std::vector<std::string>{"batch | 10| 20"});
  CHECK(axes_of(parsed(text, "full", {{"batch", typed("1")}})) == std::vector<std::string>{"rounds | 1| 2| 3"});
}

TEST_CASE("the keys of tables are read, and drop out where the command line fixes them") {
  const std::string text = "[sweep]\nbatch = [1, 2]\nclients = [3, 4]\n[table]\nrows = ['clients']\ncolumns = ['batch']";
  CHECK(parsed(text).table.rows == std::vector<std::string>{"clients"});
  CHECK(parsed(text).table.columns == std::vector<std::string>{"batch"});
  CHECK(parsed(text, "full", {{"batch", typed("1")}}).table.columns.empty());
}

TEST_CASE("a target and what is counted to it are read, and may be tuned by") {
  const Experiment experiment = parsed(
      "validation-fraction = 0.1\n[sweep]\nlearning-rate = [0.1, 0.2]\n[target]\nat = 0.6\nby = \"time\"\n"
      "[tune]\nkeys = [\"learning-rate\"]\nmetric = \"seconds_to_target\"\n[[figure]]\nkind = \"loss-by-round\"\nby = "
      "\"bytes\"\n");
  CHECK(experiment.target.metric == "accuracy");
  CHECK(experiment.target.at == 0.6);
  CHECK(experiment.by == Cost::time);
  CHECK(experiment.tuning.metric_name() == "validation_seconds_to_target");
  CHECK(experiment.figures.at(0).by == Cost::bytes);
  check_refused({"[target]\nmetric = \"accuracy\"\n", {"line 1", "at"}});
  check_refused({"[target]\nat = 60\n", {"line 2", "at", "1"}});
  check_refused({"[target]\nat = 0.6\nby = \"hours\"\n", {"line 3", "hours", "rounds, time, bytes"}});
  check_refused({"[sweep]\nlearning-rate = [0.1]\n[tune]\nkeys = [\"learning-rate\"]\nmetric = \"seconds_to_target\"\n",
                 {"line 5", "[target]"}});
}

TEST_CASE("claims are read with all they say") {
  const Experiment experiment = parsed(std::string(kSgd) + R"(
[tune]
keys = ["learning-rate"]
on = "test"
metric = "loss"
why = "as there"
[[expect]]
claim = "a"
value = { metric = "m", where = { random-fraction = 0.0, optimizer = "sgd" }, pick = "best", pick-where = { batch = 20 }, round = 3, minus = { metric = "n" } }
above = { metric = "m", over = { metric = "o" } }
margin = 0.5
scale = "both"
[[expect]]
claim = "b"
value = { metric = "m" }
equals = 1
within = 0.25
reason = "so"
[[figure]]
kind = "lines"
lines = ["optimizer"]
where = { batch = 10 }
ranks = [1, 2]
log-x = true
)");
  CHECK(experiment.tuning.metric_name() == "test_loss");
  CHECK(experiment.tuning.why == "as there");
  REQUIRE(experiment.expectations.size() == 2);
  const Expectation& first = experiment.expectations[0];
  CHECK(first.value.where == std::map<std::string, std::string>{{"optimizer", "sgd"}, {"random-fraction", "0"}});
  CHECK(first.value.pick == "best");
  CHECK(first.value.pick_where == std::map<std::string, std::string>{{"batch", "20"}});
  CHECK(first.value.round == 3);
  CHECK(first.value.minus.at(0).metric == "n");
  CHECK(first.relation == "above");
  CHECK(first.other->over.at(0).metric == "o");
  CHECK(first.margin == 0.5);
  CHECK(first.scale == "both");
  const Expectation& second = experiment.expectations[1];
  CHECK(second.relation == "equals");
  CHECK(second.number == 1.0);
  CHECK(second.within == 0.25);
  CHECK(second.scale == "full");
  CHECK(second.reason == "so");
  REQUIRE(experiment.figures.size() == 1);
  CHECK(experiment.figures[0].ranks == std::vector<int>{1, 2});
  CHECK(experiment.figures[0].log_x == true);
  CHECK(!experiment.figures[0].log_y.has_value());
}

TEST_CASE("a claim about a key that is fixed to the claimed value asks nothing of it; to another, it matches nothing") {
  const std::string text =
      std::string(kSgd) + "[[expect]]\nclaim = 'a'\nvalue = { metric = 'm', where = { batch = 10 } }\nabove = 0\n";
  CHECK(parsed(text, "full", {{"batch", typed("10")}}).expectations[0].value.where.empty());
  CHECK(parsed(text, "full", {{"batch", typed("20")}}).expectations[0].value.where.size() == 1);
}

TEST_CASE("a claim for each value of some keys is one of each combination; what it says of a key itself stays") {
  const std::string text = R"([sweep]
batch = [10, 20]
optimizer = ["sgd", "adam"]
rounds = [1, 2]
[[expect]]
claim = "c"
for-each = ["batch", "optimizer"]
value = { metric = "m", where = { rounds = 1 }, minus = { metric = "n", where = { optimizer = "sgd" } } }
above = { metric = "o", over = { metric = "p" } }
[[expect]]
claim = "d"
value = { metric = "m" }
above = 0
)";
  const auto claims = [](const Experiment& experiment) {
    std::vector<std::string> names;
    for (const Expectation& one : experiment.expectations) names.push_back(one.claim);
    return names;
  };
  const Experiment experiment = parsed(text);
  CHECK(claims(experiment) == std::vector<std::string>{"batch 10, optimizer sgd: c", "batch 10, optimizer adam: c",
                                                       "batch 20, optimizer sgd: c", "batch 20, optimizer adam: c", "d"});
  using Where = std::map<std::string, std::string>;
  const Expectation& last = experiment.expectations[3];
  CHECK(last.value.where == Where{{"batch", "20"}, {"optimizer", "adam"}, {"rounds", "1"}});
  CHECK(last.value.minus.at(0).where == Where{{"batch", "20"}, {"optimizer", "sgd"}});
  CHECK(last.other->where == Where{{"batch", "20"}, {"optimizer", "adam"}});
  CHECK(last.other->over.at(0).where == Where{{"batch", "20"}, {"optimizer", "adam"}});
  CHECK(experiment.expectations[4].value.where.empty());

  // A key that is fixed is the same everywhere; the values are those of the scale.
  CHECK(claims(parsed(text, "full", {{"batch", typed("20")}})) ==
        std::vector<std::string>{"optimizer sgd: c", "optimizer adam: c", "d"});
  CHECK(claims(parsed(text, "full", {{"batch", typed("20")}, {"optimizer", typed("sgd")}})) ==
        std::vector<std::string>{"c", "d"});
  CHECK(claims(parsed(text + "[quick.sweep]\nbatch = [7]", "quick")) ==
        std::vector<std::string>{"batch 7, optimizer sgd: c", "batch 7, optimizer adam: c", "d"});
  const Experiment variants = parsed(
      "[variant.one]\nbatch = 1\n[variant.two]\nbatch = 2\n[[expect]]\nclaim = 'c'\nfor-each = ['variant']\n"
      "value = { metric = 'm' }\nabove = 0");
  CHECK(claims(variants) == std::vector<std::string>{"variant one: c", "variant two: c"});
  const Experiment tied = parsed(
      "[sweep]\nbatch = [10, 10, 20]\nrounds = [1, 2, 3]\nzip = [['batch', 'rounds']]\n[[expect]]\nclaim = 'c'\n"
      "for-each = ['batch']\nvalue = { metric = 'm', pick = 'mean' }\nabove = 0");
  CHECK(claims(tied) == std::vector<std::string>{"batch 10: c", "batch 20: c"});

  std::string numbers = "1";
  for (int i = 2; i <= 101; ++i) numbers += ", " + std::to_string(i);
  CHECK_USAGE_ERROR(parsed("[sweep]\nbatch = [" + numbers + "]\nrounds = [" + numbers +
                           "]\n[[expect]]\nclaim = 'c'\nfor-each = ['batch', 'rounds']\nvalue = { metric = 'm' }\nabove = 0"),
                    "line 6", "for-each", "10000");
}

TEST_CASE("a faulty experiment file is refused with the line and what would be valid") {
  const Refused rows[] = {
      {"a = [", {"line 1"}},
      {"\nrunds = 3", {"line 2", "runds", "rounds"}},
      {"[sweep]\nrunds = [3]", {"line 2", "runds", "rounds"}},
      {"[sweeps]\nseed = [1]", {"line 1", "sweeps", "experiment", "sweep", "when"}},
      {"[[expects]]\nclaim = 'x'", {"expects", "expect"}},
      {"[quick.tune]\nkeys = []", {"quick.tune", "sweep", "when", "variant"}},
      {"seed = [1, 2]", {"line 1", "seed", "[sweep]"}},
      {"[quick]\nseed = [1, 2]", {"line 2", "seed", "[quick.sweep]"}},
      {"[sweep]\nseed = 1", {"line 2", "seed", "[sweep]", "seed = [...]"}},
      {"[sweep]\nseed = []", {"line 2", "seed", "[]"}},
      {"[sweep]\nseed = [[1]]", {"line 2", "seed", "true", "false"}},
      {"[sweep]\nseed = [1, 2,\n1.0]", {"line 3", "seed", "1"}},
      {"[sweep]\nrandom-fraction = [0, 0.0]", {"line 2", "random-fraction", "0"}},
      {"[sweep]\nseed = [2024-01-01]", {"line 2", "seed", "true", "false"}},
      {"rounds = 2024-01-01", {"line 1", "rounds", "true", "false"}},
      {"sweep = 3", {"line 1", "sweep", "[sweep]"}},
      {"quick = 3", {"line 1", "quick", "[quick]"}},
      {"out = 'x'", {"line 1", "out", "--out"}},
      {"[sweep]\nthreads = [1, 2]", {"line 2", "threads"}},
      {"seed = 1\n[sweep]\nseed = [1]", {"line 3", "seed", "line 1"}},
      {"[sweep]\nseed = [1]\noptimizer = ['sgd']\n[when.optimizer.sgd]\nseed = 2",
       {"line 5", "seed", "[when.optimizer.sgd]", "line 2"}},
      {"[sweep]\noptimizer = ['sgd']\n[when.optimizer.sdg]\nseed = 2", {"line 3", "[when.optimizer.sdg]", "optimizer", "sgd"}},
      {"[when.optimizer.sgd]\nseed = 2", {"line 1", "[when.optimizer.sgd]", "optimizer", "auto"}},
      {"[when.optimizer.sgd]\nseed = 2", {"line 1", "optimizer", "optimizer"}},
      {"[when.optimizer.sgd]\noptimizer = 'adadp'", {"line 2", "[when.optimizer.sgd]", " optimizer"}},
      {"[when.optimizer]\nsgd = 3", {"line 2", "when.optimizer.sgd", "[when.optimizer.sgd]"}},
      {"[when.random-fraction.0.5]\nseed = 3", {"[when.random-fraction.0]", "'5'"}},
      {"[when.variant.a]\nseed = 3", {"[when.variant.NAME]", "[variant.NAME]"}},
      {"[variant.a]\nsed = 3", {"line 2", "sed", "seed"}},
      {"[variant.a]\nseed = []", {"line 2", "seed", "[]"}},
      {"[variant.a]\nbatch = 3\n[sweep]\nseed = [1]\n[when.seed.1]\nbatch = 4", {"variant a", "seed 1", "batch"}},
      {"[when.batch.1]\nrounds = [1, 2]\n[when.rounds.1]\nbatch = [1, 2]", {"[when]", "batch"}},
      {"[sweep]\nbatch = [1, 2]\nrounds = [1, 2, 3]\nzip = [['batch', 'rounds']]",
       {"line 3", "zip", "batch", "2", "rounds", " 3"}},
      {"[sweep]\nbatch = [1, 2]\nzip = [['batch', 'rounds']]", {"line 3", "zip", "rounds", "[sweep]"}},
      {"[sweep]\nbatch = [1, 2]\nzip = [['batch']]", {"line 3", "zip = [["}},
      {"[sweep]\nbatch = [1, 2]\nzip = 3", {"line 3", "zip = [["}},
      {"[sweep]\nbatch = [1]\nrounds = [1]\nzip = [['batch', 'rounds', 'batch']]", {"line 4", "zip", "batch"}},
      {"[sweep]\nbatch = [1]\nexclude = [{ batch = 2 }]", {"line 3", "batch 2"}},
      {"[sweep]\nbatch = [1]\nexclude = [{ rounds = 2 }]", {"line 3", "exclude", "rounds", "batch"}},
      {"[sweep]\nbatch = [1]\nexclude = [{}]", {"line 3", "exclude", "{}"}},
      {"[sweep]\nbatch = [1]\nexclude = 3", {"line 3", "exclude = [{"}},
      {"[sweep]\nbatch = [1]\nexclude = [3]", {"line 3", "an entry of exclude must be a table"}},
      {"[sweep]\nbatch = [1, 2]\nexclude = [{ batch = [1] }]", {"line 3", "batch", "true", "false"}},
      {"[sweep]\nbatch = [1]\nexclude = [{ batch = 1 }]", {"exclude"}},
      {"[sweep]\noptimizer = ['sgd', 'adam']\n[when.optimizer.sgd]\nbatch = [1, 2]\n[when.optimizer.adam]\nrounds = "
       "[1, 2]\n"
       "[quick]\n[sweep.x]",
       {"line 8"}},
      {"[experiment]\nclaim = 'x'", {"line 1", "[experiment]", "title = \"...\""}},
      {"[experiment]\ntitle = 3", {"line 2", "title", "[experiment]"}},
      {"[experiment]\ntitel = 'x'", {"line 2", "[experiment]", "titel", "title"}},
      {"[experiment]\ntitle = 'x'\ncommand = 'sweep'", {"line 3", "command", "sweep"}},
      {"[experiment]\ntitle = 'x'\ncommand = 'privacy epsilon'\n[sweep]\n'a b' = [1]", {"line 5", "a b"}},
      {"[tune]\nkeys = ['batch']\non = 'test'", {"line 2", "batch"}},
      {"[table]\nrow = ['batch']", {"line 2", "[table]", "row", "rows", "columns"}},
      {"[sweep]\nbatch = [1]\n[table]\nrows = 'batch'", {"line 4", "rows", "[table]"}},
      {"[sweep]\nbatch = [1]\n[table]\ncolumns = ['clients']", {"line 4", "clients", "batch"}},
      {"[sweep]\nbatch = [1]\nseed = [1]\n[table]\ncolumns = ['seed']", {"line 5", "seed"}},
      {"[sweep]\nbatch = [1]\n[table]\nrows = ['batch']\ncolumns = ['batch']", {"line 5", "[table]", "batch"}},
      {"[sweep]\nbatch = [1]\n[tune]\nkeys = ['batch']\non = 'test'\nwhy = 'w'\n[table]\nrows = ['batch']",
       {"line 8", "batch", "[table]", "[tune]"}},
      {"[tune]\nkeys = []", {"line 1", "[tune]", "keys = ["}},
      {"[sweep]\nbatch = [1]\n[tune]\nkeys = ['batch']\non = 'tset'", {"line 5", "on", "[tune]", "tset", "test"}},
      {"[sweep]\nbatch = [1]\n[tune]\nkeys = ['batch']", {"line 3", "[tune]", "validation-fraction", "0", "on = \"test\""}},
      {"validation-fraction = 0\n[sweep]\nbatch = [1]\n[tune]\nkeys = ['batch']", {"line 4", "[tune]", "validation-fraction"}},
      {"[sweep]\nbatch = [1]\nvalidation-fraction = [0.0, 0.1]\n[tune]\nkeys = ['batch']",
       {"line 4", "[tune]", "validation-fraction"}},
      {"[sweep]\nbatch = [1]\n[tune]\nkeys = ['batch']\non = 'test'", {"line 3", "[tune]", "why = \""}},
      {"[sweep]\nseed = [1]\n[tune]\nkeys = ['seed']\non = 'test'", {"line 4", "seed"}},
      {"[[expect]]\nvalue = { metric = 'm' }\nabove = 1", {"line 1", "[[expect]]", "claim = \""}},
      {"[[expect]]\nclaim = 'c'\nabove = 1", {"[[expect]]", "value = {"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }", {"[[expect]]", "above", "below", "equals"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabove = 1\nbelow = 2", {"line 5", "[[expect]]", "above", "below"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabov = 1", {"[[expect]]", "abov", "above"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabove = 'x'", {"above", "[[expect]]", "{ metric"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabove = nan", {"above", "[[expect]]", "{ metric"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabove = 1\nwithin = 2", {"line 5", "within", "equals"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nequals = 1\nmargin = 2", {"line 5", "margin", "above", "below"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nequals = 1\nwithin = -2", {"within", "[[expect]]", "0"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm', pick = 'bets' }\nequals = 1", {"pick", "value", "bets", "best"}},
      {"[sweep]\nbatch = [1]\n[[expect]]\nclaim = 'c'\nfor-each = ['bacth']\nvalue = { metric = 'm' }\nequals = 1",
       {"line 5", "bacth", "batch"}},
      {"[sweep]\nseed = [1]\n[[expect]]\nclaim = 'c'\nfor-each = ['seed']\nvalue = { metric = 'm' }\nequals = 1",
       {"line 5", "seed"}},
      {"[sweep]\nbatch = [1]\n[[expect]]\nclaim = 'c'\nfor-each = 'batch'\nvalue = { metric = 'm' }\nequals = 1",
       {"line 5", "for-each", "[[expect]]"}},
      {"[sweep]\nbatch = [1]\n[[expect]]\nclaim = 'c'\nfor-each = ['batch', 'batch']\nvalue = { metric = 'm' }\nequals = 1",
       {"line 5", "for-each", "[[expect]]", "batch"}},
      {"[sweep]\nbatch = [1]\n[[expect]]\nclaim = 'c'\nfor-each = []\nvalue = { metric = 'm' }\nequals = 1",
       {"line 5", "for-each", "[[expect]]"}},
      {"[sweep]\noptimizer = ['sgd']\n[when.optimizer.sgd]\nbatch = [1, 2]\n[[expect]]\nclaim = 'c'\nfor-each = ['batch']\n"
       "value = { metric = 'm' }\nequals = 1",
       {"line 7", "batch", "[sweep]", "for-each", "variant"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm', round = 0 }\nequals = 1", {"round", "value", "1"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'accuracy' }\nabove = 0.5",
       {"line 3", "metric", "value", "'accuracy'", "'test_accuracy'"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabove = { metric = 'val_acc' }",
       {"line 4", "metric", "above", "'val_acc'", "'validation_accuracy'"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'test_accuracy' }\nabove = 50", {"line 4", "above", "50", "0", "1"}},
      {"[[figure]]\nkind = 'lines'\nx = 'epochs'\ny = 'acc'", {"line 3", "x", "[[figure]]", "'epochs'", "'round'"}},
      {"[[figure]]\nkind = 'lines'\ny = 'acc'", {"line 3", "y", "[[figure]]", "'acc'", "'test_accuracy'"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { where = {} }\nequals = 1", {"value", "metric = \""}},
      {"[sweep]\nbatch = [1]\n[[expect]]\nclaim = 'c'\nvalue = { metric = 'm', where = { bacth = 1 } }\nequals = 1",
       {"line 5", "bacth", "batch"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nequals = 1\nscale = 'x'",
       {"scale", "[[expect]]", "x", "full", "quick", "both"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm', client = -1 }\nequals = 1", {"line 3", "client", "value", "0 or more"}},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm', client = 0, round = 2 }\nequals = 1", {"line 3", "client and round"}},
      {"expect = 3", {"line 1", "[[expect]]"}},
      {"[expect]\nclaim = 'c'", {"line 1", "[[expect]]"}},
      {"[[figure]]\nkind = 'line'", {"line 2", "kind", "[[figure]]", "line", "lines"}},
      {"[[figure]]\ntitle = 'x'", {"line 1", "[[figure]]", "kind = \""}},
      {"[[figure]]\nkind = 'lines'\nwhere = { batch = 1 }", {"line 3", "batch"}},
      {"[[figure]]\nkind = 'lines'\nranks = [0]", {"line 3", "ranks", "1"}},
      {"[[figure]]\nkind = 'lines'\nlog-x = 3", {"line 3", "log-x", "[[figure]]", "true", "false"}},
  };
  for (const Refused& row : rows) check_refused(row);
  CHECK_USAGE_ERROR(parsed("", "ful"), "scale", "ful", "quick", "full");
}

TEST_CASE("numbers of other commands and swept keys may have such names, and differences of accuracies any size") {
  CHECK_NOTHROW(
      parsed("steps = 1\n[experiment]\ntitle = 't'\ncommand = 'privacy epsilon'\n[[expect]]\nclaim = 'c'\n"
             "value = { metric = 'epsilon' }\nabove = 5"));
  CHECK_NOTHROW(parsed("[sweep]\nrounds = [1, 2]\n[[figure]]\nkind = 'lines'\nx = 'rounds'\ny = 'test_loss'"));
  CHECK_NOTHROW(
      parsed("[sweep]\nbatch = [1, 2]\n[[expect]]\nclaim = 'c'\nvalue = { metric = 'test_accuracy', where = { batch = 1 }, "
             "minus = { metric = 'test_accuracy', where = { batch = 2 } } }\nabove = -0.5"));
}

TEST_CASE("a value of the command line that is in no list of [sweep] is noted") {
  const auto notes = [](const std::string& seed) {
    return parsed("[sweep]\nseed = [1, 2]\n", "full", {{"seed", typed(seed)}}).replaced;
  };
  CHECK(notes("2").empty());
  REQUIRE(notes("7").size() == 1);
  CHECK(test::names(notes("7").front(), {"--seed 7", "[sweep]", "1, 2"}));
}

TEST_CASE("a scale that is not used is still checked") {
  CHECK_USAGE_ERROR(parsed("[quick.sweep]\nseed = []", "full"), "line 2", "seed");
}

TEST_CASE("every experiment of the project is readable at both scales, and each of its cells resolves") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(FEDSTRIDE_SOURCE_DIR "/experiments")) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() != ".toml") continue;
    if (file.filename() == "reference.toml") {
      CHECK(read_reference_runs(file.string(), true).size() >= 2);
      continue;
    }
    ++files;
    for (const std::string scale : {"quick", "full"}) {
      CAPTURE(file.string());
      CAPTURE(scale);
      const Experiment experiment = read_experiment(file.string(), scale);
      InputHashes inputs;  // of data that need not be here
      if (experiment.command == "run")
        for_each_cell(experiment, [&](const Cell& cell) {
          const Configuration configuration = resolve(cell.settings);
          inputs[data_input(configuration)] = "data";
          if (!configuration.init.empty()) inputs[file_input(configuration.init)] = "init";
        });
      const auto cells = expand(experiment, inputs);
      CHECK(cells.size() == cell_count(experiment));
    }
  }
  CHECK(files >= 20);
}

}  // namespace fedstride::test::experiment_test
