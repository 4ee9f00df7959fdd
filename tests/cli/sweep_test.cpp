
#include <chrono>
#include <thread>

#include "tests/cli/refusal.hpp"
#include "tests/support/json.hpp"
#include "tests/support/terminal.hpp"

namespace fedstride::test::sweep_test {

namespace fs = std::filesystem;

namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// The table in folder/data and an experiment on it.
void write_experiment(const TemporaryFolder& folder, const std::string& more, const std::string& rounds = "2") {
  write_table(folder / "data");
  write(folder / "tiny.toml", "data = '" + (folder / "data") + "'\nclients = 3\nrounds = " + rounds + "\n" + more);
}

const char* kGrid =
    "model = 'logistic'\n[experiment]\ntitle = 'T'\n[sweep]\noptimizer = ['adadp', 'sgd']\nseed = [1, 2]\n"
    "[[expect]]\nclaim = 'accuracy is a share'\nvalue = { metric = 'test_accuracy', where = { optimizer = 'sgd' } "
    "}\nabove = 0\n"
    "[[expect]]\nclaim = 'accuracy is large'\nvalue = { metric = 'test_accuracy', where = { optimizer = 'sgd' } "
    "}\nabove = 1\n"
    "reason = 'a share is 1 at most'\n[quick]\nrounds = 1\n[quick.sweep]\nseed = [3]\n";

Outcome sweep(const TemporaryFolder& folder, const Words& more) {
  return run_program(with_flags({"sweep", folder / "tiny.toml", "--out", folder / "out"}, more));
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string first_line(const Outcome& outcome) { return outcome.out.substr(0, outcome.out.find('\n')); }

std::string last_line(const Outcome& outcome) {
  const auto end = outcome.out.find_last_not_of('\n') + 1;
  return outcome.out.substr(0, end).substr(outcome.out.rfind('\n', end - 1) + 1);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("fedstride sweep runs the cells, says which claims hold, and where the tables are") {
  const TemporaryFolder folder;
  write_experiment(folder, kGrid);
  const Outcome outcome = sweep(folder, {"--jobs", "2", "--threads", "2"});
  CHECK(outcome.err == "");
  CHECK(outcome.code == 0);
  CHECK(names(first_line(outcome), {"4 cells", "0"}));
  for (const char* cell : {"optimizer adadp, seed 1, test accuracy 0.", "optimizer sgd, seed 2, test accuracy 0.", "[4/4] "})
    CHECK_MESSAGE(contains(outcome.out, cell), cell);
  CHECK(contains(outcome.out, "holds: accuracy is a share"));
  CHECK(contains(outcome.out, "fails: accuracy is large"));
  CHECK(contains(outcome.out, "a share is 1 at most\n"));
  CHECK(contains(outcome.out, "4 of 4 cells finished"));
  CHECK(contains(outcome.out, "fedstride report " + (folder / "out")));
  CHECK(!contains(outcome.out, "\x1b"));
  const Outcome again = sweep(folder, {});
  CHECK(again.code == 0);
  CHECK(names(first_line(again), {"4 cells", "4 finished"}));
  CHECK(sweep(folder, {"--quiet"}).out == "");
}

TEST_CASE("the command that a cell tells repeats its model") {
  const TemporaryFolder folder;
  write_experiment(folder, kGrid);
  const Outcome other = sweep(folder, {"--seed", "7", "--optimizer", "sgd"});
  REQUIRE(other.code == 0);
  CHECK(names(other.err, {"--seed 7", "[sweep]", "1, 2"}));
  const std::string cells = fedstride::read_file(folder / "out/cells.csv");
  const std::string command = cells.substr(cells.rfind("fedstride run"));
  REQUIRE(line_count(command) == 1);
  REQUIRE(std::system(
              (FEDSTRIDE_PROGRAM + command.substr(9, command.size() - 10) + " --quiet --out " + (folder / "again")).c_str()) ==
          0);
  const auto summary = Json::parse(fedstride::read_file(folder / "again/summary.json"));
  CHECK(contains(cells, summary["model_hash"].get<std::string>()));
}

TEST_CASE("flags of a run fix its keys, and --scale picks the overrides") {
  const TemporaryFolder folder;
  write_experiment(folder, kGrid);
  const Outcome quick = sweep(folder, {"--scale", "quick", "--optimizer=sgd", "--batch", "20"});
  CHECK(quick.code == 0);
  CHECK(names(first_line(quick), {"1 cell", "0"}));
  const auto json = Json::parse(fedstride::read_file(folder / "out/sweep.json"));
  CHECK(json["scale"] == "quick");
  CHECK(json["fixed"] == Json{{"batch", "20"}, {"optimizer", "sgd"}});
  CHECK(contains(fedstride::read_file(folder / "out/cells.csv"), "--batch 20"));
}

TEST_CASE("--dry-run lists the cells, what is left of each and the time, and makes nothing") {
  const TemporaryFolder folder;
  write_experiment(folder, kGrid);
  const auto before = contents(folder.path());
  const Outcome fresh = sweep(folder, {"--dry-run", "--jobs", "2"});
  CHECK(fresh.code == 0);
  CHECK(contents(folder.path()) == before);
  CHECK(count(fresh.out, "  new ") == 4);
  CHECK(contains(fresh.out, "optimizer sgd, seed 2\n"));
  CHECK(names(last_line(fresh), {"4 cells", "2", folder / "out"}));
  CHECK(contains(last_line(fresh), " 0:"));
  REQUIRE(sweep(folder, {"--shard", "1/2"}).code == 0);
  const Outcome half = sweep(folder, {"--dry-run"});
  CHECK(count(half.out, "  new ") == 2);
  CHECK(count(half.out, "  finished ") == 2);
  CHECK(count(sweep(folder, {"--dry-run", "--shard", "2/2"}).out, "  new ") == 2);
}

TEST_CASE("--dry-run says of which cells the time is not known, and why") {
  const TemporaryFolder folder;
  write_experiment(folder, "[sweep]\nmodel = ['conv 3 3', 'logistic']\n");
  const Outcome outcome = sweep(folder, {"--dry-run"});
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.out, "model conv 3 3: "));
  CHECK(names(last_line(outcome), {"2 cells", "1", folder / "out"}));
  CHECK(contains(last_line(outcome), " 0:"));
}

TEST_CASE("a grid with cells that are not valid is refused by the sweep and its dry run alike, each reason once") {
  const TemporaryFolder folder;
  write(folder / "tiny.toml",
        "optimizer = 'sgd'\ndp = 'client'\nnoise-multiplier = 1.0\nclients = 20\ndata = '/nowhere/data.csv'\n[sweep]\n"
        "local-objective = ['plain', 'prox', 'scaffold', 'dyn', 'nova', 'fair']\n"
        "server-optimizer = ['average', 'momentum', 'adagrad', 'adam', 'yogi', 'fedexp']\n"
        "cohort = ['all', 'poisson', 'fixed', 'power-of-choice']\n");
  const auto before = contents(folder.path());
  for (const auto& flags : {std::vector<std::string>{"--dry-run"}, std::vector<std::string>{}}) {
    const Outcome outcome = sweep(folder, flags);
    CHECK(outcome.code == 2);
    CHECK(names(outcome.err, {"87 of 144 cells", "local-objective plain"}));
    CHECK(count(outcome.out, "refused: ") <= 8);
    CHECK(contains(outcome.out, "exclude = [{cohort = 'power-of-choice'}"));
  }
  const auto json = Json::parse(sweep(folder, {"--dry-run", "--json"}).out);
  std::size_t cells = 0;
  for (const auto& group : json["refused"]) cells += group["cells"].size();
  CHECK(cells == 87);
  CHECK(contents(folder.path()) == before);
}

TEST_CASE("control characters of names do not reach the terminal") {
  const TemporaryFolder folder;
  write_experiment(folder, "model = 'logistic'\n[variant.\"red\\u001b[31m\"]\nbatch = 20\n");
  for (const auto& flags : {std::vector<std::string>{"--dry-run"}, std::vector<std::string>{}}) {
    const Outcome outcome = sweep(folder, flags);
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "variant red [31m"));
    CHECK_FALSE(contains(outcome.out, "\x1b"));
  }
}

