#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "core/choice.hpp"
#include "core/error.hpp"
#include "core/task.hpp"
#include "core/text.hpp"

namespace fedstride {

/// How many failed clients a round tolerates: some, all, or none.
enum class AcceptFailures : std::uint8_t { some, all, none };
constexpr auto choice_names(AcceptFailures) { return names("some", "all", "none"); }

/// Thrown if more of a round's clients failed than are accepted.
class FailedRound : public Error {
 public:
  explicit FailedRound(const std::string& text) : Error(Kind::failure, text) {}
};

/// Returns "5 of 5 clients failed in round 1; client 0: its training diverged" if these reports have more failures than accepted,
/// otherwise an empty string. A round without reports has no failures.
inline std::string failure_text(AcceptFailures accepted, std::uint32_t round, std::span<const ClientReport> reports) {
  const auto has_failed = [](const ClientReport& report) { return !report.failure.empty(); };
  const auto first = std::ranges::find_if(reports, has_failed);
  const auto count = static_cast<std::size_t>(std::ranges::count_if(reports, has_failed));
  const bool is_accepted =
      accepted == AcceptFailures::all || count == 0 || (accepted == AcceptFailures::some && count < reports.size());
  if (is_accepted) return {};
  return std::to_string(count) + " of " + counted(reports.size(), "client") + " failed in round " + std::to_string(round) +
         "; client " + std::to_string(first->client) + ": " + first->failure;
}

}  // namespace fedstride
