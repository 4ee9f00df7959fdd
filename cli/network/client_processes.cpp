#include "cli/network/client_processes.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kGrace = 5s;      // for clients to exit on their own, and again after SIGTERM
constexpr auto kShortLife = 1s;  // a client killed sooner is restarted only after this time

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
  for (int client = 0; client < rules_.clients; ++client) make_folder(rules_.folder / std::to_string(client));
  // The processes are children of this thread and end with it (PR_SET_PDEATHSIG), even if this program is killed.
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
  started_[place] = Clock::now();
  children_[place] = forked(
      [&] {
        // Only async-signal-safe calls are allowed here. The child leaves our process group: this program forwards Ctrl-C.
        setpgid(0, 0);
        const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return become("/proc/self/exe", pointers, {input, output, output});
      },
      SIGTERM);
  if (!children_[place]) rules_.failed("cannot start client " + std::to_string(client) + ": " + std::strerror(errno));
}

void ClientProcesses::ended(int client, int code) {
  if (ending_) return;
  const std::string who = "client " + std::to_string(client);
  if (code < 0) {
    rules_.log(who + " was killed by signal " + std::to_string(-code) + "; restarting it");
    return start(client);
  }
  if (code == 0) return;  // the client learned before us that the federation had finished
  rules_.failed(who + " exited with code " + std::to_string(code) + ": " +
                last_line(rules_.folder / std::to_string(client) / "log.txt"));
}

void ClientProcesses::watch(const std::stop_token& stop) {
  for (int client = 0; client < rules_.clients; ++client) start(client);
  const auto reap = [&] {
    for (int client = 0; client < rules_.clients; ++client) {
      const auto place = static_cast<std::size_t>(client);
      // Limits how often a client that is killed repeatedly is restarted.
      const bool young = Clock::now() - started_[place] < kShortLife && !ending_;
      if (young) continue;
      if (const auto code = children_[place].ended()) ended(client, *code);
    }
    return std::ranges::none_of(children_, [](const ChildProcess& child) { return static_cast<bool>(child); });
  };
  while (!stop.stop_requested()) {
    reap();
    std::this_thread::sleep_for(20ms);
  }
  for (const int signal : {0, SIGTERM, SIGKILL}) {
    if (signal == 0 && !told_) continue;
    for (const ChildProcess& child : children_)
      if (signal != 0) child.signal(signal);
    const auto until = Clock::now() + kGrace;
    while (Clock::now() < until) {
      if (reap()) return;
      std::this_thread::sleep_for(10ms);
    }
  }
}

}  // namespace fedstride
