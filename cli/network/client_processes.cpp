#include "cli/network/client_processes.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/argument_pointers.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kGrace = 5s;      // for clients to end by themselves, then again after SIGTERM
constexpr auto kShortLife = 1s;  // a client that is killed sooner is started again only after so long

std::string last_line(const std::filesystem::path& log) {
  try {
    const std::string text = read_file(log, 1 << 20);
    return std::string(trimmed(split(trimmed(text), '\n').back()));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

ClientProcesses::ClientProcesses(Rules rules)
    : rules_(std::move(rules)),
      children_(static_cast<std::size_t>(rules_.clients)),
      started_(static_cast<std::size_t>(rules_.clients)) {
  for (int client = 0; client < rules_.clients; ++client) {
    const auto folder = rules_.folder / std::to_string(client);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw failure("cannot make folder '" + folder.string() + "': " + error.message());
  }
  // The processes are children of this thread: they end with it (PR_SET_PDEATHSIG), should this program be killed.
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

ClientProcesses::~ClientProcesses() {
  ending_ = true;
  watcher_.request_stop();
  watcher_.join();
}

void ClientProcesses::start(int client) {
  const auto place = static_cast<std::size_t>(client);
  const std::string folder = (rules_.folder / std::to_string(client)).string();
  const std::string log = folder + "/log.txt";
  std::vector<std::string> words = rules_.arguments(client, folder);
  words.insert(words.begin(), "fedstride");
  const std::vector<char*> pointers = argument_pointers(words);
  const pid_t parent = getpid();
  started_[place] = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    // Between fork and exec only what is safe there. A group of its own: Ctrl-C is this program's to pass on.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(input, 0);
    dup2(output, 1);
    dup2(output, 2);
    execv("/proc/self/exe", pointers.data());
    _exit(127);
  }
  if (child < 0) {
    rules_.failed("cannot start client " + std::to_string(client) + ": " + std::strerror(errno));
    return;
  }
  children_[place] = child;
}

void ClientProcesses::ended(int client, int status) {
  children_[static_cast<std::size_t>(client)] = 0;
  if (ending_) return;
  const std::string who = "client " + std::to_string(client);
  if (WIFSIGNALED(status)) {
    rules_.log(who + " was killed by signal " + std::to_string(WTERMSIG(status)) + "; it is started again");
    return start(client);
  }
  if (WEXITSTATUS(status) == 0) return;  // it has been told that all is done before we were
  rules_.failed(who + " ended with code " + std::to_string(WEXITSTATUS(status)) + ": " +
                last_line(rules_.folder / std::to_string(client) / "log.txt"));
}

void ClientProcesses::watch(const std::stop_token& stop) {
  for (int client = 0; client < rules_.clients; ++client) start(client);
  const auto reap = [&] {
    for (int client = 0; client < rules_.clients; ++client) {
      const auto place = static_cast<std::size_t>(client);
      int status = 0;
      // One that is killed again and again is not started faster than this.
      const bool young = Clock::now() - started_[place] < kShortLife && !ending_;
      if (children_[place] > 0 && !young && waitpid(children_[place], &status, WNOHANG) == children_[place])
        ended(client, status);
    }
    return std::ranges::none_of(children_, [](pid_t child) { return child > 0; });
  };
  while (!stop.stop_requested()) {
    reap();
    std::this_thread::sleep_for(20ms);
  }
  for (const int signal : {0, SIGTERM, SIGKILL}) {
    if (signal == 0 && !told_) continue;
    for (const pid_t child : children_)
      if (signal != 0 && child > 0) kill(child, signal);
    const auto until = Clock::now() + kGrace;
    while (Clock::now() < until) {
      if (reap()) return;
      std::this_thread::sleep_for(10ms);
    }
  }
}

}  // namespace fedstride