TEST_CASE("a failed cell is named with its error and its command; the others go on; the exit code is 1") {
  const TemporaryFolder folder;
  write_experiment(folder, "[sweep]\nmodel = ['conv 3 3', 'logistic']\n");
  const Outcome outcome = sweep(folder, {});
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.out, "1 of 2 cells finished, 1 failed"));
  CHECK(names(outcome.err, {"model conv 3 3", "fedstride run --clients 3 --data", "--model 'conv 3 3'"}));
}

TEST_CASE("Ctrl-C ends a sweep with exit code 130 and the command that goes on with it") {
  const TemporaryFolder folder;
  write_experiment(folder, kGrid, "1000000");
  const TemporaryFolder output;
  const Process process({"sweep", folder / "tiny.toml", "--out", folder / "out", "--jobs", "2", "--seed", "2"}, output);
  const auto rounds = [&] {
    std::size_t most = 0;
    std::error_code error;
    for (fs::directory_iterator cell(folder / "out/cells", error), end; !error && cell != end; ++cell)
      if (fs::exists(cell->path() / "rounds.jsonl"))
        most = std::max(most, line_count(fedstride::read_file(cell->path() / "rounds.jsonl")));
    return most;
  };
  for (int i = 0; i < 60'000 && rounds() < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  process.signal(SIGINT);
  CHECK(process.wait() == 130);
  CHECK(
      names(process.err(), {"fedstride sweep " + (folder / "tiny.toml") + " --out " + (folder / "out") + " --jobs 2 --seed 2"}));
  CHECK(contains(process.out(), "0 of 2 cells finished"));
  CHECK(count(sweep(folder, {"--dry-run", "--seed", "2"}).out, "  unfinished ") >= 1);
}

TEST_CASE("another command than run is swept by its JSON output") {
  const TemporaryFolder folder;
  write(folder / "tiny.toml",
        "delta = 1e-5\nsampling-rate = 0.01\nsteps = 100\n[experiment]\ntitle = 'E'\ncommand = 'privacy epsilon'\n"
        "[sweep]\nnoise-multiplier = [2.0, 4.0, -1.0]\n");
  const Outcome outcome = sweep(folder, {"--jobs", "2"});
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.out, "2 of 3 cells finished, 1 failed"));
  CHECK(names(outcome.err, {"noise-multiplier -1", "noise-multiplier is"}));
  const std::string cells = fedstride::read_file(folder / "out/cells.csv");
  CHECK(contains(cells, "fedstride privacy epsilon --delta 1e-05 --noise-multiplier 2 --sampling-rate 0.01 --steps 100 --json"));
  CHECK(names(first_line(sweep(folder, {})), {"3 cells", "2 finished"}));
  CHECK(contains(sweep(folder, {"--dry-run"}).out, "finished"));
  CHECK(contains(sweep(folder, {"--noise-multiplier", "3"}).out, "1 cell, 0 finished"));
}

