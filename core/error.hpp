#pragma once

#include <stdexcept>
#include <string>

namespace fedstride {

/// An invalid configuration, file or flag, or a request that failed. The one-line message states the value and what would be
/// valid. If nothing else catches the error, command_line() prints it and returns its exit code.
class Error : public std::runtime_error {
 public:
  enum class Kind { usage = 2, failure = 1 };

  Error(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  Kind kind_;
};

/// An error for an invalid request: exit code 2.
inline Error usage_error(const std::string& message) { return {Error::Kind::usage, message}; }
/// An error for a request that could not be carried out: exit code 1.
inline Error failure(const std::string& message) { return {Error::Kind::failure, message}; }

}  // namespace fedstride
