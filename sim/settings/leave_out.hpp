#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/task.hpp"

namespace fedstride {

/// Clients that are drawn into cohorts but not asked, as in "3,7@11": client 3 never, client 7 from round 11 on. Everything else
/// stays as with them: partition, numbers, cohorts, draws.
struct LeaveOut {
  struct Client {
    ClientId client = 0;
    std::uint32_t from = 1;  ///< the first round without it
    bool operator==(const Client&) const = default;
  };
  std::vector<Client> clients = {};

  bool is_set() const { return !clients.empty(); }
  bool has(ClientId client, std::uint32_t round) const {
    for (const Client& one : clients)
      if (one.client == client) return round >= one.from;
    return false;
  }
  /// The same, without the clients that it leaves out in this round.
  std::vector<ClientId> asked(const std::vector<ClientId>& cohort, std::uint32_t round) const;
  bool operator==(const LeaveOut&) const = default;
  std::string text() const;
  /// Throws Error (usage) for other texts, and for a client that occurs twice.
  static LeaveOut read(std::string_view text);
};

}  // namespace fedstride
