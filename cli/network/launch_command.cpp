#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/network/client_processes.hpp"
#include "cli/network/network_flags.hpp"
#include "cli/terminal/host.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "core/error.hpp"
#include "core/program_name.hpp"
#include "data/datasets.hpp"
#include "partitions/own_rows.hpp"

namespace fedstride {
namespace {

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
