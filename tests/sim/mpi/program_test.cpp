// `fedstride run --fleet mpi` and `fedstride sweep --fleet mpi` as a user runs them: under mpirun, with mistakes, signals and
// crashes.
// Takes 10 s of processor time: under mpirun ranks never sleep for long, and some are killed.
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "core/text.hpp"
#include "tests/sim/mpi/mpirun.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_disk.hpp"

namespace fedstride::test::program_test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

Words on_mpi(const TemporaryFolder& folder, Words more) {
  more.insert(more.end(), {"--fleet", "mpi"});
  return federation(folder, more);
}

std::size_t rounds_done(const std::string& run) {
  std::error_code error;
  return fs::exists(run + "/rounds.jsonl", error) ? line_count(read_file(run + "/rounds.jsonl")) : 0;
}

/// The process of a rank, a child of mpirun; 0 if there is none.
pid_t process_of(const Process& job, int rank) {
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::ifstream stat(at->path() / "stat");
    std::string id, command, state;
    pid_t parent = 0;
    if (!(stat >> id >> command >> state >> parent) || parent != job.id()) continue;
    std::ifstream environment(at->path() / "environ", std::ios::binary);
    for (std::string variable; std::getline(environment, variable, '\0');)
      if (variable == "OMPI_COMM_WORLD_RANK=" + std::to_string(rank)) return static_cast<pid_t>(std::stoi(name));
  }
  return 0;
}

/// Waits until the condition is true; returns false after a minute.
bool comes_true(const std::function<bool()>& condition) {
  for (const auto start = Clock::now(); Clock::now() - start < std::chrono::minutes(1);) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

double seconds_from(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Adds ranks with another command to the job.
void add_ranks(Process::Command& job, int ranks, const Words& arguments) {
  job.words.insert(job.words.end(), {":", "-n", std::to_string(ranks), FEDSTRIDE_PROGRAM});
  job.words.insert(job.words.end(), arguments.begin(), arguments.end());
}

/// Ends with this code and one line that names these.
void check_refused(const Process::Command& job, int code, std::initializer_list<std::string_view> parts) {
  const Outcome outcome = outcome_of(job);
  CHECK(outcome.code == code);
  const Words lines = complaints_in(outcome.err);
  CHECK_MESSAGE(lines.size() == 1, outcome.err);
  for (const std::string& line : lines) CHECK_MESSAGE(names(line, parts), line);
}

}  // namespace

TEST_CASE("without mpirun, or without MPI, the fleet is refused in one line") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  for (const Words& command : {on_mpi(folder, {}), Words{"sweep", "none.toml", "--fleet", "mpi"}}) {
    const Outcome outcome = run_program(command);
    CHECK(outcome.code == 2);
    CHECK(line_count(outcome.err) == 1);
    CHECK(names(outcome.err, {"fedstride: ", "fleet", "'mpi'"}));
  }
  CHECK_FALSE(fs::exists(folder / "out"));
}

TEST_CASE("a mistake gives one line, however many ranks there are, and leaves no folder") {
  FEDSTRIDE_NEEDS_MPIRUN();
  const TemporaryFolder folder;
  write_table(folder / "data");
  check_refused(program_on_ranks(4, on_mpi(folder, {})), 2, {"4 ranks", "3 clients"});
  check_refused(program_on_ranks(3, on_mpi(folder, {"--lerning-rate", "1"})), 2, {"'--lerning-rate'", "'--learning-rate'"});
  check_refused(program_on_ranks(3, on_mpi(folder, {"--batch", "0"})), 2, {"batch", "0"});
  check_refused(program_on_ranks(3, on_mpi(folder, {"--secure-aggregation", "real"})), 2,
                {"secure-aggregation", "'real'", "trust each other"});

  Process::Command other = program_on_ranks(1, on_mpi(folder, {"--batch", "5"}));
  add_ranks(other, 1, on_mpi(folder, {"--batch", "6"}));
  check_refused(other, 2, {"rank 1", "'batch = 5'", "'batch = 6'"});

  write_table(folder / "data2", 200);
  Process::Command data = program_on_ranks(2, on_mpi(folder, {}));
  add_ranks(data, 1, on_mpi(folder, {"--data", folder / "data2"}));
  check_refused(data, 1, {"rank 2", "data"});

  Process::Command none = program_on_ranks(1, on_mpi(folder, {}));
  add_ranks(none, 1, on_mpi(folder, {"--data", folder / "nowhere"}));
  check_refused(none, 1, {"rank 1", folder / "nowhere"});
  CHECK_FALSE(fs::exists(folder / "out"));

  check_refused(program_on_ranks(3, {"sweep", "none.toml", "--fleet", "mpi", "--ranks-per-cell", "2"}), 2,
                {"ranks-per-cell", "2", "3 ranks"});
  check_refused(program_on_ranks(2, {"sweep", "none.toml", "--fleet", "mpi"}), 1, {"none.toml"});
}

