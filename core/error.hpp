#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fedstride {

/// An invalid configuration, file or flag, or a request that failed. The one-line message states the value and what would be
/// valid. If nothing else catches the error, command_line() prints it and returns its exit code.
class Error : public std::runtime_error {
 public:
  enum class Kind { failure = 1, usage = 2, refused = 3, busy = 4, temporary = 5 };  ///< exit codes, as in kExitCodes

  /// A longer message is cut: a part of it may be text that a peer sent.
  static constexpr std::size_t kMostBytes = 4000;

  Error(Kind kind, const std::string& message) : std::runtime_error(cut(message)), kind_(kind) {}
  Kind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  static std::string cut(const std::string& message) {
    if (message.size() <= kMostBytes) return message;
    std::size_t end = kMostBytes - 3;
    while ((static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;  // within a character of UTF-8
    return message.substr(0, end) + "...";
  }

  Kind kind_;
};

/// What a program's exit code says to whoever may start it again.
struct ExitCode {
  int code;
  std::string_view text;
};
inline constexpr ExitCode kExitCodes[] = {
    {0, "done"},
    {1, "failed, and would probably fail again"},
    {2, "the command line or a setting is invalid"},
    {3,
     "refused for good: the same is refused until somebody acts, as with an expired or denied certificate, another build, the "
     "folder of another experiment, or a spent --max-epsilon"},
    {4, "busy: another process has the folder or the address; try again when it ends"},
    {5, "temporary: a full disk, no free descriptors, or a coordinator that is away; try again later"},
    {130, "stopped by a signal; what was finished is saved"},
};

/// An error for an invalid request: exit code 2.
inline Error usage_error(const std::string& message) { return {Error::Kind::usage, message}; }
/// An error for a request that could not be carried out: exit code 1.
inline Error failure(const std::string& message) { return {Error::Kind::failure, message}; }
/// Failures that tell whether to try again: never as things are, when another process has ended, or later.
inline Error refused_for_good(const std::string& message) { return {Error::Kind::refused, message}; }
inline Error busy(const std::string& message) { return {Error::Kind::busy, message}; }
inline Error temporary(const std::string& message) { return {Error::Kind::temporary, message}; }

}  // namespace fedstride
