#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/network/network_flags.hpp"
#include "cli/terminal/host.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "sim/parties/join.hpp"

namespace fedstride {
namespace {

struct JoinFlags {
  std::string connect;
  std::string certificates;
  bool insecure_loopback = false;
  bool quiet = false;
  bool json = false;
  std::string out;
  std::string require_dp;
  std::string train;
  std::string budget;
  PrivacyLimit limit;
  bool has_delta = false;
  StatusFlags status;
  LogFlags log;
  JoinOptions options;
};

// Replaces this process with Python, whose package then acts as the client: it calls the file's function and, through its
// module, this library.
[[noreturn]] void become_python(const JoinFlags& arguments) {
  const JoinOptions& options = arguments.options;
  const Json all{{"client", options.client},
                 {"connect", arguments.connect},
                 {"certificates", arguments.certificates},
                 {"insecure_loopback", arguments.insecure_loopback},
                 {"folder", arguments.out.empty() ? client_name(options.client) : arguments.out},
                 {"data", options.data},
                 {"data_dir", options.data_dir},
                 {"threads", options.threads},
                 {"patience", options.patience},
                 {"require_dp", arguments.require_dp},
                 {"max_epsilon", arguments.limit.epsilon},
                 {"delta", arguments.limit.delta},
                 {"accept_other_builds", options.accept_other_builds},
                 {"status", arguments.status.status},
                 {"status_token", arguments.status.status_token},
                 {"log", arguments.log.form},
                 {"log_level", arguments.log.level},
                 {"quiet", arguments.quiet},
                 {"json", arguments.json}};
  if (!arguments.budget.empty())
    throw usage_error("budget is '" + arguments.budget + "'; with --train it is always beside --data: leave it out");
  const std::string text = dump_json(all);
  const char* python = std::getenv("FEDSTRIDE_PYTHON");
  if (python == nullptr || *python == '\0') python = "python3";
  ::execlp(python, python, "-m", "fedstride._join", arguments.train.c_str(), text.c_str(), nullptr);
  throw failure("train is '" + arguments.train + "', which needs Python: cannot start '" + python + "' (" + std::strerror(errno) +
                "); install python3 and python3-fedstride, or set FEDSTRIDE_PYTHON");
}

void take_part(JoinFlags& arguments) {
  if (!arguments.train.empty() && !std::filesystem::is_regular_file(arguments.train))
    throw usage_error("train is '" + arguments.train + "', which is not a file; it must be a Python file with a function train");
  JoinOptions& options = arguments.options;
  options.connect = parse_endpoint("connect", arguments.connect, false);
  options.certificates = certificates_or_loopback(arguments.certificates, arguments.insecure_loopback);
  if (!arguments.require_dp.empty()) options.require_dp = make_choice<RequiredPrivacy>("require-dp", arguments.require_dp);
  if (arguments.has_delta && arguments.limit.epsilon == 0) throw usage_error("delta is given; it needs --max-epsilon");
  if (options.require_secure && !arguments.train.empty())
    throw usage_error("require-secure is set; it cannot be combined with --train");
  if (!arguments.train.empty()) become_python(arguments);
  set_status(arguments.status, options.status, options.status_token);
  if (arguments.limit.epsilon > 0) options.limit = arguments.limit;
  options.budget = arguments.budget;
  options.folder = arguments.out.empty() ? client_name(options.client) : arguments.out;
  options.log = network_log(arguments.quiet, arguments.log);
  const MemberOutcome outcome = join_federation(options, stop_on_signals());
  if (!outcome.finished) {
    if (arguments.log.is_json())
      options.log("stopped; resume with the same command");
    else
      std::fprintf(stderr, "fedstride: stopped; resume with the same command\n");
    throw CLI::RuntimeError(130);
  }
  if (arguments.json)
    print_json({{"folder", options.folder.string()},
                {"client", options.client},
                {"rounds", outcome.rounds},
                {"model_hash", outcome.model_hash},
                {"updates_sent", outcome.answered}});
  const std::string text = "the federation is finished after round " + std::to_string(outcome.rounds) + ", model " +
                           outcome.model_hash.substr(0, 16) + "; updates sent: " + std::to_string(outcome.answered);
  if (arguments.log.is_json())
    options.log(text);
  else if (!arguments.json && !arguments.quiet)
    std::printf("%s\n", text.c_str());
}

void carry_out(JoinFlags& arguments) {
  with_logged_errors(arguments.log, [&] { take_part(arguments); });
}

}  // namespace

void add_join_command(CLI::App& app) {
  const auto flags = std::make_shared<JoinFlags>();
  CLI::App& command = add_command(
      app, "join", "Take part in a federation as one client.",
      "The experiment comes from the coordinator ('fedstride serve'). The client's folder (--out) holds its state, its ledger\n"
      "and its secret key; the same command resumes in the round it was in.\n"
      "Example: fedstride join --connect coordinator.example:7000 --client 3 --certificates certs --data-dir ~/data",
      [flags](CLI::App& called) {
        flags->has_delta = called.count("--delta") > 0;
        carry_out(*flags);
      });
  JoinOptions& options = flags->options;
  add_flag(command, "--connect", flags->connect, {.word = "HOST:PORT"}, "address of the coordinator", Needed::yes);
  add_number_flag(command, "--client", options.client, Valid{.low = 0, .high = 1e6}, "number of this client, counted from 0")
      .required();
  add_flag(command, "--certificates", flags->certificates, Place::file,
           "folder with authority.pem, client-K.pem and client-K.key, or a bundle ('fedstride certificates')");
  add_switch(command, "--insecure-loopback", flags->insecure_loopback,
             "use plain TCP, without authentication, to a coordinator on this machine");
  add_flag(command, "--out", flags->out, Place::folder, "the client's folder (default: client-K)");
  add_data_flag(command, options.data);
  add_data_folder_flag(command, options.data_dir);
  add_number_flag(command, "--threads", options.threads, Valid{.low = 0, .high = 1024},
                  "threads; 0: one for each processor; results do not depend on it");
  add_number_flag(command, "--patience", options.patience, Valid{.low = 0, .high = 1e9},
                  "seconds without the coordinator before the client gives up; 0: never");
  add_flag(command, "--train", flags->train, Place::file,
           "Python file whose function train(weights, task) trains the client (docs/python.md)");
  add_choice_flag(command, "--require-dp", flags->require_dp, choices_of<RequiredPrivacy>(),
                  "take part only if the experiment protects privacy at this level");
  add_switch(command, "--require-secure", options.require_secure,
             "take part only if the experiment has secure aggregation (docs/secure-aggregation.md)");
  add_number_flag(command, "--max-epsilon", flags->limit.epsilon, kNonNegative,
                  "stop before the client's own ledger exceeds this epsilon at a protected level; 0: no limit");
  add_number_flag(command, "--delta", flags->limit.delta,
                  Valid{.low = 0, .high = 1, .low_included = false, .high_included = false}, "delta of --max-epsilon");
  add_flag(
      command, "--budget", flags->budget, Place::file,
      "file that records what the rows were spent on in all experiments; --max-epsilon covers them together (default: beside "
      "--data)");
  add_status_flags(command, flags->status, "serve this client's state at this address");
  add_switch(command, "--accept-other-builds", options.accept_other_builds,
             "accept a coordinator whose build may not give the same bits");
  add_log_flags(command, flags->log);
  add_switch(command, "--quiet", flags->quiet, "print nothing but errors");
  add_json_switch(command, flags->json);
}

}  // namespace fedstride
