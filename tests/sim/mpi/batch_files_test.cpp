// The Slurm batch files of examples/cluster, with substitutes for srun and scontrol: stopped like Slurm does, requeued and
// resumed.
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "core/text.hpp"
#include "tests/sim/mpi/mpirun.hpp"

namespace fedstride::test::batch_files_test {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 400;

/// A folder of programs with Slurm's names. Like the real one, srun passes SIGTERM to all tasks and exits with the code of one
/// that failed.
class Slurm {
 public:
  Slurm() {
    script("srun",
           "while [[ $1 == --* ]]; do shift; done\n"
           "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0\n" FEDSTRIDE_MPIRUN
           " --oversubscribe --bind-to none -n 2 \"$@\" &\n"
           "job=$! stopped=false\n"
           "pass_on() {\n"
           "  stopped=true\n"
           "  for stat in /proc/[0-9]*/stat; do\n"
           "    read -r id _ _ parent _ <$stat && [ \"$parent\" = $job ] && kill -TERM $id\n"
           "  done 2>/dev/null\n"
           "}\n"
           "trap pass_on TERM\n"
           "echo $$ >" +
               (folder_ / "step") +
               "\n"
               "wait $job; code=$?\n"
               "if $stopped; then wait $job; code=$?; fi\n"
               "exit $code\n");
    script("scontrol", "echo \"$@\" >>" + (folder_ / "scontrol.log") + "\n");
  }

  Process::Command job(const std::string& file, const Words& arguments, const Words& environment) const {
    Words words{"/usr/bin/env", std::string("PATH=") + folder_.path().string() + ":" + std::getenv("PATH"),
                std::string("FEDSTRIDE=") + FEDSTRIDE_PROGRAM, "SLURM_CPUS_PER_TASK=1"};
    words.insert(words.end(), environment.begin(), environment.end());
    words.insert(words.end(), {"/bin/bash", std::string(FEDSTRIDE_SOURCE_DIR) + "/examples/cluster/" + file});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return {words};
  }
  pid_t step() const { return static_cast<pid_t>(std::stoi(read_file(folder_ / "step"))); }
  std::string asked() const { return fs::exists(folder_ / "scontrol.log") ? read_file(folder_ / "scontrol.log") : ""; }

 private:
  void script(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << "#!/bin/bash\n" << text;
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }
  TemporaryFolder folder_;
};

/// Waits until some run below the folder has this many rounds; false after a minute.
bool reaches(const fs::path& folder, std::size_t rounds) {
  for (int tick = 0; tick < 6000; ++tick, std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      if (at->path().filename() == "rounds.jsonl" && line_count(read_file(at->path())) >= rounds) return true;
  }
  return false;
}

std::string settings(const TemporaryFolder& folder) {
  return "data = '" + (folder / "data") + "'\nmodel = 'logistic'\nclients = 3\nrounds = " + std::to_string(kRounds) + "\n";
}

}  // namespace

TEST_CASE("run.sbatch: a run stopped by Slurm is requeued, resumes, and ends bit-identical to one process") {
  FEDSTRIDE_NEEDS_MPIRUN();
  const TemporaryFolder folder;
  write_table(folder / "data");
  std::ofstream(folder / "run.toml") << settings(folder);
  const Slurm slurm;
  const Process::Command job = slurm.job("run.sbatch", {folder / "run.toml", folder / "out"}, {"SLURM_JOB_ID=41"});
  {
    const TemporaryFolder output;
    const Process first(job, output);
    REQUIRE(reaches(folder / "out", 3));
    kill(slurm.step(), SIGTERM);  // --signal=TERM@120: to the step, not to the batch shell
    CHECK_MESSAGE(first.wait() == 130, first.err());
  }
  CHECK(slurm.asked() == "requeue 41\n");
  CHECK(line_count(read_file(folder / "out/rounds.jsonl")) < kRounds);
  const Outcome second = outcome_of(job);
  CHECK_MESSAGE(second.code == 0, second.err);
  CHECK(slurm.asked() == "requeue 41\n");

  REQUIRE(run_program({"run", "--config", folder / "run.toml", "--threads", "1", "--out", folder / "alone", "--quiet"}).code ==
          0);
  CHECK(hashes(folder / "out") == hashes(folder / "alone"));
}

TEST_CASE("sweep.sbatch: the tasks of an array, one of them stopped and requeued, complete the sweep") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  std::ofstream(folder / "sweep.toml") << settings(folder)
                                       << "[experiment]\ntitle = 'Tiny'\n[sweep]\noptimizer = ['sgd', 'adam']\nseed = [1, 2]\n";
  const Slurm slurm;
  const auto task = [&](int number) {
    return slurm.job("sweep.sbatch", {folder / "sweep.toml", folder / "out"},
                     {"SLURM_ARRAY_JOB_ID=52", "SLURM_ARRAY_TASK_ID=" + std::to_string(number), "SLURM_ARRAY_TASK_COUNT=2"});
  };
  {
    const TemporaryFolder output;
    const Process first(task(1), output);
    REQUIRE(reaches(folder / "out", 3));
    first.signal(SIGTERM);  // --signal=B:TERM@120: to the batch shell
    CHECK_MESSAGE(first.wait() == 130, first.err());
  }
  CHECK(slurm.asked() == "requeue 52_1\n");
  for (const int number : {2, 1}) {
    const Outcome outcome = outcome_of(task(number));
    CHECK_MESSAGE(outcome.code == 0, outcome.err);
  }
  CHECK(slurm.asked() == "requeue 52_1\n");
  const Outcome whole = run_program({"sweep", folder / "sweep.toml", "--out", folder / "out"});
  CHECK_MESSAGE(whole.code == 0, whole.err);
  CHECK(whole.out.find("4 of 4 cells") != std::string::npos);
  REQUIRE(run_program({"sweep", folder / "sweep.toml", "--out", folder / "alone"}).code == 0);
  for (const auto& cell : fs::directory_iterator(folder / "alone/cells"))
    CHECK(hashes((folder / "out/cells/") + cell.path().filename().string()) == hashes(cell.path().string()));
}

}  // namespace fedstride::test::batch_files_test
