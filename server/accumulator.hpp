#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/attacks/attack_plan.hpp"
#include "core/exact_sum.hpp"
#include "core/gradient.hpp"
#include "core/task.hpp"
#include "dp/noise/client_release.hpp"
#include "dp/noise/correlated_noise.hpp"
#include "server/secure_rules.hpp"
#include "server/update_store.hpp"

namespace fedstride {

/// The bound on the norm of every client's update. Longer updates are left out or scaled down to the bound.
struct UpdateBound {
  UpdateClip clip;
  bool leaves_out = true;
};

/// The rules for the sum of a round's updates: weights, clipping, noise, and access to single updates.
struct SumRules {
  std::vector<std::uint64_t> weights = {};  ///< weight of each client's update, from the coordinator's roster
  double denominator = 0;                   ///< divisor of the weighted sum; 0: the sum of the weights received
  std::optional<UpdateBound> bound = {};    ///< empty if `release` clips
  std::optional<CentralRelease> release = {};
  /// True if the coordinator adds noise to every sum, even to a sum of no updates.
  bool adds_noise() const { return release && !release->noise.by_clients; }
  std::size_t measured = 0;  ///< numbers of an update that change the model; 0: all, or ClientReport::change_norm is not needed
  std::uint64_t plain_bytes = 0;                  ///< bytes of an uncompressed update on a network
  std::optional<SecureRules> secure = {};         ///< set if single updates must stay hidden
  std::uint64_t memory = std::uint64_t{2} << 30;  ///< bytes of memory for individually kept updates; the rest go to a file
};

/// The squared norm (after scaling down) of a client's change in a round's sum, times the client's weight. The exact total of
/// these values, divided by the total weight, is the round's mean square. No release covers it: use it only if clients are not
/// protected.
double weighted_square(const SumRules& rules, const ClientReport& report);
/// The round's mean square: the weighted mean of the squared norms; 0 if there are no changes.
double mean_square_norm(const SumRules& rules, std::span<const ClientReport> reports);

/// The weighted sum of a round's changes, as the server may read it; under client-level privacy, it includes noise.
class ReleasedSum {
 public:
  /// The sum divided by SumRules::denominator: the mean change of each parameter, and 0 for frozen parameters under
  /// client-level privacy. Empty if no update was admitted and no noise is added.
  std::optional<Vector> mean() const;

 private:
  friend class Accumulator;
  ReleasedSum(ExactSum sum, const SumRules& rules) : sum_(std::move(sum)), rules_(rules) {}

  ExactSum sum_;
  const SumRules& rules_;
};

/// A round's individual changes, in order of clients. Available only without client-level privacy, or if every client has added
/// the noise itself.
class OpenUpdates {
 public:
  struct Update {
    ClientId client = 0;
    std::uint64_t weight = 0;
    std::span<const float> change;
  };
  std::span<const Update> all() const& { return updates_; }
  std::span<const Update> all() && = delete;
  std::shared_ptr<const void> memory() const { return store_; }  ///< keeps the changes alive

 private:
  friend class Accumulator;
  OpenUpdates(std::vector<Update> updates, std::shared_ptr<UpdateStore> store)
      : updates_(std::move(updates)), store_(std::move(store)) {}

  std::vector<Update> updates_;
  std::shared_ptr<UpdateStore> store_;  ///< owns the changes
};

/// The contents of one part of an accumulator, exchanged between processes that trust each other (sim/mpi/). Under client-level
/// privacy these sums are clipped but have no noise.
struct PartOfSum {
  struct Update {
    ClientId client = 0;
    std::uint64_t weight = 0;
    Vector change;
  };
  ExactSum sum{0};
  std::vector<Update> updates = {};
  std::vector<ClientReport> reports = {};
};

/// Throws Error (usage) if the rules forbid access to single updates; `who` names what needs them, for example "attack 'alie'".
void require_open_updates(std::string_view who, const SumRules& rules);

class SecureSum;

/// Collects the updates of one round's cohort: each is checked, clipped if client-level privacy requires it, weighted
/// and added exactly. Reading the contents ends the accumulator; release() adds the noise. The updates may be spread
/// over any number of accumulators that are merged later; the result is the same bit for bit.
class Accumulator {
 public:
  /// The form in which changes are kept: their sum, in O(model) memory, or every update, in O(clients x model).
  enum class Keeps : std::uint8_t { sum, updates };

  /// For the updates of `cohort`, each of `size` numbers, in this round. `expected` is the pooled_reference sent to the clients,
  /// for CentralRelease::beside. `bound`, unless 0, replaces the bound of CentralRelease::clip and scales the release's noise.
  /// The rules must outlive the accumulator and its results. Throws Error (failure) if updates must be kept although the rules
  /// forbid reading them (see check_aggregation), or if a client is not in the roster.
  Accumulator(const SumRules& rules, std::uint32_t round, std::span<const ClientId> cohort, std::size_t size,
              Keeps keeps = Keeps::sum, double expected = 0, double bound = 0);

