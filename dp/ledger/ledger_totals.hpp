#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dp/accountants/spending.hpp"
#include "dp/ledger/ledger_entry.hpp"

namespace fedstride {

/// The spending of each client. Clients with the same history share it, so that a thousand equal clients cost as much as
/// one; adding a group costs time proportional to the number of its clients.
class SpendingTotals {
 public:
  explicit SpendingTotals(std::uint32_t clients);

  /// Adds a group: at example level to its clients, at client level to all clients.
  void add(const LedgerGroup& group);

  const Spending& examples(ClientId client) const { return histories_[history_of_[client]].spent; }
  /// The same with shuffled lots counted as Poisson-sampled ones.
  const Spending& examples_as_in_papers(ClientId client) const { return histories_[history_of_[client]].papers; }
  const Spending& updates() const { return updates_.spent; }

  /// Clients with the same history have the same number here, below histories().
  std::uint32_t history_of(ClientId client) const { return history_of_[client]; }
  std::uint32_t histories() const { return static_cast<std::uint32_t>(histories_.size()); }
  std::uint32_t clients() const { return static_cast<std::uint32_t>(history_of_.size()); }

 private:
  struct History {
    Spending spent;
    Spending papers;
    std::uint32_t clients = 0;
  };

  std::vector<History> histories_;
  std::vector<std::uint32_t> history_of_;
  History updates_;
};

}  // namespace fedstride
