#include "cli/network/network_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>

#include "cli/flags.hpp"
#include "cli/terminal/live_lines.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"

namespace fedstride {

void add_serve_flags(CLI::App& command, ServeFlags& flags) {
  constexpr double kMaxDeadline = 1e6;  // in seconds
  ServeOptions& options = flags.options;
  const auto number = [&](const char* name, auto& value, double low, double high, const char* help) {
    add_number_flag(command, name, value, Valid{.low = low, .high = high}, help);
  };
  number("--round-deadline", options.round.deadline, 0, kMaxDeadline,
         "seconds before a round closes without the clients that have not answered; 0: wait for all");
  number("--minimum-clients", options.round.minimum_clients, 1, 1e6,
         "number of answers that a round waits for even past its deadline");
  number("--stage-deadline", options.round.stage_deadline, 0.1, kMaxDeadline,
         "seconds for each message of secure aggregation, after which its sender counts as dropped out");
  number("--heartbeat", options.heartbeat, 0.1, 600,
         "seconds between heartbeats; four intervals without a byte end a connection");
  number("--ready-within", options.ready_within, 1, kMaxDeadline,
         "seconds a client has to load its data after joining, before its connection is closed");
  number("--updates-in-flight", options.updates_in_flight, 1, 1e4,
         "updates received at the same time; memory holds these and one model");
  number("--connections", options.connections, 0, 1e6, "maximum number of open connections; 0: twice the clients plus 32");
  add_switch(command, "--accept-other-builds", options.accept_other_builds,
             "accept clients whose build may not give the same bits");
  add_status_flags(command, flags.status, "serve a status page at this address, with /status");
}

void add_status_flags(CLI::App& command, StatusFlags& flags, const std::string& serves) {
  add_flag(command, "--status", flags.status, {.word = "HOST:PORT"}, serves + ", /metrics, /healthz and /readyz");
  add_flag(command, "--status-token", flags.status_token, Place::file,
           "file with the token that all but /healthz and /readyz ask for, created if missing; required unless the address is "
           "loopback");
}

void set_status(const StatusFlags& flags, std::optional<Endpoint>& status, std::string& token) {
  if (!flags.status.empty()) status = parse_endpoint("status", flags.status, true);
  if (flags.status_token.empty()) return;
  if (!status) throw usage_error("status-token is '" + flags.status_token + "'; it needs --status");
  token = load_or_create_status_token(flags.status_token);
}

ServeOptions serve_options(const ServeFlags& flags, int clients) {
  ServeOptions options = flags.options;
  if (options.round.minimum_clients > clients)
    throw usage_error("minimum-clients is " + std::to_string(options.round.minimum_clients) + "; the federation has " +
                      counted(static_cast<std::uint64_t>(clients), "client") + ", and minimum-clients cannot exceed that");
  set_status(flags.status, options.status, options.status_token);
  return options;
}

void add_log_flags(CLI::App& command, LogFlags& flags) {
  add_choice_flag(
      command, "--log", flags.form, choices_of<LogForm>(),
      "form of the log on standard error: lines of text or, for programs, a JSON object a line, without other output");
  add_choice_flag(command, "--log-level", flags.level, choices_of<LogLevel>(), "log nothing below this level");
}

namespace {

/// "2027-11-21T20:00:00+01:00", local time.
std::string time_text(std::time_t now) {
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%FT%T%z", &parts);
  return std::string(text, length).insert(length - 2, ":");
}

std::string log_line(LogForm form, std::time_t now, LogLevel level, std::string text) {
  const std::string name(choice_name(level));
  if (form == LogForm::json) return dump_json(Json{{"time", time_text(now)}, {"level", name}, {"message", text}}) + "\n";
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return time_text(now) + " " + name + ": " + text + "\n";
}

}  // namespace

NetworkLog network_log(bool quiet, const LogFlags& flags) {
  if (quiet && !flags.level.empty())
    throw usage_error("log-level is '" + flags.level + "'; with --quiet, nothing is logged: leave one of them out");
  const LogForm form = flags.form.empty() ? LogForm::text : make_choice<LogForm>("log", flags.form);
  const LogLevel least = flags.level.empty() ? LogLevel::info : make_choice<LogLevel>("log-level", flags.level);
  if (quiet) return {};
  constexpr int kLinesASecond = 40;  // of each level, so that none keeps another from being printed
  struct Second {
    std::time_t time = 0;
    int lines = 0;
    unsigned long left_out = 0;
  };
  struct State {
    std::mutex mutex;
    std::map<LogLevel, Second> seconds = {};
  };
  return [state = std::make_shared<State>(), form, least](LogLevel level, const std::string& line) {
    if (level < least) return;
    const std::time_t now = std::time(nullptr);
    const std::lock_guard lock(state->mutex);
    Second& second = state->seconds[level];
    if (now != second.time) {
      if (second.left_out > 0) print_beside_live_lines(stderr, log_line(form, now, level, counted(second.left_out, "more line")));
      second = {.time = now};
    }
    if (++second.lines <= kLinesASecond)
      print_beside_live_lines(stderr, log_line(form, now, level, line));
    else
      ++second.left_out;
  };
}

void end_in_log(const Error& error) {
  print_beside_live_lines(stderr, log_line(LogForm::json, std::time(nullptr), LogLevel::error, one_line(error.what())));
  throw CLI::RuntimeError(error.exit_code());
}

void log_status_page(const ServeOptions& options, std::optional<std::uint16_t> port) {
  if (!port) return;
  Endpoint page = *options.status;
  page.port = *port;
  options.log("status page at http://" + page.text() + "/");
}

std::string certificates_or_loopback(const std::string& certificates, bool insecure_loopback) {
  if (certificates.empty() != insecure_loopback)
    throw usage_error(insecure_loopback ? "--certificates and --insecure-loopback cannot be combined"
                                        : "certificates is ''; it must name the folder made by 'fedstride certificates' (or use "
                                          "--insecure-loopback for plain TCP on this machine)");
  return certificates;
}

}  // namespace fedstride