const int kDeaths = every_check() ? 20 : 4;

TEST_CASE("killed ranks, each time with another number of ranks, leave the models unchanged") {
  FEDSTRIDE_NEEDS_MPIRUN();
  const TemporaryFolder folder;
  write_table(folder / "data");
  const int kRounds = 12 * (kDeaths + 1);
  const Words settings{"--optimizer", "adam", "--client-state",     "keep", "--rounds", std::to_string(kRounds),
                       "--clients",   "5",    "--checkpoint-every", "3",    "--quiet"};
  const auto with = [&](Words more) {
    more.insert(more.end(), settings.begin(), settings.end());
    return more;
  };
  REQUIRE(run_program(federation(folder, with({"--out", folder / "alone"}))).code == 0);
  RandomStream random(15, {.purpose = Purpose::test});
  int named = 0;
  const auto command = [&] {
    return fs::exists(folder / "out/checkpoint") ? Words{"run", "--fleet", "mpi", "--resume", folder / "out"}
                                                 : on_mpi(folder, with({}));
  };
  for (int death = 0; death < kDeaths; ++death) {
    const int ranks = 2 + static_cast<int>(random.below(4));
    const int victim = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
    const auto when = static_cast<std::size_t>(12 * death + static_cast<int>(random.below(12)));
    const TemporaryFolder output;
    const Process job(program_on_ranks(ranks, command()), output);
    pid_t process = 0;
    REQUIRE(comes_true([&] { return (process = process_of(job, victim)) != 0 && rounds_done(folder / "out") >= when; }));
    kill(process, SIGKILL);
    CHECK(job.wait() != 0);
    // mpirun's own line.
    const bool is_named = job.err().find("rank " + std::to_string(victim) + " with PID") != std::string::npos;
    CHECK_MESSAGE(is_named, "death " << death << " of rank " << victim << ": " << job.err());
    named += is_named ? 1 : 0;
  }
  CHECK(named == kDeaths);
  REQUIRE(outcome_of(program_on_ranks(4, command())).code == 0);
  CHECK(hashes(folder / "out") == hashes(folder / "alone"));
}

TEST_CASE("SIGTERM to mpirun or to any rank stops the run, which can be resumed") {
  FEDSTRIDE_NEEDS_MPIRUN();
  const TemporaryFolder folder;
  write_table(folder / "data");
  const Words settings{"--rounds", "100000", "--quiet"};
  for (const int target : {-1, 0, 2}) {
    CAPTURE(target);
    const std::string out = folder / ("out" + std::to_string(target));
    Words more = settings;
    more.insert(more.end(), {"--out", out});
    const TemporaryFolder output;
    const Process job(program_on_ranks(3, on_mpi(folder, more)), output);
    pid_t process = 0;
    REQUIRE(comes_true([&] { return (process = process_of(job, std::max(target, 0))) != 0 && rounds_done(out) >= 3; }));
    const auto start = Clock::now();
    kill(target < 0 ? job.id() : process, SIGTERM);
    CHECK(job.wait() != 0);
    const double seconds = seconds_from(start);
    CHECK(seconds < 10);
    MESSAGE("ended after " << seconds << " s");
    if (target >= 0) CHECK(job.err().find("fedstride run --fleet mpi --resume " + out) != std::string::npos);
    const std::size_t done = rounds_done(out);
    const std::string rounds = std::to_string(done + 2);
    CHECK(outcome_of(program_on_ranks(2, {"run", "--fleet", "mpi", "--resume", out, "--rounds", rounds})).code == 0);
    REQUIRE(run_program(federation(folder, {"--rounds", rounds, "--out", folder / ("alone" + std::to_string(target))})).code ==
            0);
    CHECK(hashes(out) == hashes(folder / ("alone" + std::to_string(target))));
  }
}

