#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/descriptor.hpp"
#include "core/function_ref.hpp"

namespace fedstride {

/// A child process, killed on destruction if it is still running.
class ChildProcess {
 public:
  explicit ChildProcess(pid_t id = -1) : id_(id) {}
  ChildProcess(ChildProcess&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  ChildProcess& operator=(ChildProcess other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~ChildProcess();

  /// True until the child has been waited for.
  explicit operator bool() const { return id_ > 0; }
  pid_t id() const { return id_; }
  void signal(int number) const;
  /// Waits for the child to exit; returns its exit code, or minus the number of the signal that ended it.
  int wait();
  /// The result of wait(), or nothing if the child is still running.
  std::optional<int> ended();

 private:
  std::optional<int> reap(int options);

  pid_t id_;
};

/// Descriptors for a program's standard input, output and error output.
struct Streams {
  int in;
  int out;
  int err;
};

/// The words as a null-terminated argv, valid as long as the words exist. The exec functions take non-const pointers but do not
/// modify the words.
std::vector<char*> argument_pointers(std::span<const std::string> words);

/// Starts a program, looked up on PATH as in a shell. On failure, returns no process and sets errno.
ChildProcess started(std::span<const std::string> words, const Streams& streams);

/// Forks a copy of this process that runs `act` and exits with the code that `act` returns. The child receives the signal
/// `at_parents_end` (0: none) when the thread that forked it ends. On failure, returns no process and sets errno.
ChildProcess forked(function_ref<int()> act, int at_parents_end = 0);

/// For use in the `act` of forked(): replaces the process with a program. Returns 127 on failure.
int become(const char* program, const std::vector<char*>& arguments, const Streams& streams);

/// A pipe. Throws Error (failure) if it cannot be created.
struct Pipe {
  Pipe();
  Descriptor out;  ///< the read end
  Descriptor in;
};

}  // namespace fedstride
