#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/process.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test {

/// The program under test, running on its own; its output goes to files in `folder`, or what it prints to `out`.
/// Files it writes are cut off at `largest_file` bytes, with an error as a full disk gives.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const TemporaryFolder& folder, const std::string& out = "",
          rlim_t largest_file = RLIM_INFINITY)
      : Process(Command{with_program(arguments)}, folder, out, largest_file) {}

  /// Likewise any other program, the first word, under which the program under test may run.
  struct Command {
    std::vector<std::string> words;
  };
  explicit Process(Command command, const TemporaryFolder& folder, const std::string& out = "",
                   rlim_t largest_file = RLIM_INFINITY)
      : out_(out.empty() ? folder / "stdout.txt" : out), err_(folder / "stderr.txt") {
    const std::vector<char*> pointers = argument_pointers(command.words);
    const auto act = [&] {
      if (largest_file != RLIM_INFINITY) {
        const rlimit limit{largest_file, largest_file};
        setrlimit(RLIMIT_FSIZE, &limit);
        std::signal(SIGXFSZ, SIG_IGN);
      }
      const int output = open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      const int error = open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      return become(pointers[0], pointers, {open("/dev/null", O_RDONLY), output, error});
    };
    // A test that fails half-way leaves no program running; nor does one that is killed itself.
    child_ = forked(act, SIGKILL);
  }

  void signal(int number) const { child_.signal(number); }

  /// Exit code, or minus the signal that ended it.
  int wait() const { return child_.wait(); }
  std::string out() const { return read_file(out_); }
  std::string err() const { return read_file(err_); }

  pid_t id() const { return child_.id(); }

 private:
  static std::vector<std::string> with_program(const std::vector<std::string>& arguments) {
    std::vector<std::string> all{FEDSTRIDE_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }

  std::string out_;
  std::string err_;
  mutable ChildProcess child_;
};

}  // namespace fedstride::test