TEST_CASE("rank 0 names the rank it waits for, and a stop does not wait for it") {
  FEDSTRIDE_NEEDS_MPIRUN();
  const TemporaryFolder folder;
  write_table(folder / "data");
  const TemporaryFolder output;
  const Process job(program_on_ranks(3, on_mpi(folder, {"--rounds", "1000000", "--quiet", "--rank-patience", "0.5"})), output);
  pid_t silent = 0;
  REQUIRE(comes_true([&] { return (silent = process_of(job, 1)) != 0 && rounds_done(folder / "out") >= 3; }));
  const auto waits = [&] {
    std::size_t lines = 0;
    for (const std::string& line : complaints_in(job.err())) lines += line.starts_with("waiting") && names(line, {"rank 1"});
    return lines;
  };
  // On a busy machine there may have been such lines before.
  std::size_t before = waits();
  kill(silent, SIGSTOP);
  CHECK(comes_true([&] { return waits() > before; }));
  const std::size_t done = rounds_done(folder / "out");
  kill(silent, SIGCONT);
  CHECK(comes_true([&] { return rounds_done(folder / "out") > done; }));

  before = waits();
  kill(silent, SIGSTOP);
  CHECK(comes_true([&] { return waits() > before; }));
  const auto start = Clock::now();
  kill(process_of(job, 0), SIGTERM);
  CHECK(job.wait() != 0);
  const double seconds = seconds_from(start);
  CHECK(seconds < 10);
  bool said = false;
  for (const std::string& line : complaints_in(job.err())) said |= line.starts_with("stopped") && names(line, {"rank 1"});
  CHECK_MESSAGE(said, job.err());
}

TEST_CASE("a full disk on rank 0 gives one line, and the run resumes when there is space") {
  FEDSTRIDE_NEEDS_MPIRUN();
  const TemporaryFolder folder;
  write_table(folder / "data");
  const SmallDisk disk(folder / "disk");
  if (!disk.mounted()) FEDSTRIDE_SKIP("a small disk cannot be mounted here (root can)");
  const Words wide{"--model", "dense 2000 | relu | dense classes", "--optimizer", "sgd", "--quiet"};
  const auto with = [&](Words more) {
    more.insert(more.end(), wide.begin(), wide.end());
    return more;
  };
  const std::string out = folder / "disk/out";
  REQUIRE(run_program(federation(folder, with({"--out", folder / "alone", "--rounds", "4"}))).code == 0);
  REQUIRE(outcome_of(program_on_ranks(3, on_mpi(folder, with({"--out", out, "--rounds", "2"})))).code == 0);
  std::ofstream filling(folder / "disk/filling");
  filling << std::string(512 * 1024, 'x') << std::flush;
  check_refused(program_on_ranks(3, {"run", "--fleet", "mpi", "--resume", out, "--rounds", "4"}), 5, {"No space left on device"});
  filling.close();
  fs::remove(folder / "disk/filling");
  REQUIRE(outcome_of(program_on_ranks(2, {"run", "--fleet", "mpi", "--resume", out, "--rounds", "4"})).code == 0);
  CHECK(hashes(out) == hashes(folder / "alone"));
}

