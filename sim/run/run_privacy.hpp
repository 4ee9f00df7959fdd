#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/function_ref.hpp"
#include "core/secret_key.hpp"
#include "core/task.hpp"
#include "dp/ledger/ledger.hpp"
#include "dp/ledger/row_budget.hpp"
#include "dp/ledger/statement.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/participations.hpp"

namespace fedstride {

/// A client's own limit, independent of the experiment's budget.
struct PrivacyLimit {
  double epsilon = 0;
  double delta = 1e-5;
};

/// The secrets of a run or client that begins in `folder`: with secret randomness, a new key, so no draw of an earlier attempt is
/// repeated. Removes a ledger without reservations. Throws Error (failure) if the folder has a ledger with reservations.
std::optional<SecretKey> begin_secrets(const Setup& setup, const std::filesystem::path& folder);
/// The secrets of a run or client that continues: the existing key. Throws Error (failure) if it is missing; never creates one.
std::optional<SecretKey> secrets_of(const Setup& setup, const std::filesystem::path& folder);

class RunPrivacy;
/// Charges and makes the releases that precede the first round (moments of the inputs, private components), and poisons the
/// attackers' rows. `key`: as from begin_secrets. `between` is called when the schema is final.
void release_inputs(
    Setup& setup, RunPrivacy& privacy, const std::optional<SecretKey>& key, function_ref<void()> between = [] {});

/// Throws Error (usage), naming the smallest budget that does, unless the run's budgets pay for its first round.
void check_first_round(const Setup& setup);

/// The number of the run's rounds that its budgets allow to begin; all rounds without a budget. It is an estimate if cohorts are
/// random (a run continues until the client with the most steps left has none), if later steps cost less than earlier ones, or if
/// a private evaluation costs less than a step.
double rounds_within_budget(const Setup& setup);

/// The privacy of a run in progress: reserves each round's releases before it, records them after it, enforces the budgets and
/// reports the spending. Does nothing for a run without privacy.
class RunPrivacy {
 public:
  /// Creates a ledger in `folder`, which must not have one; with `mark`, continues the existing ledger. With `own`, the ledger
  /// belongs to a single client, which takes part in every round for which it is asked.
  RunPrivacy(const Setup& setup, const std::filesystem::path& folder, const std::optional<LedgerMark>& mark,
             const std::optional<SecretKey>& key, std::optional<ClientId> own = std::nullopt);

  /// Charges the releases made once before the first round: private components, moments of the inputs. If they are repeated when
  /// a run continues, they still count once. Call it after the first checkpoint, since a ledger with a reservation but no
  /// checkpoint is refused.
  void enter_once();

  /// The number of releases that each client may make in a round, or the reason why the run must end before it.
  struct Permission {
    std::string refusal = {};
    std::vector<std::uint64_t> releases = {};  ///< by client; empty without example-level privacy
  };
  /// Reserves the round in the ledger and syncs it to disk, before anything is released. `clip` is the round's bound, if it
  /// adapts; 0: the first round's bound.
  Permission reserve(std::uint32_t round, const std::string& model_hash, double clip = 0);
  /// From now on, reserve() and enter_once() also record what the rows were spent on, before anything is released, and refuse what
  /// would bring them beyond the limit, together with other runs in these records.
  void keep_budgets(std::vector<RowBudget> budgets, std::optional<PrivacyLimit> limit);
  /// Why the limit does not pay for the first round; empty if it does.
  std::string beyond_at_first();
  void record(std::uint32_t round, const std::vector<ClientReport>& reports);
  /// The ledger's contents for the last recorded round.
  const LedgerGroups& recorded() const { return recorded_; }

  /// The example-level spending of the client that has spent most.
  std::optional<SpentSoFar> example_spent() const;
  std::optional<SpentSoFar> client_spent() const;
  /// The privacy statements for the released model, one per level. Syncs the ledger to disk.
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
  /// Sets reserved_ to the round's releases, or returns a refusal.
  Permission permitted(std::uint32_t round, double clip);
  /// Why what the rows will have been spent on after these releases is beyond the limit. If it is not, and `records` is true,
  /// records it.
  std::string charge(std::uint32_t round, const LedgerGroups& groups, bool records);
  Classes classes(const SpendingTotals& before) const;
  /// A plan's numbers of releases before a round, in the round, and per step.
  struct Planned {
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t step;
  };
  Planned planned(const PrivatePlan& plan, std::uint32_t round) const;
  /// True if the round has an accounted evaluation; with_evaluation adds it to the spending.
  bool evaluates(std::uint32_t round) const;
  Spending with_evaluation(Spending spending, const LevelSetup& level, std::uint32_t round) const;
  /// Client level: 1 if the round is charged; 0 if its pass is already charged or, by a public schedule, no client's number of
  /// rounds exceeds the previous maximum.
  std::uint64_t charged_updates(std::uint32_t round) const;
  /// Client level: the spending after one more round.
  Spending after_update(const SpendingTotals& before, std::uint32_t round) const;
  /// The number of planned releases that the budget covers; 0 if they do not suffice for a step.
  std::uint64_t allowed(const Class& alike, std::uint32_t round) const;
  /// reserve_update and reserve_lots add to reserved_; reserve_update returns the reason for a refusal, or nothing.
  std::string reserve_update(const SpendingTotals& before, std::uint32_t round, double clip);
  Permission reserve_lots(const SpendingTotals& before, std::uint32_t round, double clip);
  void add_noisy(LedgerGroups& groups, Quantity quantity, double noise_multiplier, std::uint64_t first) const;

  const Setup& setup_;
  std::optional<ClientId> own_;
  std::string identity_;
  std::optional<Ledger> ledger_;
  std::vector<RowBudget> budgets_;
  std::optional<PrivacyLimit> limit_;
  LedgerGroups reserved_, recorded_;
  std::unique_ptr<Participations> participations_;  ///< for a buffered run's ledger; null: clients are charged by round
};

}  // namespace fedstride
