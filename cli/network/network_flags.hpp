#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"
#include "sim/parties/serve.hpp"

namespace CLI {
class App;
}

namespace fedstride {

enum class LogForm { text, json };
constexpr auto choice_names(LogForm) { return names("text", "json"); }

/// The flags of a party's own HTTP server.
struct StatusFlags {
  std::string status;
  std::string status_token;
};
/// `serves`: such as "serve a status page at this address, with /status".
void add_status_flags(CLI::App& command, StatusFlags& flags, const std::string& serves);
/// Sets the members `status` and `status_token` of a party's options. Throws Error (usage) if the flags are invalid.
void set_status(const StatusFlags& flags, std::optional<Endpoint>& status, std::string& token);

/// The flags that `serve` and `launch` share: they set rounds, limits, trust and the status page.
struct ServeFlags {
  ServeOptions options;
  StatusFlags status;
};
void add_serve_flags(CLI::App& command, ServeFlags& flags);
/// Converts the flags to the options of a federation with this many clients. Throws Error (usage) if they are invalid.
ServeOptions serve_options(const ServeFlags& flags, int clients);

/// The flags of a party's log.
struct LogFlags {
  std::string form = {};
  std::string level = {};
  bool is_json() const { return form == choice_name(LogForm::json); }
};
void add_log_flags(CLI::App& command, LogFlags& flags);

/// Returns a log on standard error without control characters: each line has the local time with its offset from UTC and the level,
/// or is a JSON object with "time", "level" and "message". It prints at most a few dozen lines of a level per second and counts the
/// rest, because strangers can cause any number of lines. If quiet, it prints nothing. Throws Error (usage) if the flags are invalid.
NetworkLog network_log(bool quiet, const LogFlags& flags = {});

/// Writes the error as a line of JSON and throws what ends the program with its code.
[[noreturn]] void end_in_log(const Error& error);

/// Carries out a party. If its log is JSON, an error is its last line, instead of text beside it.
template <class Act>
void with_logged_errors(const LogFlags& flags, Act&& act) {
  try {
    act();
  } catch (const Error& error) {
    if (!flags.is_json()) throw;
    end_in_log(error);
  }
}

/// Logs the address of the status page, if any.
void log_status_page(const ServeOptions& options, std::optional<std::uint16_t> port);

/// Returns the certificates' folder, or "" for --insecure-loopback. Throws Error (usage) unless exactly one of them is given.
std::string certificates_or_loopback(const std::string& certificates, bool insecure_loopback);

}  // namespace fedstride
