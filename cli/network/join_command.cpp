#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/network/network_log.hpp"
#include "cli/network/serve_flags.hpp"
#include "cli/settings_flags.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "run/networked/join.hpp"

namespace fedstride {
namespace {

struct JoinFlags {
  int client = 0;
  std::string connect;
  std::string certificates;
  bool insecure_loopback = false;
  bool quiet = false;
  bool json = false;
  std::string out;
  std::string turns;
  std::string require_dp;
  std::string train;
  PrivacyLimit limit;
  bool has_delta = false;
  JoinOptions options;
};

// Python's package is the client then: it calls the function of the file, and this library through its module. Does not return.
[[noreturn]] void become_python(const JoinFlags& arguments) {
  const JoinOptions& options = arguments.options;
  const Json all{{"client", arguments.client},
                 {"connect", arguments.connect},
                 {"certificates", arguments.certificates},
                 {"insecure_loopback", arguments.insecure_loopback},
                 {"folder", arguments.out.empty() ? client_name(static_cast<ClientId>(arguments.client)) : arguments.out},
                 {"data", options.data},
                 {"data_dir", options.data_dir},
                 {"threads", options.threads},
                 {"patience", options.patience},
                 {"require_dp", arguments.require_dp},
                 {"max_epsilon", arguments.limit.epsilon},
                 {"delta", arguments.limit.delta},
                 {"accept_other_builds", options.accept_other_builds},
                 {"quiet", arguments.quiet},
                 {"json", arguments.json}};
  const std::string text = dump_json(all);
  const char* python = std::getenv("FEDSTRIDE_PYTHON");
  if (python == nullptr || *python == '\0') python = "python3";
  ::execlp(python, python, "-m", "fedstride._join", arguments.train.c_str(), text.c_str(), nullptr);
  throw failure("train is '" + arguments.train + "', which needs Python: '" + python + "' cannot be started (" +
                std::strerror(errno) + "); Debian's python3 and python3-fedstride have it, $FEDSTRIDE_PYTHON names another");
}

void carry_out(JoinFlags& arguments) {
  if (!arguments.train.empty() && !std::filesystem::is_regular_file(arguments.train))
    throw usage_error("train is '" + arguments.train + "', which is no file; it must be one of Python with a function train");
  if (!arguments.train.empty() && !arguments.turns.empty())
    throw usage_error("turns is '" + arguments.turns + "'; code of the client's own takes no turns (--train)");
  JoinOptions& options = arguments.options;
  options.client = static_cast<ClientId>(arguments.client);
  options.connect = parse_endpoint("connect", arguments.connect, false);
  options.certificates = certificates_or_loopback(arguments.certificates, arguments.insecure_loopback);
  if (!arguments.require_dp.empty()) options.require_dp = make_choice<RequiredPrivacy>("require-dp", arguments.require_dp);
  if (arguments.has_delta && arguments.limit.epsilon == 0)
    throw usage_error("delta is that of --max-epsilon, which is not given");
  if (!arguments.train.empty()) become_python(arguments);
  if (arguments.limit.epsilon > 0) options.limit = arguments.limit;
  options.folder = arguments.out.empty() ? client_name(options.client) : arguments.out;
  options.turns = arguments.turns;
  options.log = network_log(arguments.quiet);
  const MemberOutcome outcome = join_federation(options, stop_on_signals());
  if (!outcome.finished) {
    std::fprintf(stderr, "fedstride: stopped; the same command goes on\n");
    throw CLI::RuntimeError(130);
  }
  if (arguments.json) {
    const Json json{{"folder", options.folder.string()},
                    {"client", options.client},
                    {"rounds", outcome.rounds},
                    {"model_hash", outcome.model_hash},
                    {"updates_sent", outcome.answered}};
    std::printf("%s\n", dump_json(json, 2).c_str());
  } else if (!arguments.quiet)
    std::printf("the federation is finished after round %u, model %s; updates sent: %u\n", outcome.rounds,
                outcome.model_hash.substr(0, 16).c_str(), outcome.answered);
}

}  // namespace

void add_join_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("join", "Take part in a federation as one client, with its own data.");
  command.footer(
      "The experiment comes from the coordinator ('fedstride serve'). What the client keeps from round to round, its ledger\n"
      "and its secret key are in its folder (--out); started again with the same command it picks up the round in hand.\n"
      "Example: fedstride join --connect coordinator.example:7000 --client 3 --certificates certs --data-dir ~/data");
  auto arguments = std::make_shared<JoinFlags>();
  takes(*command.add_option("--connect", arguments->connect, "HOST:PORT of the coordinator")->required(), {.word = "HOST:PORT"});
  add_number_flag(command, "--client", arguments->client, Valid{.low = 0, .high = 1e6}, "which client this is, from 0");
  command.get_option("--client")->required();
  takes(*command.add_option("--certificates", arguments->certificates,
                            "folder with authority.pem, client-K.pem and client-K.key, or a bundle ('fedstride certificates')"),
        Place::file);
  add_switch(command, "--insecure-loopback", arguments->insecure_loopback,
             "plain TCP to a coordinator on this machine, which is believed");
  takes(*command.add_option("--out", arguments->out, "the client's own folder (default: client-K)"), Place::folder);
  add_data_flag(command, arguments->options.data);
  add_data_folder_flag(command, arguments->options.data_dir);
  add_number_flag(command, "--threads", arguments->options.threads, Valid{.low = 0, .high = 1024},
                  "threads; 0: one for each processor. The result does not depend on it");
  takes(*command.add_option("--turns", arguments->turns,
                            "folder of places at which clients of one machine take turns ('fedstride launch' makes one)"),
        Place::folder);
  add_number_flag(command, "--patience", arguments->options.patience, Valid{.low = 0, .high = 1e9},
                  "seconds without the coordinator after which the client gives up; 0: never");
  takes(*command.add_option("--train", arguments->train,
                            "a file of Python whose function train(weights, task) trains the client (docs/python.md)"),
        Place::file);
  add_choice_flag(command, "--require-dp", arguments->require_dp,
                  {kChoiceNames<RequiredPrivacy>.begin(), kChoiceNames<RequiredPrivacy>.end()},
                  "take part only if the experiment has privacy of this level");
  add_number_flag(command, "--max-epsilon", arguments->limit.epsilon, kNonNegative,
                  "answer only while the client's own ledger stays within this epsilon, at each level that the experiment "
                  "protects; 0: no limit");
  add_number_flag(command, "--delta", arguments->limit.delta,
                  Valid{.low = 0, .high = 1, .low_included = false, .high_included = false}, "delta of --max-epsilon");
  add_switch(command, "--accept-other-builds", arguments->options.accept_other_builds,
             "go on with a coordinator whose program would not give the same bits");
  add_switch(command, "--quiet", arguments->quiet, "print nothing but errors");
  add_json_switch(command, arguments->json);
  command.allow_extras();
  when_called(command, [arguments, &command] {
    arguments->has_delta = command.count("--delta") > 0;
    carry_out(*arguments);
  });
}

}  // namespace fedstride
