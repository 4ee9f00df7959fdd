#pragma once

#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"
#include "tests/support/process.hpp"
#include "tests/support/skip.hpp"

/// Skips the test case, which ctest reports, unless this build has MPI and its mpirun is installed.
#define FEDSTRIDE_NEEDS_MPIRUN()                                                             \
  do {                                                                                       \
    if (std::string(FEDSTRIDE_MPIRUN).empty() || !std::filesystem::exists(FEDSTRIDE_MPIRUN)) \
      FEDSTRIDE_SKIP("this build is without MPI (libopenmpi-dev, openmpi-bin)");             \
  } while (false)

namespace fedstride::test {

/// `mpirun -n ranks words...`, allowing more ranks than processors, and root. Leak detection is off because OpenMPI itself leaks;
/// all other tests check the same code.
inline Process::Command on_ranks(int ranks, const Words& words, const Words& more_environment = {}) {
  Words all{"/usr/bin/env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "ASAN_OPTIONS=detect_leaks=0"};
  all.insert(all.end(), more_environment.begin(), more_environment.end());
  all.insert(all.end(), {FEDSTRIDE_MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks)});
  all.insert(all.end(), words.begin(), words.end());
  return {all};
}

/// `mpirun -n ranks fedstride arguments...`
inline Process::Command program_on_ranks(int ranks, Words arguments) {
  arguments.insert(arguments.begin(), FEDSTRIDE_PROGRAM);
  return on_ranks(ranks, arguments);
}

inline Outcome outcome_of(const Process::Command& command) {
  const TemporaryFolder folder;
  const Process process(command, folder);
  const int code = process.wait();
  return {code, process.out(), process.err()};
}

/// Runs the test cases of this program whose names start with `name`, which are otherwise skipped, on every rank.
inline Outcome inside(int ranks, const std::string& name) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return outcome_of(on_ranks(ranks, {self, "--no-skip", "--test-case=" + name + "*"}));
}

/// "1 ab34...", one line for each finished round.
inline std::string hashes(const std::string& run) {
  std::string all;
  const std::string text = read_file(run + "/rounds.jsonl");
  for (const auto line : split(text, '\n')) {
    if (line.empty()) continue;
    const Json json = parse_json(std::string(line));
    all += std::to_string(json["round"].get<int>()) + " " + json["model_hash"].get<std::string>() + "\n";
  }
  return all;
}

/// The lines that start with "fedstride: ", without that.
inline Words complaints_in(const std::string& err) {
  Words found;
  for (const auto line : split(err, '\n'))
    if (line.starts_with("fedstride: ")) found.emplace_back(line.substr(11));
  return found;
}

}  // namespace fedstride::test
