#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/task.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {

/// How the updates of a round are weighed, and whether they are seen by nobody.
struct SumRules {
  std::vector<std::uint64_t> weights = {};  ///< of each client's update, from the coordinator's own roster
  double denominator = 0;                   ///< what the weighted sum is divided by; 0: by the weights that came
  std::optional<CentralRelease> release = {};
};

/// The weighted sum of a round's changes as it may be read: under client-level privacy with its noise in it.
class ReleasedSum {
 public:
  /// The sum divided by SumRules::denominator: the mean change of each parameter, zero on frozen ones under client-level
  /// privacy. Nothing if there is nothing to learn from the round: no update was admitted and no noise was released.
  std::optional<Vector> mean() const;

 private:
  friend class Accumulator;
  ReleasedSum(ExactSum sum, const SumRules& rules) : sum_(std::move(sum)), rules_(rules) {}

  ExactSum sum_;
  const SumRules& rules_;
};

/// A round's changes one by one, in order of clients. Without client-level privacy only, or where every client has added
/// noise of its own.
class OpenUpdates {
 public:
  struct Update {
    ClientId client = 0;
    std::uint64_t weight = 0;
    Vector change;
  };
  std::span<const Update> all() const& { return updates_; }
  std::span<const Update> all() && = delete;

 private:
  friend class Accumulator;
  explicit OpenUpdates(std::vector<Update> updates) : updates_(std::move(updates)) {}

  std::vector<Update> updates_;
};

/// Throws Error (usage) if nobody may see single updates under these rules; `who` wants to.
void require_open_updates(std::string_view who, const SumRules& rules);

/// Takes the updates of one round's cohort: each is judged for admission, clipped where client-level privacy asks for it,
/// weighed and added exactly. Nothing can be read but by ending it, and release() adds the noise on the way. However many
/// accumulators the updates are spread over and merged from, the result is the same, bit for bit.
class Accumulator {
 public:
  /// What becomes of the changes: O(model) memory, or O(clients x model).
  enum class Keeps : std::uint8_t { sum, updates };

  /// Of the updates that `cohort` makes of a model of `size` parameters in this round. The rules must outlive it and all
  /// that comes out of it. Throws Error (failure) where updates are to be kept that nobody may see: check_aggregation comes
  /// before.
  Accumulator(const SumRules& rules, std::uint32_t round, std::span<const ClientId> cohort, std::size_t size,
              Keeps keeps = Keeps::sum);

  /// From any thread. An update that is not finite, or out of the exact sum's range, is left out and named in its report.
  /// Throws Error (failure) for a client that was not asked or has been added before (two of its updates would move the sum
  /// by twice the clip bound), or for an update of another size.
  void add(const ClientUpdate& update);

  /// An empty one for the same round, to be filled elsewhere and merged into this one: by a thread, or by a part of the
  /// fleet. It cannot be released, since all of a round's noise has one address and would show in their difference.
  std::unique_ptr<Accumulator> fresh_part() const;

  /// Adds all that a part holds. The part may be dropped then; merged again it is refused as two updates of a client are.
  void merge(const Accumulator& part);

  /// Of all updates so far, those left out included, in order of clients.
  std::vector<ClientReport> reports() const;

  /// Ends it: the sum, under client-level privacy with noise from the round's own address. This is where updates spend it.
  ReleasedSum release() &&;
  /// Ends it: the updates that were admitted, weighed and not clipped.
  OpenUpdates open() &&;

 private:
  enum class Stage : std::uint8_t { part, whole, ended };
  Accumulator(const Accumulator& whole, Stage stage);
  void require(bool good, const char* what) const;
  void end(Keeps as);

  const SumRules& rules_;
  std::uint32_t round_;
  std::size_t size_;
  Keeps keeps_;
  std::vector<bool> cohort_;  ///< by client
  mutable std::mutex mutex_;  ///< of what follows
  Stage stage_ = Stage::whole;
  std::vector<bool> added_;  ///< by client
  ExactSum sum_;
  std::vector<OpenUpdates::Update> updates_;
  std::vector<ClientReport> reports_;
};

}  // namespace fedstride
