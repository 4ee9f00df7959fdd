#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/argument_pointers.hpp"
#include "core/files.hpp"
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
    child_ = fork();
    if (child_ == 0) {
      if (largest_file != RLIM_INFINITY) {
        const rlimit limit{largest_file, largest_file};
        setrlimit(RLIMIT_FSIZE, &limit);
        std::signal(SIGXFSZ, SIG_IGN);
      }
      const int output = open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      const int error = open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      const int input = open("/dev/null", O_RDONLY);
      dup2(input, 0);
      dup2(output, 1);
      dup2(error, 2);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
  }

  /// A test that fails half-way leaves no program running; nor does one that is killed itself.
  ~Process() {
    if (waited_) return;
    signal(SIGKILL);
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const { kill(child_, number); }

  /// Exit code, or minus the signal that ended it.
  int wait() const {
    int status = 0;
    waitpid(child_, &status, 0);
    waited_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string out() const { return read_file(out_); }
  std::string err() const { return read_file(err_); }

  pid_t id() const { return child_; }

 private:
  static std::vector<std::string> with_program(const std::vector<std::string>& arguments) {
    std::vector<std::string> all{FEDSTRIDE_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }

  std::string out_;
  std::string err_;
  pid_t child_ = -1;
  mutable bool waited_ = false;
};

}  // namespace fedstride::test
