// Tests hold the kind of an error and the keys, values and names in it, never its wording, which editors may change.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace fedstride::test {

/// True if the message is one line in which each part stands as a word of its own: "1" is not in "10", nor "clip" in "client-clip".
/// A part that begins or ends with a space, a quote or another mark brings its own border. Parts are keys, values, names and numbers.
template <class Parts = std::initializer_list<std::string_view>>
bool names(std::string_view message, const Parts& parts) {
  if (message.ends_with('\n')) message.remove_suffix(1);
  if (message.empty() || message.find('\n') != message.npos) return false;
  const auto inner = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_';
  };
  return std::ranges::all_of(parts, [&](std::string_view part) {
    for (std::size_t at = message.find(part); at != message.npos; at = message.find(part, at + 1)) {
      const std::size_t end = at + part.size();
      const bool begins = at == 0 || !inner(message[at - 1]) || !inner(part.front());
      const bool ends = end == message.size() || !inner(message[end]) || !inner(part.back());
      if (begins && ends) return true;
    }
    return false;
  });
}

/// The message of the Error of this kind that the action throws; empty if it throws none, or one of another kind. What is refused for
/// good, busy or temporary is a failure, too.
template <class Action>
std::string error_of_kind(Error::Kind kind, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    const bool is_failure = error.kind() != Error::Kind::usage;
    return error.kind() == kind || (is_failure && kind == Error::Kind::failure) ? error.what() : "";
  }
  return "";
}

}  // namespace fedstride::test

#define FEDSTRIDE_CHECK_ERROR(kind, expression, ...)                                                           \
  do {                                                                                                         \
    const std::string thrown = ::fedstride::test::error_of_kind(kind, [&] { static_cast<void>(expression); }); \
    CHECK_MESSAGE(::fedstride::test::names(thrown, {__VA_ARGS__}), #expression ": '", thrown, "'");            \
  } while (false)

/// CHECK_USAGE_ERROR(resolve(settings), "clients", "0"): the expression throws Error (usage), whose one line names these.
#define CHECK_USAGE_ERROR(expression, ...) FEDSTRIDE_CHECK_ERROR(::fedstride::Error::Kind::usage, expression, __VA_ARGS__)
/// The same of Error (failure).
#define CHECK_FAILURE(expression, ...) FEDSTRIDE_CHECK_ERROR(::fedstride::Error::Kind::failure, expression, __VA_ARGS__)
