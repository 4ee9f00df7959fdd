// Every file that a flag names is written where it leads, and never over a file that the program keeps.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

#include "cli/command_line.hpp"
#include "cli/manual/manual.hpp"
#include "core/descriptor.hpp"
#include "core/output.hpp"
#include "tests/cli/refusal.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::outputs_test {
namespace {

namespace fs = std::filesystem;

// A flag whose value is a file that is written.
struct OutputFlag {
  Words command;  ///< without the program's name, with a word for each argument it needs
  std::string name;
};

void collect(const CommandInfo& command, std::vector<OutputFlag>& flags) {
  Words words;
  for (const auto word : fedstride::split(command.full_name, ' ')) words.emplace_back(word);
  words.erase(words.begin());
  for (const FlagInfo& argument : command.arguments)
    if (argument.needed) words.emplace_back("x");
  for (const FlagInfo& flag : command.flags)
    if (flag.needed) words.insert(words.end(), {flag.names.back(), "x"});
  for (const FlagInfo& flag : command.flags)
    if (flag.value.place == Place::output) flags.push_back({words, flag.names.back()});
  for (const CommandInfo& subcommand : command.commands) collect(subcommand, flags);
}

std::vector<OutputFlag> output_flags() {
  std::vector<OutputFlag> flags;
  collect(describe_program(), flags);
  return flags;
}

// For each flag a command that writes it; the file's path follows.
std::map<std::string, Words> commands(const TemporaryFolder& folder) {
  const std::string own = folder / "data";
  return {{"--timeline", federation(folder, {"--devices", "exponential", "--timeline"})},
          {"--manifest", {"partition", "--data", own, "--clients", "3", "--manifest"}},
          {"--out", {"report", folder / "sweep", "--out"}},
          {"--record", {"report", folder / "sweep", "--out", "/dev/null", "--record"}},
          {"--settings", {"manual", "--settings"}},
          {"--png", {"data", "show", "--dataset", "synthetic", "--png"}}};
}

Outcome written(const TemporaryFolder& folder, Words words, const std::string& path) {
  words.push_back(path);
  fs::remove_all(folder / "out");
  return run_copy(words);
}

void write_sweep(const TemporaryFolder& folder) {
  write_table(folder.path() / "data", 300);
  write_file(folder / "sweep.toml", "data = '" + (folder / "data") +
                                        "'\nmodel = 'logistic'\nclients = 3\noptimizer = 'sgd'\nvalidation-fraction = 0.2\n"
                                        "rounds = 6\n[sweep]\nlearning-rate = [0.001, 0.1, 0.3]\n");
  const Outcome sweep = run_copy({"sweep", folder / "sweep.toml", "--out", folder / "sweep"});
  REQUIRE_MESSAGE(sweep.code == 0, sweep.err);
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode;
}

}  // namespace

