// Takes 90 s of processor time: the blocks of the README are run as they stand, CIFAR-10 among them.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::readme_test {
namespace {

const std::string kRoot = FEDSTRIDE_SOURCE_DIR;
const std::string kPython = "/usr/bin/python3 ";  // Debian's, which has Debian's NumPy

// The blocks between ``` lines whose opening line is "```" + language.
std::vector<std::string> blocks(const std::string& text, const std::string& language) {
  std::vector<std::string> result;
  bool inside = false;
  bool wanted = false;
  for (const auto line : split(text, '\n')) {
    if (line.starts_with("```")) {
      inside = !inside;
      wanted = inside && line.substr(3) == language;
      if (wanted) result.emplace_back();
    } else if (wanted) {
      result.back() += std::string(line) + '\n';
    }
  }
  return result;
}

// Lines that end in a backslash go on with the next one.
std::string joined_lines(std::string block) {
  for (std::size_t at = block.find("\\\n"); at != std::string::npos; at = block.find("\\\n", at)) block.replace(at, 2, " ");
  return block;
}

// A command as a person types it, but with few rows and rounds and without a download.
std::string small(std::string command) {
  const auto has = [&](const char* word) { return command.find(word) != std::string::npos; };
  if (has(" data get ")) return "echo not downloaded";
  if (command == "./quickstart")
    command = "build/release/fedstride run --optimizer pooled --rounds 2 --model logistic --out runs/quickstart";
  if ((has(" run ") || has(" sweep ") || has(" launch ")) && !has("--resume") && !has("--help"))
    command += " --limit-per-client 20";
  if (has(" sweep ")) command += " --threads 2";
  return command;
}

// A command must have printed this, and ended well.
std::string expected_of(const std::string& command) {
  for (const auto& [word, expected] : {std::pair{" run ", "finished after round"},
                                       {" launch ", "finished after round"},
                                       {" evaluate ", "accuracy"},
                                       {" partition ", "partition hash"},
                                       {" privacy audit ", "epsilon"},
                                       {" sweep ", "cells finished"},
                                       {" report ", "report.html"}})
    if (command.find(word) != std::string::npos) return expected;
  return "";
}

// A folder as of somebody who has cloned and built the project.
struct Clone {
  test::TemporaryFolder folder;

  Clone() {
    std::filesystem::create_directory(folder.path() / "build");
    std::filesystem::create_directory_symlink(FEDSTRIDE_BUILD_DIR, folder.path() / "build/release");
    for (const char* name : {"examples", "experiments"})
      std::filesystem::create_directory_symlink(kRoot + "/" + name, folder.path() / name);
  }
  void carry_out(const std::string& script, const std::string& expected) const {
    CAPTURE(script);
    write_file(folder / "script.sh", "set -e\n" + script + "\n");
    const int status = std::system(("cd '" + folder.path().string() + "' && sh script.sh > output.txt 2>&1").c_str());
    const std::string output = read_file(folder / "output.txt");
    CHECK_MESSAGE(status == 0, output);
    CHECK_MESSAGE(output.find(expected) != output.npos, output);
  }
  // The commands of a block, one by one; a here-document is one with its command.
  int carry_out_block(const std::string& block) const {
    int commands = 0;
    std::string command, end;
    const std::string lines = joined_lines(block);
    for (const auto line : split(lines, '\n')) {
      command += (command.empty() ? "" : "\n") + std::string(line);
      if (const auto at = line.find("<<'"); at != line.npos) end = line.substr(at + 3, line.rfind('\'') - at - 3);
      if (!end.empty() && line != end) continue;
      end.clear();
      const auto comment = command.find("  #");
      if (comment != command.npos && command.find('\n') == command.npos)
        command.resize(command.find_last_not_of(' ', comment) + 1);
      const bool is_build = command == "./run-tests" || (command == "./quickstart" && block.find("./run-tests") != block.npos);
      if (!command.empty() && !is_build) {
        ++commands;
        carry_out(small(command), expected_of(command));
      }
      command.clear();
    }
    return commands;
  }
};

}  // namespace

TEST_CASE("every command of the README runs and prints what it is for") {
  const char* data = std::getenv("FEDSTRIDE_DATA");
  if (data == nullptr || !std::filesystem::exists(std::filesystem::path(data) / "cifar10/data_batch_1.bin"))
    FEDSTRIDE_SKIP("CIFAR-10 is not in $FEDSTRIDE_DATA");
  const Clone clone;
  const auto all = blocks(read_file(kRoot + "/README.md"), "");
  CHECK(all.size() == 5);
  int commands = 0;
  for (const std::string& block : all) commands += clone.carry_out_block(block);
  CHECK(commands == 9);
}

TEST_CASE("the tutorial, from its first block to its last, ends in a claim that holds") {
  const Clone clone;
  const auto all = blocks(read_file(kRoot + "/docs/tutorial.md"), "sh");
  CHECK(all.size() == 6);
  int commands = 0;
  for (const std::string& block : all) commands += clone.carry_out_block(block);
  CHECK(commands >= 15);
  CHECK(read_file(clone.folder / "sweeps/mine/expectations.csv").find("holds") != std::string::npos);
}

TEST_CASE("every command of the pages on subjects runs") {
  const Clone clone;
  const std::string make = kPython + "'" + kRoot + "/examples/data/";
  clone.carry_out(make + "pictures_npz.py' pictures.npz && cp pictures.npz writers.npz", "");
  clone.carry_out(make + "writers_hdf5.py' letters", "");
  const std::string ward = "printf 'age,pulse,ill\\n50,80,1\\n60,70,0\\n40,75,0\\n55,90,1\\n' > wards/";
  clone.carry_out("mkdir wards && " + ward + "north.csv && " + ward + "south.csv", "");
  int commands = 0;
  for (const std::string page : {"adaptive", "algorithms", "data", "models", "network", "partitions", "privacy", "time"}) {
    CAPTURE(page);
    for (const std::string& block : blocks(read_file(kRoot + "/docs/" + page + ".md"), "")) {
      const std::string lines = joined_lines(block);
      for (const auto line : split(lines, '\n')) {
        std::string command(line);
        if (command.starts_with("fedstride ")) command = "build/release/" + command;
        if (!command.starts_with("build/release/fedstride ")) continue;
        ++commands;
        clone.carry_out(small(command), expected_of(command));
      }
    }
  }
  CHECK(commands >= 16);
}

TEST_CASE("the page on clusters shows a command that runs on two cores") {
  if (std::string(FEDSTRIDE_MPIRUN).empty() || std::thread::hardware_concurrency() < 2)
    FEDSTRIDE_SKIP("this needs a build with MPI, and two cores");
  const Clone clone;
  const std::string block = blocks(read_file(kRoot + "/docs/cluster.md"), "").front();
  std::string command = block.substr(0, block.find('\n'));
  REQUIRE(command.starts_with("mpirun "));
  for (const auto& [what, by] : {std::pair{"--dataset cifar10", "--dataset synthetic"},
                                 {"--rounds 10", "--rounds 1"},
                                 {" fedstride ", " build/release/fedstride "}}) {
    REQUIRE(command.find(what) != command.npos);
    command.replace(command.find(what), std::string(what).size(), by);
  }
  clone.carry_out("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " + command + " --limit-per-client 20",
                  "finished after round");
}

}  // namespace fedstride::test::readme_test
