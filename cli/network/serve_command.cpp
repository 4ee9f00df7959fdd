#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/network/network_log.hpp"
#include "cli/network/serve_flags.hpp"
#include "cli/settings_flags.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/run_summary.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "run/outside.hpp"

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
};

void carry_out(const ServeCommandFlags& arguments) {
  Settings settings = settings_to_serve(merged(arguments.run.config, arguments.run.settings));
  if (!arguments.parameters.empty()) settings = with_parameters(std::move(settings), arguments.parameters);
  const Configuration configuration = resolve(settings);
  require_client_count(configuration);
  ServeOptions options{.listen = parse_endpoint("listen", arguments.listen, true),
                       .certificates = certificates_or_loopback(arguments.certificates, arguments.insecure_loopback),
                       .round = {},
                       .log = network_log(configuration.quiet)};
  take_serve_flags(arguments.flags, configuration.clients, options);
  if (!arguments.deny.empty()) {
    if (options.certificates.empty())
      throw usage_error("deny is '" + arguments.deny + "'; nobody shows a certificate without --certificates");
    options.deny = arguments.deny;
    options.reread = hangups();
  }
  options.listening = [&](std::uint16_t port, std::optional<std::uint16_t> status_port) {
    Endpoint at = options.listen;
    at.port = port;
    options.log("listening at " + at.text());
    log_status_page(options, status_port);
    if (configuration.max_update_norm == 0 && client_level(configuration.privacy) == nullptr)
      options.log("an update may be of any size, and one false client can ruin the model: --max-update-norm bounds it");
  };
  ProgressBar progress(arguments.run.json);
  const RunSummary summary = serve(configuration, settings, options, progress.observer(stop_on_signals()));
  end_run(summary, progress, arguments.run.json, "the same command");
}

}  // namespace

void add_serve_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("serve", "Coordinate a federation whose clients are processes of their own.");
  command.footer(
      "The run is that of 'fedstride run' with the same settings, bit for bit, in a folder of the same kind (with --partition\n"
      "own there is no such run: clients bring rows that are nowhere else). Started again\n"
      "with the same command it goes on from the last finished round. Under --dp noise is secret unless --randomness says\n"
      "otherwise. Clients: 'fedstride join'; all on this machine: 'fedstride launch'.\n"
      "Example: fedstride serve --config federation.toml --listen 0.0.0.0:7000 --certificates certs --out runs/federation");
  auto arguments = std::make_shared<ServeCommandFlags>();
  takes(
      *command.add_option("--listen", arguments->listen, "HOST:PORT where clients connect; port 0: any that is free")->required(),
      {.word = "HOST:PORT"});
  takes(*command.add_option("--certificates", arguments->certificates,
                            "folder with authority.pem, coordinator.pem and coordinator.key ('fedstride certificates')"),
        Place::folder);
  add_switch(command, "--insecure-loopback", arguments->insecure_loopback,
             "plain TCP between processes of this machine, where everybody is believed");
  takes(
      *command.add_option("--deny", arguments->deny,
                          "file of certificates that are not let in, a line each: client-K, serial HEX or fingerprint HEX; read "
                          "again on SIGHUP"),
      Place::file);
  takes(*command.add_option("--parameters", arguments->parameters,
                            "a model's first weights (.safetensors): its tensors are the model, which clients train by code of "
                            "their own, on examples of their own unless --dataset or --partition says otherwise"),
        Place::file);
  add_serve_flags(command, arguments->flags);
  add_run_flags(command, arguments->run);
  when_called(command, [arguments] { carry_out(*arguments); });
}

}  // namespace fedstride
