#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/gradient.hpp"
#include "core/task.hpp"
#include "secagg/rehearsal.hpp"
#include "server/secure_rules.hpp"

namespace fedstride {

/// Returns `why` without a leading "round N: ".
std::string without_round(std::string why, std::uint32_t round);

/// The sum, modulo 2^bits, of one round's updates, none of which is visible. The sum is masked if the rules require it. The
/// numbers of RoundTotals are additional components of the vector.
class SecureSum {
 public:
  /// For vectors of `size` numbers from this cohort, which trains the model. Pieces are clients.
  SecureSum(const SecureRules& rules, std::uint32_t round, std::span<const ClientId> cohort, std::size_t size,
            const Vector& model, ForEachPiece for_each_piece);

  /// Without roles: for one client's own part, or for a sum masked by clients in other processes, which put() sets.
  SecureSum(const SecureRules& rules, std::uint32_t round, std::size_t size);

  const SecureRules& rules() const { return rules_; }
  std::size_t length() const;  ///< length of the vectors that are summed
  const secagg::Ring& ring() const { return ring_; }
  /// Sets the sum to `sum`, which adds up the vectors of this many clients.
  void put(secagg::Ring sum, std::size_t clients) {
    ring_ = std::move(sum);
    clients_ = clients;
  }
  /// Ends the round without a sum.
  void end(const std::string& why);

  /// Why the round has ended without a sum, for example because too few clients are left. Empty if it has not.
  const std::string& ended() const { return ended_; }
  /// Why this update cannot enter the sum; empty if it can.
  std::string objection(ClientId client, std::span<const float> change) const;
  /// Adds a client's part; `square` is its weighted_square. Callable from any thread.
  void add(std::span<const float> change, std::uint64_t weight, const ClientReport& report, double square = 0);
  /// Adds the sum and its weight to `sum` and returns the totals; if the round has ended without a sum, adds and reveals nothing.
  RoundTotals finish(ExactSum& sum, ForEachPiece for_each_piece);

 private:
  void add_share(std::span<const float> change, ClientId client);
  secagg::Leaves leaves(ClientId client) const;
  void enough(const std::vector<secagg::Leaves>& clients, secagg::Leaves stage, const char* did) const;

  const SecureRules& rules_;
  std::uint32_t round_;
  std::size_t size_;
  std::unique_ptr<secagg::Rehearsal> rehearsal_;  ///< null: no masks
  std::mutex mutex_;
  std::string ended_;
  secagg::Ring ring_;        ///< the sum if there are no masks
  std::size_t clients_ = 0;  ///< number of clients passed to put()
  secagg::Plan plan_;
  std::vector<secagg::Leaves> when_;   ///< when the cohort's clients leave
  std::vector<secagg::Leaves> added_;  ///< the same for clients whose updates have arrived, without masks
};

}  // namespace fedstride