TEST_CASE("every output is refused before the work if it cannot be written, or is a file that a run keeps") {
  const TemporaryFolder folder;
  write_table(folder.path() / "data");
  REQUIRE(run_copy(federation(folder, {})).code == 0);
  write_file(folder / "file", "");
  fs::create_directory(folder / "closed");
  fs::permissions(folder / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  fs::create_symlink(folder / "out/checkpoint", folder / "link");
  fs::create_symlink(folder / "round", folder / "round");
  std::vector<std::string> bad{folder / "none/x",
                               folder / "data",
                               folder / "file/x",
                               folder / "round",
                               folder / "out/checkpoint",
                               folder / "link",
                               folder / "out/states/data.mdb",
                               folder / "data/../out/config.toml",
                               "/dev/full/x",
                               ""};
  if (::geteuid() != 0) bad.push_back(folder / "closed/x");
  const auto before = contents(folder.path() / "out");
  const std::vector<OutputFlag> flags = output_flags();
  CHECK(flags.size() >= 8);
  for (const OutputFlag& flag : flags)
    for (const std::string& path : bad) {
      Words words = flag.command;
      words.insert(words.end(), {flag.name, path});
      if (flag.name == "--timeline") words.insert(words.end(), {"--dataset", "synthetic", "--devices", "exponential"});
      CAPTURE(words);
      // A copy of these tests cannot launch copies of the program.
      const Outcome outcome = words.front() == "launch" ? run_program(words) : run_copy(words);
      INFO("standard error: ", outcome.err);
      CHECK(outcome.code != 0);
      CHECK(line_count(outcome.err) == 1);
      CHECK(outcome.err.find(path.empty() ? flag.name.substr(2) : path) != std::string::npos);
      CHECK(contents(folder.path() / "out") == before);
    }
}

TEST_CASE("every output is written where its path leads: through links, with the file's mode, into devices and pipes") {
  const TemporaryFolder folder;
  write_sweep(folder);
  const auto all = commands(folder);
  for (const OutputFlag& flag : output_flags()) REQUIRE_MESSAGE(all.contains(flag.name), flag.name);
  for (const auto& [name, words] : all) {
    CAPTURE(name);
    const std::string file = folder / "file", link = folder / "link", dangling = folder / "dangling", pipe = folder / "pipe";
    const Outcome first = written(folder, words, file);
    REQUIRE_MESSAGE(first.code == 0, first.err);
    CHECK(mode_of(file) == (S_IFREG | 0644));
    const std::string expected = read_file(file);
    CHECK_FALSE(expected.empty());

    write_file(file, "before");
    REQUIRE(::chmod(file.c_str(), 0600) == 0);
    fs::create_symlink("file", link);
    fs::create_symlink("new", dangling);
    CHECK(written(folder, words, link).code == 0);
    CHECK(written(folder, words, dangling).code == 0);
    CHECK(mode_of(file) == (S_IFREG | 0600));
    CHECK(S_ISLNK(mode_of(link)));
    CHECK(S_ISLNK(mode_of(dangling)));
    CHECK(read_file(file).size() > 100);
    CHECK(read_file(folder / "new").size() > 100);

    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::string received;
    std::thread reader([&] {
      const Descriptor open = opened(pipe, O_RDONLY);
      char buffer[4096];
      for (ssize_t count = 0; (count = uninterrupted([&] { return ::read(open.get(), buffer, sizeof buffer); })) > 0;)
        received.append(buffer, static_cast<std::size_t>(count));
    });
    const Outcome piped = written(folder, words, pipe);
    if (piped.code != 0) opened(pipe, O_WRONLY | O_NONBLOCK);  // lets the reader go
    reader.join();
    CHECK_MESSAGE(piped.code == 0, piped.err);
    CHECK(received.size() > 100);
    CHECK(S_ISFIFO(mode_of(pipe)));

    CHECK(written(folder, words, "/dev/null").code == 0);
    CHECK(S_ISCHR(mode_of("/dev/null")));
    CHECK_FALSE(fs::exists("/dev/null-figures"));
    const Outcome full = written(folder, words, "/dev/full");
    CHECK(full.code == 5);
    CHECK_MESSAGE(names(full.err, {"/dev/full", "No space left"}), full.err);
    if (name == "--timeline") CHECK(fs::exists(folder / "out/model.safetensors"));  // nothing else is lost
    for (const std::string& path : {file, link, dangling, pipe, folder / "new"}) fs::remove(path);
  }
}

TEST_CASE("a file that becomes too large for the system's limit ends the program with a line that names it") {
  const TemporaryFolder folder, output;
  write_table(folder.path() / "data");
  std::string line = "ulimit -f 1; exec " FEDSTRIDE_PROGRAM;
  for (const std::string& word : federation(folder, {"--model", "dense 64 | dense classes"})) line += " '" + word + "'";
  const Process process(Process::Command{{"/bin/bash", "-c", line}}, output);
  CHECK(process.wait() == 1);
  CHECK_MESSAGE(names(process.err(), {folder / "out", "File too large"}), process.err());
}

TEST_CASE("a run that waits for the reader of its pipe ends when it is told to") {
  const TemporaryFolder folder, output;
  write_table(folder.path() / "data");
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const Process process(federation(folder, {"--devices", "exponential", "--timeline", pipe}), output);
  while (!fs::exists(folder / "out/summary.json")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  process.signal(SIGTERM);
  CHECK(process.wait() != 0);
  CHECK(fs::exists(folder / "out/model.safetensors"));
}

TEST_CASE("all that the program keeps in its folders is known, so that no output replaces it") {
  const TemporaryFolder folder;
  write_sweep(folder);
  const Words level{"--dp", "client", "--clip", "0.5", "--noise-multiplier", "5", "--randomness", "secret"};
  Words words = federation(folder, {"--local-objective", "scaffold", "--client-state", "keep"});
  CHECK(run_copy(words).code == 0);
  words = federation(folder, {"--out", folder / "private"});
  words.insert(words.end(), level.begin(), level.end());
  words.insert(words.end(), {"--classes", "3", "--header", "no", "--mean", "0.67", "--deviation", "1.2", "--public-test"});
  const Outcome secret = run_copy(words);
  CHECK_MESSAGE(secret.code == 0, secret.err);
  const Outcome timed = run_copy(federation(folder, {"--out", folder / "timed", "--devices", "exponential", "--mode", "fedbuff",
                                                     "--buffer", "2", "--concurrency", "3", "--timeline", folder / "trace"}));
  CHECK_MESSAGE(timed.code == 0, timed.err);
  Words launch = federation(folder, {"--out", folder / "launched"});
  launch.front() = "launch";
  const Outcome launched = run_program(launch);
  CHECK_MESSAGE(launched.code == 0, launched.err);
  CHECK(run_copy({"tune", folder / "sweep.toml", "--out", folder / "tuned"}).code == 0);
  CHECK(run_copy({"certificates", "--out", folder / "authority", "--clients", "2"}).code == 0);

  std::set<std::string> unknown;
  for (const char* of : {"out", "private", "timed", "launched", "tuned", "authority", "sweep"})
    for (const auto& entry : fs::recursive_directory_iterator(folder / of)) {
      if (!entry.is_regular_file() || entry.path().extension() == ".log") continue;
      try {
        check_output(entry.path());
        unknown.insert(fs::relative(entry.path(), folder.path()).string());
      } catch (const Error&) {
      }
    }
  for (const std::string& path : unknown) CHECK_MESSAGE(false, path);
}

}  // namespace fedstride::test::outputs_test
