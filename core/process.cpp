#include "core/process.hpp"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "core/call_failed.hpp"
#include "core/error.hpp"

namespace fedstride {

ChildProcess::~ChildProcess() {
  if (id_ <= 0) return;
  signal(SIGKILL);
  wait();
}

void ChildProcess::signal(int number) const {
  if (id_ > 0) ::kill(id_, number);
}

std::optional<int> ChildProcess::reap(int options) {
  int status = 0;
  if (id_ <= 0 || uninterrupted([&] { return ::waitpid(id_, &status, options); }) != id_) return std::nullopt;
  id_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int ChildProcess::wait() { return reap(0).value_or(-1); }
std::optional<int> ChildProcess::ended() { return reap(WNOHANG); }

std::vector<char*> argument_pointers(std::span<const std::string> words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

ChildProcess started(std::span<const std::string> words, const Streams& streams) {
  const std::vector<char*> pointers = argument_pointers(words);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, streams.in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.err, STDERR_FILENO);
  pid_t id = -1;
  const int error = ::posix_spawnp(&id, pointers.front(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return ChildProcess(error == 0 ? id : -1);
}

ChildProcess forked(function_ref<int()> act, int at_parents_end) {
  const pid_t parent = ::getpid();
  const pid_t id = ::fork();
  if (id != 0) return ChildProcess(id);
  if (at_parents_end != 0) ::prctl(PR_SET_PDEATHSIG, at_parents_end);
  ::_exit(at_parents_end != 0 && ::getppid() != parent ? 1 : act());
}

int become(const char* program, const std::vector<char*>& arguments, const Streams& streams) {
  ::dup2(streams.in, STDIN_FILENO);
  ::dup2(streams.out, STDOUT_FILENO);
  ::dup2(streams.err, STDERR_FILENO);
  ::execv(program, arguments.data());
  return 127;
}

Pipe::Pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw call_failed(std::string("cannot create a pipe: ") + std::strerror(errno), errno);
  out = Descriptor(ends[0]);
  in = Descriptor(ends[1]);
}

}  // namespace fedstride