TEST_CASE("many cells must be meant") {
  const TemporaryFolder folder;
  std::string list = "[1";
  for (int i = 2; i <= 101; ++i) list += ", " + std::to_string(i);
  write_experiment(folder, "model = 'logistic'\n[sweep]\nseed = " + list + "]\nbatch = " + list + "]\n");
  check_refused({{"sweep", "@/tiny.toml", "--out", "@/out"}, 2, {"@/tiny.toml", "--yes", "10201", "10000"}}, folder);
}

TEST_CASE("what makes no sense for a sweep is refused, and nothing is made") {
  const TemporaryFolder folder;
  write_experiment(folder, kGrid);
  write(folder / "bad.toml", "rounds = 3\n[sweep]\nsead = [1]\n");
  write(folder / "fails.toml", "[sweep]\noptimizer = ['adadp', 'sgd']\ntolerance = [1.0]\n");
  write(folder / "absent.toml", "data = '" + (folder / "none") + "'\n");
  fs::create_directory(folder / "else");
  write(folder / "else/letter.txt", "dear");
  fs::create_directories(folder / "other/cells");
  write(folder / "other/sweep.json", "{\"experiment\": \"figure\", \"scale\": \"full\"}");
  const Refusal rows[] = {
      {{"sweep"}, 2, {"FILE", "fedstride sweep --help"}},
      {{"sweep", "@/tiny.toml", "more"}, 2, {"more", "fedstride sweep"}},
      {{"sweep", "@/none.toml"}, 1, {"@/none.toml"}},
      {{"sweep", "@/data"}, 1, {"@/data"}},
      {{"sweep", "@/bad.toml", "--out", "@/out"}, 2, {"@/bad.toml", "sead", "seed", "3"}},
      {{"sweep", "@/fails.toml", "--out", "@/out"}, 2, {"tolerance", "optimizer", "'sgd'"}},
      {{"sweep", "@/absent.toml", "--out", "@/out"}, 1, {"@/none"}},
      {{"sweep", "@/tiny.toml", "--learnin-rate", "1"}, 2, {"flag", "--learnin-rate", "--learning-rate"}},
      {{"sweep", "@/tiny.toml", "--job", "1"}, 2, {"flag", "--job", "--jobs"}},
      {{"sweep", "@/tiny.toml", "--jobs", "0"}, 2, {"jobs", "0", "1", "1024"}},
      {{"sweep", "@/tiny.toml", "--threads", "x"}, 2, {"threads", "x", "0", "1024"}},
      {{"sweep", "@/tiny.toml", "--scale", "ful"}, 2, {"scale", "ful", "full", "quick"}},
      {{"sweep", "@/tiny.toml", "--shard", "3"}, 2, {"shard", "3", "I/N"}},
      {{"sweep", "@/tiny.toml", "--shard", "0/2"}, 2, {"shard", "0/2", "I/N"}},
      {{"sweep", "@/tiny.toml", "--shard", "3/2"}, 2, {"shard", "3/2", "I/N"}},
      {{"sweep", "@/tiny.toml", "--shard", "1/-2"}, 2, {"shard", "1/-2"}},
      {{"sweep", "@/tiny.toml", "--shard", ""}, 2, {"shard", "''"}},
      {{"sweep", "@/tiny.toml", "--by", "time"}, 2, {"by", "time", "--report"}},
      {{"sweep", "@/tiny.toml", "--out", ""}, 2, {"out", "''"}},
      {{"sweep", "@/tiny.toml", "--out", "@/tiny.toml"}, 2, {"out", "@/tiny.toml"}},
      {{"sweep", "@/tiny.toml", "--out", "@/else"}, 2, {"out", "@/else", "letter.txt"}},
      {{"sweep", "@/tiny.toml", "--out", "@/other"}, 2, {"out", "@/other", "figure", "tiny"}},
      {{"sweep", "@/tiny.toml", "--out", "@/other", "--dry-run"}, 2, {"out", "@/other", "figure"}},
      {{"sweep", "@/tiny.toml", "--out", "@/out", "--batch", "-1"}, 2, {"batch", "-1"}},
      {{"sweep", "@/tiny.toml", "--out", "@/out", "--optimizer", "agd"}, 2, {"optimizer", "agd", "sgd"}},
      {{"sweep", "@/tiny.toml", "--out", "/dev/null/x"}, 1, {"/dev/null/x"}},
  };
  for (const Refusal& row : rows) check_refused(row, folder);
}