namespace {

/// The hashes of all cells of a sweep, by key.
std::map<std::string, std::string> cell_hashes(const std::string& sweep) {
  std::map<std::string, std::string> all;
  for (const auto& cell : fs::directory_iterator(sweep + "/cells"))
    all.emplace(cell.path().filename().string(), hashes(cell.path().string()));
  return all;
}

}  // namespace

TEST_CASE("a sweep over ranks, one or two per cell, killed and restarted, has the cells of a sweep in one process") {
  FEDSTRIDE_NEEDS_MPIRUN();
  const TemporaryFolder folder;
  write_table(folder / "data");
  std::ofstream(folder / "tiny.toml")
      << "data = '" << folder / "data"
      << "'\nmodel = 'logistic'\nclients = 3\nrounds = 6\n[experiment]\ntitle = 'Tiny'\n"
         "[sweep]\noptimizer = ['sgd', 'adam', 'adadp']\nseed = [1, 2, 3]\n"
         "[[expect]]\nclaim = 'it learns'\nvalue = { metric = 'test_accuracy', where = { optimizer = 'sgd' } }\nabove = 0.2\n";
  const auto sweeping = [&](const std::string& out, Words more) {
    Words words{"sweep", folder / "tiny.toml", "--out", folder / out};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Outcome alone = run_program(sweeping("alone", {}));
  REQUIRE_MESSAGE(alone.code == 0, alone.err);
  const auto expected = cell_hashes(folder / "alone");
  REQUIRE(expected.size() == 9);

  const Outcome one = outcome_of(program_on_ranks(3, sweeping("one", {"--fleet", "mpi"})));
  CHECK_MESSAGE(one.code == 0, one.out << one.err);
  CHECK(one.out.find("9 of 9 cells") != std::string::npos);
  CHECK(cell_hashes(folder / "one") == expected);
  CHECK(fs::exists(folder / "one/summary.csv"));

  {
    const TemporaryFolder output;
    const Process job(program_on_ranks(4, sweeping("two", {"--fleet", "mpi", "--ranks-per-cell", "2"})), output);
    pid_t process = 0;
    const auto begun = [&] {
      std::error_code error;
      return fs::exists(folder / "two/cells", error) && !fs::is_empty(folder / "two/cells", error);
    };
    REQUIRE(comes_true([&] { return (process = process_of(job, 3)) != 0 && begun(); }));
    kill(process, SIGKILL);
    CHECK(job.wait() != 0);
  }
  const Outcome two = outcome_of(program_on_ranks(4, sweeping("two", {"--fleet", "mpi", "--ranks-per-cell", "2"})));
  CHECK_MESSAGE(two.code == 0, two.out << two.err);
  CHECK(cell_hashes(folder / "two") == expected);
}

TEST_CASE("a round in which the clients of all ranks fail ends the job with one line, and the run can be resumed") {
  FEDSTRIDE_NEEDS_MPIRUN();
  const TemporaryFolder folder;
  write_table(folder / "data");
  const Words diverging =
      on_mpi(folder, {"--optimizer", "heavy-ball", "--momentum", "0.99", "--learning-rate", "1000000", "--batch", "1",
                      "--local-epochs", "20", "--model", "dense 8 | dense 8 | dense classes", "--client-state", "keep"});
  const Outcome ended = outcome_of(program_on_ranks(2, diverging));
  CHECK(ended.code == 1);
  const Words lines = complaints_in(ended.err);
  REQUIRE(lines.size() == 1);
  CHECK_MESSAGE(names(lines.front(), {"3 of 3", "round 1", "client 0", "diverged", folder / "out"}), ended.err);
  CHECK(rounds_done(folder / "out") == 0);
  const Words resumed{"run", "--resume", folder / "out", "--accept-failures", "all", "--fleet", "mpi", "--quiet"};
  CHECK(outcome_of(program_on_ranks(3, resumed)).code == 0);
  CHECK(rounds_done(folder / "out") == 2);
}

}  // namespace fedstride::test::program_test
