#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"
#include "tests/cli/network/federation.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::readme_test {
namespace {

const std::string kRoot = FEDSTRIDE_SOURCE_DIR;

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

// The README's commands as a person types them, but few rows and no download.
std::string small(std::string command) {
  const std::string program = "build/release/fedstride";
  if (const auto at = command.find(program); at != std::string::npos) command.replace(at, program.size(), FEDSTRIDE_PROGRAM);
  if (command.find(" data get ") != std::string::npos) return "true";
  if ((command.find(" run ") != std::string::npos || command.find(" sweep ") != std::string::npos ||
       command.find(" launch ") != std::string::npos) &&
      command.find("--resume") == std::string::npos)
    command += " --limit-per-client 20";
  if (command.find(" sweep ") != std::string::npos) command += " --rounds 2";
  return command;
}

int run_in(const test::TemporaryFolder& folder, const std::string& command) {
  return std::system(("cd '" + folder.path().string() + "' && " + command + " > output.txt 2>&1").c_str());
}

}  // namespace

TEST_CASE("the README's experiment file is the one in examples/") {
  const auto files = blocks(read_file(kRoot + "/README.md"), "toml");
  REQUIRE(files.size() == 1);
  CHECK(files[0] == read_file(kRoot + "/examples/fashion.toml"));
}

TEST_CASE("every command of the README that runs the program runs") {
  const char* data = std::getenv("FEDSTRIDE_DATA");
  if (data == nullptr || !std::filesystem::exists(std::filesystem::path(data) / "cifar10/data_batch_1.bin"))
    FEDSTRIDE_SKIP("CIFAR-10 is not in $FEDSTRIDE_DATA");
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) FEDSTRIDE_SKIP("dataset-fashion-mnist is not installed");
  const test::TemporaryFolder folder;
  for (const char* name : {"examples", "experiments"})
    std::filesystem::create_directory_symlink(kRoot + "/" + name, folder.path() / name);
  int commands = 0;
  // Scripts: several programs at once, at ports that nobody has.
  for (std::string script : blocks(read_file(kRoot + "/README.md"), "sh")) {
    ++commands;
    for (const std::string from : {":7000", ":7001"}) {
      const std::string to = ":" + std::to_string(test::quiet_port());
      for (auto at = script.find(from); at != script.npos; at = script.find(from)) script.replace(at, from.size(), to);
    }
    std::string commands_of_it;
    const std::string whole = joined_lines(script);
    for (const auto line : split(whole, '\n')) {
      std::string command(line);
      const bool background = command.ends_with(" &");
      if (background) command.resize(command.size() - 2);
      const auto at = command.find(" serve ");
      command = small(command) + (at == command.npos ? "" : " --limit-per-client 20");
      commands_of_it += command + (background ? " &\n" : "\n");
    }
    write_file(folder / "script.sh", commands_of_it);
    const int status = run_in(folder, "sh script.sh");
    CHECK_MESSAGE(status == 0, read_file(folder / "output.txt"));
    CHECK(read_file(folder / "runs/served/rounds.jsonl").find("\"round\":3") != std::string::npos);
  }
  for (const auto& block : blocks(read_file(kRoot + "/README.md"), "")) {
    const std::string whole = joined_lines(block);
    for (const auto line : split(whole, '\n')) {
      const bool on_ranks = line.starts_with("mpirun ");
      if (on_ranks && std::string(FEDSTRIDE_MPIRUN).empty()) continue;  // a build without MPI
      const bool is_example = line.starts_with("examples/");
      if (!on_ranks && !is_example && !line.starts_with("build/release/fedstride")) continue;
      ++commands;
      CAPTURE(line);
      std::string command = small(std::string(line));
      if (is_example) command = "/usr/bin/python3 " + command;  // Debian's, which has Debian's packages
      if (on_ranks)
        command = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " FEDSTRIDE_MPIRUN " --oversubscribe" +
                  command.substr(command.find(' '));
      const int status = run_in(folder, command);
      CHECK_MESSAGE(status == 0, read_file(folder / "output.txt"));
    }
  }
  CHECK(commands >= 6);
}

}  // namespace fedstride::test::readme_test
