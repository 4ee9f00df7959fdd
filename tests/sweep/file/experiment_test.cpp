#include "sweep/file/experiment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "sweep/cells/cell_keys.hpp"
#include "sweep/cells/grid.hpp"

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
  const char* says;
};

void check_refused(const Refused& row) {
  CAPTURE(row.text);
  std::string message;
  Error::Kind kind = Error::Kind::failure;
  try {
    cell_count(parsed(row.text));
  } catch (const Error& error) {
    message = error.what();
    kind = error.kind();
  }
  CAPTURE(message);
  CHECK(kind == Error::Kind::usage);
  CHECK(message.find(row.says) != std::string::npos);
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.starts_with("'figure/experiment.toml'"));
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

TEST_CASE("axes stand in the file's order, variants first, the seed last, each after what it depends on") {
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
  CHECK_THROWS_WITH_AS(parsed("[sweep]\nbatch = [" + numbers + "]\nrounds = [" + numbers +
                              "]\n[[expect]]\nclaim = 'c'\nfor-each = ['batch', 'rounds']\nvalue = { metric = 'm' }\nabove = 0"),
                       doctest::Contains("line 6: for-each makes more than 10000 claims"), Error);
}

TEST_CASE("what is wrong with an experiment file is refused with its line and with what would be valid") {
  const Refused rows[] = {
      {"a = [", "', line 1: "},
      {"\nrunds = 3", "line 2: key 'runds' is unknown; did you mean 'rounds'?"},
      {"[sweep]\nrunds = [3]", "line 2: key 'runds' is unknown; did you mean 'rounds'?"},
      {"[sweeps]\nseed = [1]", "line 1: table 'sweeps' is unknown; did you mean 'sweep'? valid: experiment, sweep, when"},
      {"[[expects]]\nclaim = 'x'", "table 'expects' is unknown; did you mean 'expect'?"},
      {"[quick.tune]\nkeys = []", "table 'quick.tune' is unknown; valid: sweep, when, variant"},
      {"seed = [1, 2]", "line 1: seed has a list; put it into [sweep]"},
      {"[quick]\nseed = [1, 2]", "line 2: seed has a list; put it into [quick.sweep]"},
      {"[sweep]\nseed = 1", "line 2: seed in [sweep] must be a list: seed = [...]; one value stands at the top"},
      {"[sweep]\nseed = []", "line 2: seed has an empty list; name at least one value"},
      {"[sweep]\nseed = [[1]]", "line 2: the list of seed may hold numbers, texts, true and false, nothing else"},
      {"[sweep]\nseed = [1, 2,\n1.0]", "line 3: seed has the value 1 twice"},
      {"[sweep]\nrandom-fraction = [0, 0.0]", "random-fraction has the value 0 twice"},
      {"[sweep]\nseed = [2024-01-01]", "the list of seed may hold numbers"},
      {"rounds = 2024-01-01", "line 1: rounds must be a number, a text, true or false"},
      {"sweep = 3", "line 1: sweep must be a table: [sweep]"},
      {"quick = 3", "line 1: quick must be a table: [quick]"},
      {"out = 'x'", "line 1: out is no key of an experiment; name the folder by --out"},
      {"[sweep]\nthreads = [1, 2]", "line 2: threads cannot be swept: no result depends on it"},
      {"seed = 1\n[sweep]\nseed = [1]", "line 3: seed has a list here and one value in line 1; one of them is valid"},
      {"[sweep]\nseed = [1]\noptimizer = ['sgd']\n[when.optimizer.sgd]\nseed = 2",
       "line 5: seed is set in [when.optimizer.sgd] and swept for all cells in line 2"},
      {"[sweep]\noptimizer = ['sgd']\n[when.optimizer.sdg]\nseed = 2",
       "line 3: [when.optimizer.sdg] is for no cell; optimizer is sgd"},
      {"[when.optimizer.sgd]\nseed = 2", "line 1: [when.optimizer.sgd] is for no cell; optimizer is adadp"},
      {"[when.optimiser.sgd]\nseed = 2", "key 'optimiser' is unknown; did you mean 'optimizer'?"},
      {"[when.optimizer.sgd]\noptimizer = 'adadp'", "[when.optimizer.sgd] sets optimizer, the key it depends on"},
      {"[when.optimizer]\nsgd = 3", "line 2: when.optimizer.sgd must be a table: [when.optimizer.sgd]"},
      {"[when.random-fraction.0.5]\nseed = 3",
       "[when.random-fraction.0] holds a table '5'; only keys are valid there, and a value with a dot stands in "
       "quotes"},
      {"[when.variant.a]\nseed = 3", "[when.variant.NAME] is not valid; write [variant.NAME]"},
      {"[variant.a]\nsed = 3", "line 2: key 'sed' is unknown; did you mean 'seed'?"},
      {"[variant.a]\nseed = []", "line 2: seed has an empty list"},
      {"[variant.a]\nbatch = 3\n[sweep]\nseed = [1]\n[when.seed.1]\nbatch = 4", "has its batch set by two tables"},
      {"[when.batch.1]\nrounds = [1, 2]\n[when.rounds.1]\nbatch = [1, 2]", "depend on each other in a circle"},
      {"[sweep]\nbatch = [1, 2]\nrounds = [1, 2, 3]\nzip = [['batch', 'rounds']]",
       "line 3: zip ties batch with 2 values to rounds with 3; the lists must be of one length"},
      {"[sweep]\nbatch = [1, 2]\nzip = [['batch', 'rounds']]", "line 3: zip names rounds, which has no list in [sweep]"},
      {"[sweep]\nbatch = [1, 2]\nzip = [['batch']]", "zip must be a list of lists of keys"},
      {"[sweep]\nbatch = [1, 2]\nzip = 3", "zip must be a list of lists of keys"},
      {"[sweep]\nbatch = [1]\nrounds = [1]\nzip = [['batch', 'rounds', 'batch']]", "zip names batch twice"},
      {"[sweep]\nbatch = [1]\nexclude = [{ batch = 2 }]", "line 3: an exclusion matches no cell"},
      {"[sweep]\nbatch = [1]\nexclude = [{ rounds = 2 }]", "line 3: exclude names rounds, which is not swept; swept are: batch"},
      {"[sweep]\nbatch = [1]\nexclude = [{}]", "line 3: an exclusion without keys would exclude every cell"},
      {"[sweep]\nbatch = [1]\nexclude = 3", "line 3: exclude must be a list of tables"},
      {"[sweep]\nbatch = [1, 2]\nexclude = [{ batch = [1] }]", "batch must be one value here"},
      {"[sweep]\nbatch = [1]\nexclude = [{ batch = 1 }]", "has no cell left: everything is excluded"},
      {"[sweep]\noptimizer = ['sgd', 'adam']\n[when.optimizer.sgd]\nbatch = [1, 2]\n[when.optimizer.adam]\nrounds = "
       "[1, 2]\n"
       "[quick]\n[sweep.x]",
       "line 8: "},
      {"[experiment]\nclaim = 'x'", "line 1: [experiment] has no title; it must say title = \"...\""},
      {"[experiment]\ntitle = 3", "line 2: title of [experiment] must be a text"},
      {"[experiment]\ntitel = 'x'", "line 2: key of [experiment] 'titel' is unknown; did you mean 'title'?"},
      {"[experiment]\ntitle = 'x'\ncommand = 'sweep'", "line 3: command 'sweep' is not valid"},
      {"[experiment]\ntitle = 'x'\ncommand = 'privacy epsilon'\n[sweep]\n'a b' = [1]", "line 5: key 'a b' is no flag's name"},
      {"[tune]\nkeys = ['batch']\non = 'test'", "line 2: batch is not swept; swept are: none"},
      {"[tune]\nkeys = []", "[tune] has no keys"},
      {"[sweep]\nbatch = [1]\n[tune]\nkeys = ['batch']\non = 'tset'",
       "line 5: on of [tune] 'tset' is unknown; did you mean 'test'?"},
      {"[sweep]\nbatch = [1]\n[tune]\nkeys = ['batch']",
       "line 3: [tune] chooses on the validation split, and validation-fraction is 0"},
      {"validation-fraction = 0\n[sweep]\nbatch = [1]\n[tune]\nkeys = ['batch']",
       "line 4: [tune] chooses on the validation split, and validation-fraction is 0"},
      {"[sweep]\nbatch = [1]\nvalidation-fraction = [0.0, 0.1]\n[tune]\nkeys = ['batch']",
       "line 4: [tune] chooses on the validation split, and validation-fraction is 0"},
      {"[sweep]\nbatch = [1]\n[tune]\nkeys = ['batch']\non = 'test'",
       "line 3: [tune] chooses on the test set and does not say why"},
      {"[sweep]\nseed = [1]\n[tune]\nkeys = ['seed']\non = 'test'",
       "seed cannot be chosen here: numbers are means over the seeds"},
      {"[[expect]]\nvalue = { metric = 'm' }\nabove = 1", "line 1: [[expect]] has no claim"},
      {"[[expect]]\nclaim = 'c'\nabove = 1", "[[expect]] has no value"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }",
       "[[expect]] compares with nothing; it must say one of above, below, equals"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabove = 1\nbelow = 2", "line 5: [[expect]] says both above and below"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabov = 1",
       "key of [[expect]] 'abov' is unknown; did you mean 'above'?"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabove = 'x'", "above of [[expect]] must be a number or { metric"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabove = nan", "above of [[expect]] must be a number or { metric"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nabove = 1\nwithin = 2", "within goes with equals"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nequals = 1\nmargin = 2", "margin goes with above and below"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nequals = 1\nwithin = -2",
       "within of [[expect]] must be a number from 0"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm', pick = 'bets' }\nequals = 1",
       "pick of value 'bets' is unknown; did you mean 'best'?"},
      {"[sweep]\nbatch = [1]\n[[expect]]\nclaim = 'c'\nfor-each = ['bacth']\nvalue = { metric = 'm' }\nequals = 1",
       "line 5: bacth is not swept; swept are: batch"},
      {"[sweep]\nseed = [1]\n[[expect]]\nclaim = 'c'\nfor-each = ['seed']\nvalue = { metric = 'm' }\nequals = 1",
       "seed cannot be chosen here"},
      {"[sweep]\nbatch = [1]\n[[expect]]\nclaim = 'c'\nfor-each = 'batch'\nvalue = { metric = 'm' }\nequals = 1",
       "line 5: for-each of [[expect]] must be a list of swept keys"},
      {"[sweep]\nbatch = [1]\n[[expect]]\nclaim = 'c'\nfor-each = ['batch', 'batch']\nvalue = { metric = 'm' }\nequals = 1",
       "line 5: for-each of [[expect]] names batch twice"},
      {"[sweep]\nbatch = [1]\n[[expect]]\nclaim = 'c'\nfor-each = []\nvalue = { metric = 'm' }\nequals = 1",
       "line 5: for-each of [[expect]] must be a list of swept keys"},
      {"[sweep]\noptimizer = ['sgd']\n[when.optimizer.sgd]\nbatch = [1, 2]\n[[expect]]\nclaim = 'c'\nfor-each = ['batch']\n"
       "value = { metric = 'm' }\nequals = 1",
       "batch has no list in [sweep]; for-each takes keys that have one, and variant"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm', round = 0 }\nequals = 1",
       "round of value must be a whole number from 1"},
      {"[[expect]]\nclaim = 'c'\nvalue = { where = {} }\nequals = 1", "value has no metric"},
      {"[sweep]\nbatch = [1]\n[[expect]]\nclaim = 'c'\nvalue = { metric = 'm', where = { bacth = 1 } }\nequals = 1",
       "line 5: bacth is not swept; swept are: batch"},
      {"[[expect]]\nclaim = 'c'\nvalue = { metric = 'm' }\nequals = 1\nscale = 'x'",
       "scale of [[expect]] 'x' is unknown; valid: full, quick, both"},
      {"expect = 3", "line 1: expect must be tables of their own: [[expect]]"},
      {"[expect]\nclaim = 'c'", "expect must be tables of their own: [[expect]]"},
      {"[[figure]]\nkind = 'line'", "line 2: kind of [[figure]] 'line' is unknown; did you mean 'lines'?"},
      {"[[figure]]\ntitle = 'x'", "line 1: [[figure]] has no kind"},
      {"[[figure]]\nkind = 'lines'\nwhere = { batch = 1 }", "line 3: batch is not swept"},
      {"[[figure]]\nkind = 'lines'\nranks = [0]", "ranks must be whole numbers from 1"},
      {"[[figure]]\nkind = 'lines'\nlog-x = 3", "log-x of [[figure]] must be true or false"},
  };
  for (const Refused& row : rows) check_refused(row);
  CHECK_THROWS_WITH(parsed("", "ful"), "scale 'ful' is unknown; did you mean 'full'? valid: quick, full");
}

TEST_CASE("a scale that is not used is checked all the same") {
  CHECK_THROWS_WITH(parsed("[quick.sweep]\nseed = []", "full"), doctest::Contains("line 2: seed has an empty list"));
}

TEST_CASE("every experiment of the project is readable at both scales, and each of its cells resolves") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(FEDSTRIDE_SOURCE_DIR "/experiments")) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() != ".toml") continue;
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
