#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/secret_key.hpp"
#include "core/task.hpp"
#include "dp/ledger/ledger.hpp"
#include "dp/ledger/statement.hpp"
#include "run/setup.hpp"

namespace fedstride {

/// An epsilon at a delta, one level's entry in a line of rounds.jsonl.
struct SpentSoFar {
  double epsilon = 0;
  double delta = 0;
};

/// A client's own limit, whatever the experiment's budget is.
struct PrivacyLimit {
  double epsilon = 0;
  double delta = 1e-5;
};

/// The secrets of a run, or of one client, that begins in `folder`: with secret randomness a new key, so that nothing of an
/// earlier beginning is drawn again. Removes a ledger in which nothing was reserved. Throws Error (failure) if the folder has a
/// ledger in which something was.
std::optional<SecretKey> begin_secrets(const Setup& setup, const std::filesystem::path& folder);
/// The same for one that continues: the key that is there. Throws Error (failure) if it is missing, and makes none.
std::optional<SecretKey> secrets_of(const Setup& setup, const std::filesystem::path& folder);

/// The privacy of one run in progress: reserves before a round, records after it, enforces the budgets, and reports the
/// spending. Does nothing for a run without privacy.
class RunPrivacy {
 public:
  /// Makes a ledger in `folder`, which must have none, or with `mark` continues the run's ledger. With `own`, the ledger of
  /// that client alone, which takes part in every round it is asked for.
  RunPrivacy(const Setup& setup, const std::filesystem::path& folder, const std::optional<LedgerMark>& mark,
             const std::optional<SecretKey>& key, std::optional<ClientId> own = std::nullopt);

  /// Charges what is released once, before the first round: private components, moments of the inputs. Entered again when a run
  /// continues, it counts once. After the first checkpoint: a ledger with a reservation and no checkpoint is refused.
  void enter_once();

  /// The number of releases each client may make in a round, or the reason why the run must end before it.
  struct Permission {
    std::string refusal = {};
    std::vector<std::uint64_t> releases = {};  ///< by client; empty without example-level privacy
  };
  /// Reserves the round in the ledger, synced, before anything is released.
  Permission reserve(std::uint32_t round, const std::string& model_hash);
  /// For the ledger of one client: the reason why it must not make `releases` more noisy releases in this round, since the
  /// ledger would then pass the limit at a level that the experiment protects; empty if it may. Nothing is reserved.
  std::string beyond(const PrivacyLimit& limit, std::uint32_t round, std::uint64_t releases) const;
  void record(std::uint32_t round, const std::vector<ClientReport>& reports);

  /// The spending at example level, of the client that has spent most.
  std::optional<SpentSoFar> example_spent() const;
  std::optional<SpentSoFar> client_spent() const;
  /// The statements on the released model, one a level; the whole ledger is on the disk afterwards.
  std::vector<PrivacyStatement> statements();
  LedgerMark mark() const { return ledger_ ? ledger_->mark() : LedgerMark{}; }

 private:
  /// Clients with equal spending and equal lots.
  struct Class {
    const PrivatePlan* plan;
    const Spending* spent;
  };
  struct Classes {
    std::vector<Class> all;
    std::vector<std::size_t> of;  ///< by client
  };
  static constexpr std::size_t kNoClass = SIZE_MAX;
  std::vector<ClientId> charged_clients(std::uint32_t round) const;
  Classes classes(const SpendingTotals& before) const;
  bool evaluates(std::uint32_t round) const;
  bool covers_evaluation(const Class& alike) const;
  std::uint64_t within_budget(const Class& alike, std::uint64_t first, std::uint64_t planned, bool evaluates) const;
  void add_noisy(LedgerGroups& groups, Quantity quantity, double noise_multiplier, std::uint64_t first) const;

  const Setup& setup_;
  std::optional<ClientId> own_;
  std::string identity_;
  std::optional<Ledger> ledger_;
  LedgerGroups reserved_;
};

}  // namespace fedstride
