#include "sim/settings/leave_out.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

template <class Number>
bool is_read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<ClientId> LeaveOut::asked(const std::vector<ClientId>& cohort, std::uint32_t round) const {
  std::vector<ClientId> asked = cohort;
  std::erase_if(asked, [&](ClientId client) { return has(client, round); });
  return asked;
}

std::string LeaveOut::text() const {
  std::string text;
  for (const Client& one : clients)
    text += (text.empty() ? "" : ",") + std::to_string(one.client) + (one.from > 1 ? "@" + std::to_string(one.from) : "");
  return text;
}

LeaveOut LeaveOut::read(std::string_view text) {
  LeaveOut left;
  if (trimmed(text).empty()) return left;
  const auto refuse = [&](const std::string& why) { throw usage_error("leave-out is '" + std::string(text) + "'; " + why); };
  for (const std::string_view word : split(text, ',')) {
    const auto parts = split(trimmed(word), '@');
    Client one;
    if (parts.size() > 2 || !is_read(parts[0], one.client) ||
        (parts.size() == 2 && (!is_read(parts[1], one.from) || one.from < 1)))
      refuse("it must list clients' numbers, each with the first round without it unless that is the first, such as '3,7@11'");
    if (std::ranges::find(left.clients, one.client, &Client::client) != left.clients.end())
      refuse("client " + std::to_string(one.client) + " occurs twice");
    left.clients.push_back(one);
  }
  return left;
}

}  // namespace fedstride
