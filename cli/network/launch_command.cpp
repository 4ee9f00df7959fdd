#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/network/network_flags.hpp"
#include "cli/terminal/host.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "core/program_name.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "partitions/own_rows.hpp"
#include "sim/net/connection.hpp"

namespace fedstride {
namespace {

/// The client processes of `launch` on this machine. Starts them, restarts any that are killed, and stops them together.
class ClientProcesses {
 public:
  struct Rules {
    int clients = 1;
    std::filesystem::path folder;  ///< client K uses FOLDER/K and prints to FOLDER/K/log.txt
    /// The arguments of client K after the program's name.
    std::function<std::vector<std::string>(int client, const std::string& folder)> arguments;
    NetworkLog log;
    /// Called with the reason if a client exits before the federation has finished ("client 3 exited with code 1: ...").
    std::function<void(const std::string& reason)> failed;
  };
  /// Throws Error (failure) if a folder cannot be created.
  explicit ClientProcesses(Rules rules);
  /// Stops the clients: at once or, after expect_end(), after a few seconds in which they can exit on their own.
  ~ClientProcesses();

  /// Call when the federation has finished and the clients know it.
  void expect_end() { ending_ = told_ = true; }

 private:
  void watch(const std::stop_token& stop);
  void start(int client);
  void ended(int client, int code);

  Rules rules_;
  std::vector<ChildProcess> children_;  ///< by client
  std::vector<std::chrono::steady_clock::time_point> started_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> told_{false};
  std::jthread watcher_;
};

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
    rules_.log.warn(who + " was killed by signal " + std::to_string(-code) + "; restarting it");
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

namespace fs = std::filesystem;

struct LaunchFlags {
  RunFlags run;
  int client_threads = 1;
  ServeFlags flags;
};

/// Returns runs/launch-1, or the same with the next free number.
std::string free_folder() {
  for (int number = 1;; ++number) {
    const fs::path path = fs::path("runs") / ("launch-" + std::to_string(number));
    std::error_code error;
    if (!fs::exists(path, error)) return path.string();
  }
}

void carry_out(const LaunchFlags& arguments) {
  Settings settings = merged(arguments.run.config, arguments.run.settings);
  if (resolve(settings).out.empty()) settings["out"] = {free_folder(), true};
  const Configuration configuration = resolve(settings);
  if (configuration.partition.as<OwnRows>() != nullptr)
    throw usage_error(
        "partition is 'own', but the clients of launch all read this machine's data set; use 'fedstride serve', and "
        "'fedstride join' where each client's rows are");
  dataset_folder(dataset_source(configuration.dataset), data_options(configuration));  // fails before anything is created
  require_client_count(configuration);
  const NetworkLog log = network_log(configuration.quiet);
  const fs::path network = configuration.out + ".network";
  const fs::path certificates = network / "certificates";
  make_certificates(certificates, {.clients = configuration.clients});

  ServeOptions options = serve_options(arguments.flags, configuration.clients);
  options.listen = {"127.0.0.1", 0};
  options.certificates = certificates;
  options.log = log;

  // Set by a signal to this program, or by a client that failed.
  const std::atomic<bool>* signalled = stop_on_signals();
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::string client_failure;
  std::jthread follow([&](const std::stop_token& end) {
    while (!end.stop_requested()) {
      if (signalled->load()) stop = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });

  std::optional<ClientProcesses> clients;
  options.listening = [&](std::uint16_t port, std::optional<std::uint16_t> status_port) {
    log_status_page(options, status_port);
    ClientProcesses::Rules rules{
        .clients = configuration.clients, .folder = network / "clients", .arguments = {}, .log = log, .failed = {}};
    rules.arguments = [&, port](int client, const std::string& folder) {
      std::vector<std::string> words{"join"};
      const auto add = [&](const char* flag, const std::string& value) {
        if (!value.empty()) words.insert(words.end(), {flag, value});
      };
      add("--connect", "127.0.0.1:" + std::to_string(port));
      add("--client", std::to_string(client));
      add("--certificates", certificates.string());
      add("--out", folder);
      add("--threads", std::to_string(arguments.client_threads));
      add("--data", configuration.data);
      add("--data-dir", configuration.data_dir);
      return words;
    };
    rules.failed = [&](const std::string& reason) {
      const std::lock_guard lock(mutex);
      if (client_failure.empty()) client_failure = reason;
      stop = true;
    };
    clients.emplace(std::move(rules));
  };
  ProgressBar progress(arguments.run.json);
  RunSummary summary = serve(configuration, settings, options, progress.observer(&stop));
  if (clients && !summary.interrupted) clients->expect_end();
  clients.reset();
  const std::lock_guard lock(mutex);
  if (!client_failure.empty() && summary.interrupted) throw failure(client_failure);
  progress.end(summary, arguments.run.json, program_name() + " launch with the same settings and --out " + configuration.out);
}

}  // namespace

void add_launch_command(CLI::App& app) {
  const auto [command, flags] = add_command<LaunchFlags>(
      app, "launch", "Run a federation as a coordinator and client processes on this machine.",
      "The model has the same bits as that of 'fedstride run' with the same settings. OUT.network holds the certificates and a\n"
      "folder for each client. A client that is killed is restarted; all stop together.\n"
      "Example: fedstride launch --dataset synthetic --clients 5 --rounds 10 --out runs/launched",
      carry_out);
  add_number_flag(command, "--client-threads", flags.client_threads, Valid{.low = 0, .high = 1024},
                  "threads of each client; 0: one for each processor");
  add_serve_flags(command, flags.flags);
  add_run_flags(command, flags.run);
}

}  // namespace fedstride
