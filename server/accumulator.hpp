#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attacks/attack_plan.hpp"
#include "core/exact_sum.hpp"
#include "core/task.hpp"
#include "dp/noise/client_release.hpp"
#include "server/update_store.hpp"

namespace fedstride {

/// The bound on every client's update: a longer one is left out, or scaled down to it.
struct UpdateBound {
  UpdateClip clip;
  bool leaves_out = true;
};

/// The rules for the sum of a round's updates: weights, clipping, noise, and access to single updates.
struct SumRules {
  std::vector<std::uint64_t> weights = {};  ///< of each client's update, from the coordinator's own roster
  double denominator = 0;                   ///< divides the weighted sum; 0: the sum of the weights received
  std::optional<UpdateBound> bound = {};    ///< none where `release` clips
  std::optional<CentralRelease> release = {};
  std::uint64_t memory = std::uint64_t{2} << 30;  ///< bytes, for updates that are kept one by one; those beyond are in a file
};

/// The weighted mean of the squared norms of the updates that are in a round's sum, scaled down as they were; 0 if there are none.
/// In order of the reports. No release covers it: it may only be used where clients are not protected.
double mean_square_norm(const SumRules& rules, std::span<const ClientReport> reports);

/// The weighted sum of a round's changes in the form that may be read: under client-level privacy with its noise.
class ReleasedSum {
 public:
  /// The sum divided by SumRules::denominator: the mean change of each parameter, zero on frozen ones under client-level
  /// privacy. Empty if the round gives no information: no update was admitted and no noise was released.
  std::optional<Vector> mean() const;

 private:
  friend class Accumulator;
  ReleasedSum(ExactSum sum, const SumRules& rules) : sum_(std::move(sum)), rules_(rules) {}

  ExactSum sum_;
  const SumRules& rules_;
};

/// A round's changes one by one, in order of clients. Only without client-level privacy, or if every client has added its
/// own noise.
class OpenUpdates {
 public:
  struct Update {
    ClientId client = 0;
    std::uint64_t weight = 0;
    std::span<const float> change;
  };
  std::span<const Update> all() const& { return updates_; }
  std::span<const Update> all() && = delete;
  std::shared_ptr<const void> memory() const { return store_; }  ///< the changes are there as long as somebody has this

 private:
  friend class Accumulator;
  OpenUpdates(std::vector<Update> updates, std::shared_ptr<UpdateStore> store)
      : updates_(std::move(updates)), store_(std::move(store)) {}

  std::vector<Update> updates_;
  std::shared_ptr<UpdateStore> store_;  ///< has the changes
};

/// Everything that a part of an accumulator held: a fleet of several processes that trust each other sends it from one to
/// another (mpi/). Under client-level privacy these sums are clipped and have no noise.
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

/// Throws Error (usage) if these rules forbid access to single updates; `who` names the part that asks: "attack 'alie'".
void require_open_updates(std::string_view who, const SumRules& rules);

/// Takes the updates of one round's cohort: each is checked, clipped if client-level privacy requires it, weighed
/// and added exactly. Its contents can only be read by ending it, and release() adds the noise. The updates may be spread
/// over any number of accumulators that are merged: the result is the same, bit for bit.
class Accumulator {
 public:
  /// The form in which changes are kept: their sum, O(model) memory, or every update, O(clients x model).
  enum class Keeps : std::uint8_t { sum, updates };

  /// For the updates of `cohort` to a model of `size` parameters in this round. The rules must outlive it and its results.
  /// Throws Error (failure) if it must keep updates that the rules forbid to read: call check_aggregation first.
  Accumulator(const SumRules& rules, std::uint32_t round, std::span<const ClientId> cohort, std::size_t size,
              Keeps keeps = Keeps::sum);

  /// Adds an update, from any thread. One whose report has a failure is left out, and so is its change; one that is not finite, out of the exact sum's range or too long is left out and its
  /// report says so. Returns one line if it was left out or scaled down to SumRules::bound; empty if neither. Throws Error (failure) for a client that was not asked or has been added before (two of its updates would
  /// move the sum by twice the clip bound), or for an update of another size.
  std::string add(const ClientUpdate& update);

  /// An empty accumulator for the same round, for a thread or a part of the fleet to fill; then it is merged into this one.
  /// It cannot be released: all of a round's noise has one address, so it would cancel in the difference of two releases.
  std::unique_ptr<Accumulator> fresh_part() const;

  /// Adds everything a part holds. The part may be dropped then; merging it again is refused, like a client's second update.
  void merge(const Accumulator& part);

  /// Ends a part and returns what it held. Throws Error (failure) for the whole, which can only be released or opened.
  PartOfSum hand_over() &&;
  /// Adds what parts of other processes held. Each client's update counts once here too.
  void merge(const PartOfSum& part);

  Keeps keeps() const { return keeps_; }

  /// The reports of all updates so far, those left out included, in order of clients.
  std::vector<ClientReport> reports() const;

  /// Simulated attackers that see what honest clients send replace their own updates. Only for a whole that keeps updates; its
  /// sum can be released then.
  void conspire(const AttackPlan& plan);

  /// Ends it and returns the sum, under client-level privacy with noise from the round's own address. Updates spend their
  /// privacy here.
  ReleasedSum release() &&;
  /// Ends it and returns the admitted updates, weighed and not clipped.
  OpenUpdates open() &&;

 private:
  enum class Stage : std::uint8_t { part, whole, ended };
  Accumulator(const Accumulator& whole, Stage stage);
  void require(bool good, const char* what) const;
  void end(Keeps as);
  void take_over(const ExactSum& sum, std::span<const ClientReport> reports);

  const SumRules& rules_;
  std::uint32_t round_;
  std::size_t size_;
  Keeps keeps_;
  std::vector<bool> cohort_;  ///< by client
  mutable std::mutex mutex_;  ///< guards the members below
  Stage stage_ = Stage::whole;
  std::vector<bool> added_;  ///< by client
  ExactSum sum_;
  std::shared_ptr<UpdateStore> store_;  ///< that of the whole is its parts' too
  std::vector<OpenUpdates::Update> updates_;
  bool conspired_ = false;  ///< attackers have seen the updates, which are then released as their sum or opened
  std::vector<ClientReport> reports_;
};

}  // namespace fedstride