  /// Under SumRules::secure, agrees on keys with the cohort, which trains this model, unless the roles run `elsewhere`
  /// (Fleet::secures). Call before the first add(). Pieces are clients.
  void secure(const Vector& model, bool elsewhere = false, ForEachPiece for_each_piece = serially);
  /// Under CentralRelease::correlation, sets the noise of all rounds, which release() advances by one step; null: the noise of
  /// rounds is independent. The noise must outlive the accumulator.
  void correlate(CorrelatedNoise* noise) { noise_ = noise; }
  /// The sum under masks; null if updates are not secured.
  SecureSum* secured() const { return secure_.get(); }
  /// Adds the report of a client that has failed or whose update is in a sum masked elsewhere.
  void add_report(const ClientReport& report);

  /// Adds an update; callable from any thread. An update is left out if its report has a failure, or if it is not finite,
  /// outside the exact sum's range or too long; its report then says so. Returns one line if the update was left out or scaled
  /// down to SumRules::bound, otherwise an empty string. Throws Error (failure) if the client is not in the cohort or has been
  /// added before (two updates of one client would move the sum by twice the clip bound), or if the update has the wrong size.
  /// `scale` is Task::scale: a public factor, at most 1, applied after clipping.
  std::string add(const ClientUpdate& update, double scale = 1);

  /// An empty accumulator for the same round, to be filled by a thread or a part of the fleet and then merged into this one.
  /// It cannot be released: a round's noise has one address, so the noise would cancel in the difference of two releases.
  std::unique_ptr<Accumulator> fresh_part() const;

  /// Adds a whole part. Merging the same part again is refused, like a second update from a client.
  void merge(const Accumulator& part);

  /// Ends a part and returns its contents. Throws Error (failure) for a whole accumulator, which can only be released or
  /// opened.
  PartOfSum hand_over() &&;
  /// Adds the contents of another process's part. Here too, a second update from a client is refused.
  void merge(const PartOfSum& part);

  /// Under SumRules::secure, after the last add(): removes the masks from the sum. If too few clients are left, nothing is
  /// revealed, the sum has no updates, and all reports say so. Returns nothing if updates are not secured.
  std::optional<RoundTotals> unmask(ForEachPiece for_each_piece = serially);

  Keeps keeps() const { return keeps_; }
  /// The bound given for this round; 0 if the rules' bound applies.
  double bound() const { return clip_ ? clip_->bound() : 0; }

  /// The reports of all updates so far, including those left out, in order of clients.
  std::vector<ClientReport> reports() const;

  /// Replaces the updates of simulated attackers that see what honest clients send. Throws Error (failure) unless this is a
  /// whole accumulator that keeps updates; its sum can still be released afterwards.
  void conspire(const AttackPlan& plan);

  /// Ends the accumulator and returns the sum; under client-level privacy, first adds noise drawn at the round's address. This is
  /// where the updates' privacy is spent.
  ReleasedSum release() &&;
  /// Ends the accumulator and returns the admitted updates with their weights, without privacy clipping.
  OpenUpdates open() &&;

 private:
  enum class Stage : std::uint8_t { part, whole, ended };
  Accumulator(const Accumulator& whole, Stage stage);
  void require(bool good, const char* what) const;
  void require(bool good, ClientId client, const char* what) const;
  /// One update on its way into the sum.
  struct Arrival {
    ClientReport report;
    std::span<const float> change;     ///< as it enters the sum
    std::string remark = {};           ///< why it is left out or scaled down
    bool is_admitted = false;          ///< within the exact sum's range
    const UpdateClip* clip = nullptr;  ///< the bound that applies to it; null: none
    Vector room = {};                  ///< holds `change` if it is not the client's own
  };
  // The stages of add(): measure norms and length, decide whether it is left out, clip and scale, and add.
  Arrival measured(const ClientUpdate& update) const;
  void judge(Arrival& arrival) const;
  void shorten(Arrival& arrival, double scale) const;
  std::string take(Arrival arrival);
  void end(Keeps as);
  void take_over(const ExactSum& sum, std::span<const ClientReport> reports);

  const SumRules& rules_;
  std::uint32_t round_;
  std::size_t size_;
  Keeps keeps_;
  double expected_;
  std::optional<UpdateClip> clip_;  ///< this round's clip, if it replaces the rules' clip
  std::vector<bool> cohort_;        ///< true for the clients of this round
  mutable std::mutex mutex_;        ///< guards the members below
  Stage stage_ = Stage::whole;
  std::vector<bool> added_;  ///< by client
  ExactSum sum_;
  CorrelatedNoise* noise_ = nullptr;
  std::shared_ptr<SecureSum> secure_;   ///< null: not requested, or unmasked
  std::shared_ptr<UpdateStore> store_;  ///< shared by the whole and its parts
  std::vector<OpenUpdates::Update> updates_;
  bool conspired_ = false;  ///< attackers have seen the updates, which can still be released as a sum, or opened
  std::vector<ClientReport> reports_;
};

}  // namespace fedstride
