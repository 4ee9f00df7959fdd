#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test {

/// The program under test, running on its own; its output goes to files in `folder`.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const TemporaryFolder& folder)
      : out_(folder / "stdout.txt"), err_(folder / "stderr.txt") {
    std::vector<std::string> all{FEDSTRIDE_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (auto& argument : all) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    child_ = fork();
    if (child_ == 0) {
      const int out = open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      const int err = open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      const int in = open("/dev/null", O_RDONLY);
      dup2(in, 0);
      dup2(out, 1);
      dup2(err, 2);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
  }

  void signal(int number) const { kill(child_, number); }

  /// Exit code, or minus the signal that ended it.
  int wait() const {
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string out() const { return read_file(out_); }
  std::string err() const { return read_file(err_); }

 private:
  std::string out_;
  std::string err_;
  pid_t child_ = -1;
};

}  // namespace fedstride::test
