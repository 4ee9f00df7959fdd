#pragma once

#include <unistd.h>

#include "core/error.hpp"

namespace fedstride {

/// The process in which this object was made. A process forked from it has the same state but must not write the same files: a user's
/// callback that forks may come back twice.
class OwnProcess {
 public:
  bool is_this() const { return ::getpid() == id_; }
  /// Throws Error (failure) in a forked process.
  void require() const {
    if (!is_this())
      throw failure(
          "this process was forked from the one that runs the experiment, which alone writes its files; a forked process "
          "must end with os._exit, or call another program");
  }

 private:
  pid_t id_ = ::getpid();
};

}  // namespace fedstride