TEST_CASE("help names the sweep's own flags and points to those of a run") {
  const std::string help = run_program({"sweep", "--help"}).out;
  for (const char* part : {"--jobs", "--shard", "--scale", "--dry-run", "--yes", "'fedstride run'"})
    CHECK_MESSAGE(contains(help, part), part);
  CHECK(!contains(help, "--learning-rate"));
  CHECK(!contains(help, "--server-optimizer"));
}

TEST_CASE("on a terminal a sweep shows a bar with the time left and a line for each running cell") {
  const TemporaryFolder folder;
  // More rounds than anybody waits for: however fast the disk is, cells are running while their lines are drawn.
  write_experiment(folder, "model = 'dense 64 | relu | dense classes'\n[sweep]\nseed = [1, 2, 3, 4]\n", "1000000");
  OnTerminal run({FEDSTRIDE_PROGRAM, "sweep", folder / "tiny.toml", "--jobs", "2", "--out", folder / "out"}, 200);
  REQUIRE(run.made());
  for (const char* text : {"[", "/4 cells  ", " left\r\n", "  round ", "/1000000, test accuracy 0.", "\x1b[2A\r\x1b[J"})
    CHECK_MESSAGE(run.until([&] { return contains(run.bytes, text); }), text);
  run.signal(SIGTERM);
  CHECK(run.wait() == 130);
}

}  // namespace fedstride::test::sweep_test
