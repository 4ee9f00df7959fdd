#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/network/network_flags.hpp"
#include "cli/terminal/host.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "sim/run/fleets.hpp"

namespace fedstride {
namespace {

struct ServeCommandFlags {
  RunFlags run;
  std::string listen;
  std::string certificates;
  bool insecure_loopback = false;
  std::string deny;
  std::string parameters;
  ServeFlags flags;
  LogFlags log;
};

void coordinate(const ServeCommandFlags& arguments) {
  Settings settings = settings_to_serve(merged(arguments.run.config, arguments.run.settings));
  if (!arguments.parameters.empty()) settings = with_parameters(std::move(settings), arguments.parameters);
  const Configuration configuration = resolve(settings);
  require_client_count(configuration);
  const Endpoint listen = parse_endpoint("listen", arguments.listen, true);
  const std::string certificates = certificates_or_loopback(arguments.certificates, arguments.insecure_loopback);
  ServeOptions options = serve_options(arguments.flags, configuration.clients);
  options.listen = listen;
  options.certificates = certificates;
  options.log = network_log(configuration.quiet, arguments.log);
  if (!arguments.deny.empty()) {
    if (options.certificates.empty()) throw usage_error("deny is '" + arguments.deny + "'; it needs --certificates");
    options.deny = arguments.deny;
  }
  options.reread = hangups();
  options.listening = [&](std::uint16_t port, std::optional<std::uint16_t> status_port) {
    Endpoint at = options.listen;
    at.port = port;
    options.log("listening at " + at.text());
    log_status_page(options, status_port);
    if (configuration.max_update_norm == 0 && !configuration.is_secure() && client_level(configuration.privacy) == nullptr)
      options.log.warn(
          "updates may have any norm, so one malicious client can ruin the model; --max-update-norm limits the norm");
  };
  ProgressBar progress(arguments.run.json || arguments.log.is_json());
  progress.log_to(options.log);
  RunObserver observer = progress.observer(stop_on_signals());
  observer.pause = pause_on_signal();
  const RunSummary summary = serve(configuration, settings, options, observer);
  progress.end(summary, arguments.run.json, "the same command");
}

void carry_out(const ServeCommandFlags& arguments) {
  with_logged_errors(arguments.log, [&] { coordinate(arguments); });
}

}  // namespace

void add_serve_command(CLI::App& app) {
  const auto [command, flags] = add_command<ServeCommandFlags>(
      app, "serve", "Coordinate a federation whose clients are separate processes.",
      "The run equals that of 'fedstride run' with the same settings, bit for bit, and its folder has the same files; only\n"
      "--partition own, where clients bring their own rows, has no such counterpart. The same command resumes after the last\n"
      "finished round. SIGUSR2 ends it after the current one; SIGHUP reads --certificates and --deny again. Under --dp the\n"
      "noise is secret unless --randomness says otherwise. Clients use 'fedstride join'; 'fedstride launch' runs everything on\n"
      "this machine.\n"
      "Example: fedstride serve --config federation.toml --listen 0.0.0.0:7000 --certificates certs --out runs/federation",
      carry_out);
  add_flag(command, "--listen", flags.listen, {.word = "HOST:PORT"}, "address that clients connect to; port 0: any free port",
           Needed::yes);
  add_flag(command, "--certificates", flags.certificates, Place::folder,
           "folder with authority.pem, coordinator.pem and coordinator.key ('fedstride certificates')");
  add_switch(command, "--insecure-loopback", flags.insecure_loopback,
             "use plain TCP, without authentication, between processes on this machine");
  add_flag(command, "--deny", flags.deny, Place::file,
           "file of rejected certificates, one on each line: client-K, serial HEX or fingerprint HEX; read again on "
           "SIGHUP");
  add_flag(command, "--parameters", flags.parameters, Place::file,
           "initial weights (.safetensors) of a model that clients train with their own code, on their own examples "
           "unless --dataset or --partition is given");
  add_serve_flags(command, flags.flags);
  add_log_flags(command, flags.log);
  add_run_flags(command, flags.run);
}

}  // namespace fedstride
