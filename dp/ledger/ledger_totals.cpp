#include "dp/ledger/ledger_totals.hpp"

#include <unordered_map>

namespace fedstride {

SpendingTotals::SpendingTotals(std::uint32_t clients) : histories_(1), history_of_(clients, 0) {
  histories_[0].clients = clients;
}

void SpendingTotals::add(const LedgerGroup& group) {
  const Spending spent = exposure(group.runs, group.like());
  const Spending papers = as_in_papers(group.runs, group.like());
  const auto charge = [&](History& history) {
    merge(history.spent, spent);
    merge(history.papers, papers);
  };
  if (group.level == Level::client) return charge(updates_);
  if (group.clients.empty()) {
    for (History& history : histories_) charge(history);
    return;
  }
  std::unordered_map<std::uint32_t, std::uint32_t> touched;  // history -> clients of the group
  for (const ClientId client : group.clients) ++touched[history_of_[client]];
  std::unordered_map<std::uint32_t, std::uint32_t> moved;  // history -> the one that part of it moves to
  for (const auto& [history, clients] : touched) {
    std::uint32_t charged = history;
    if (clients < histories_[history].clients) {
      charged = static_cast<std::uint32_t>(histories_.size());
      histories_.push_back(histories_[history]);
      histories_[charged].clients = clients;
      histories_[history].clients -= clients;
      moved.emplace(history, charged);
    }
    charge(histories_[charged]);
  }
  if (moved.empty()) return;
  for (const ClientId client : group.clients)
    if (const auto found = moved.find(history_of_[client]); found != moved.end()) history_of_[client] = found->second;
}

}  // namespace fedstride
