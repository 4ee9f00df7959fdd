#include "sweep/cells/subcommand.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/argument_pointers.hpp"
#include "core/error.hpp"

extern char** environ;

namespace fedstride {
namespace {

constexpr std::size_t kMaxOutputBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxErrorOutputBytes = std::size_t{1} << 16;

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw failure(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int end(int which) const { return ends_[static_cast<std::size_t>(which)]; }
  void close(int which) {
    int& end = ends_[static_cast<std::size_t>(which)];
    if (end >= 0) ::close(end);
    end = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// Reads the bytes available now; false at the end.
bool take(int descriptor, std::string& text, std::size_t most) {
  std::array<char, 1 << 16> buffer{};
  const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR;
  text.append(buffer.data(), std::min(static_cast<std::size_t>(count), most - std::min(most, text.size())));
  return count > 0;
}

pid_t start(const std::vector<std::string>& words, const Pipe& out, const Pipe& err) {
  const std::vector<char*> pointers = argument_pointers(words);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.end(1), 1);
  posix_spawn_file_actions_adddup2(&actions, err.end(1), 2);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw failure("cannot run '" + words.front() + "': " + std::strerror(error));
  return child;
}

}  // namespace

ProgramOutput run_program(const std::vector<std::string>& words, const std::atomic<bool>* stop, double seconds) {
  Pipe out;
  Pipe err;
  const pid_t child = start(words, out, err);
  out.close(1);
  err.close(1);
  ProgramOutput result;
  const auto begin = std::chrono::steady_clock::now();
  std::array<pollfd, 2> ends{pollfd{out.end(0), POLLIN, 0}, pollfd{err.end(0), POLLIN, 0}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    ::poll(ends.data(), ends.size(), 50);
    if (ends[0].revents != 0 && !take(ends[0].fd, result.out, kMaxOutputBytes + 1)) ends[0].fd = -1;
    if (ends[1].revents != 0 && !take(ends[1].fd, result.err, kMaxErrorOutputBytes)) ends[1].fd = -1;
    const bool late = seconds > 0 && std::chrono::steady_clock::now() - begin > std::chrono::duration<double>(seconds);
    if (!result.stopped && (late || (stop != nullptr && stop->load()) || result.out.size() > kMaxOutputBytes)) {
      ::kill(child, SIGKILL);
      result.stopped = true;
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (result.out.size() > kMaxOutputBytes) throw failure("'" + words.front() + "' says more than 64 MiB");
  return result;
}

}  // namespace fedstride
