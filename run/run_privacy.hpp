#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "dp/ledger/ledger.hpp"
#include "dp/ledger/statement.hpp"
#include "run/setup.hpp"

namespace fedstride {

/// An epsilon at a delta; what a line of rounds.jsonl says of a level.
struct SpentSoFar {
  double epsilon = 0;
  double delta = 0;
};

/// The privacy of one run while it goes on: reserves before a round, records after it, keeps to the budgets, and says what
/// has been spent. Of a run without privacy it does nothing.
class RunPrivacy {
 public:
  /// A new ledger in `folder`, or with `mark` that of the run that goes on. Charges private components first.
  /// With `own`, the ledger of that client alone, which takes part in every round it is asked for.
  RunPrivacy(const Setup& setup, const std::filesystem::path& folder, const std::optional<LedgerMark>& mark,
             const std::optional<SecretKey>& key, std::optional<ClientId> own = std::nullopt);

  /// What the clients may release in a round, or why the run must end before it.
  struct Permission {
    std::string refusal = {};
    std::vector<std::uint64_t> releases = {};  ///< by client; empty without example-level privacy
  };
  /// Reserves it in the ledger, synced, before anything is released.
  Permission reserve(std::uint32_t round, const std::string& model_hash);
  void record(std::uint32_t round, const std::vector<ClientReport>& reports);

  /// Example level: of the client that has spent most.
  std::optional<SpentSoFar> example_spent() const;
  std::optional<SpentSoFar> client_spent() const;
  /// Of the released model, one a level; everything that is in the ledger is on the disk afterwards.
  std::vector<PrivacyStatement> statements();
  LedgerMark mark() const { return ledger_ ? ledger_->mark() : LedgerMark{}; }

 private:
  /// Clients that have spent alike and draw their lots alike.
  struct Class {
    const PrivatePlan* plan;
    const Spending* spent;
  };
  struct Classes {
    std::vector<Class> all;
    std::vector<std::size_t> of;  ///< by client
  };
  static constexpr std::size_t kNoClass = SIZE_MAX;
  void enter_components();
  Classes classes(const SpendingTotals& before) const;
  std::uint64_t within_budget(const Class& alike, std::uint64_t first, std::uint64_t planned) const;

  const Setup& setup_;
  std::optional<ClientId> own_;
  std::string identity_;
  std::optional<Ledger> ledger_;
  LedgerGroups reserved_;
};

}  // namespace fedstride
