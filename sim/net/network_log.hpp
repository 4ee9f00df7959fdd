#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>

#include "core/choice.hpp"

namespace fedstride {

/// `warning`: something that an operator may want to look into. `error`: what ended the party.
enum class LogLevel { info, warning, error };
constexpr auto choice_names(LogLevel) { return names("info", "warning", "error"); }

/// Receives one line for each event of a party, from any of its threads. By default, lines are dropped.
class NetworkLog {
 public:
  NetworkLog() = default;
  template <std::invocable<LogLevel, const std::string&> Write>
  NetworkLog(Write write) : write_(std::move(write)) {}  // NOLINT: implicit on purpose, like the next
  template <std::invocable<const std::string&> Write>
    requires(!std::same_as<Write, NetworkLog>)
  NetworkLog(Write write) : write_([write = std::move(write)](LogLevel, const std::string& line) { write(line); }) {}

  explicit operator bool() const { return static_cast<bool>(write_); }
  void operator()(const std::string& line) const { write(LogLevel::info, line); }
  void warn(const std::string& line) const { write(LogLevel::warning, line); }
  void write(LogLevel level, const std::string& line) const {
    if (write_) write_(level, line);
  }

 private:
  std::function<void(LogLevel level, const std::string& line)> write_;
};

}  // namespace fedstride
