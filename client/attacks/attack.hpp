#pragma once

#include <cstdint>
#include <span>

#include "core/part.hpp"
#include "core/random.hpp"
#include "core/vector.hpp"
#include "data/dataset.hpp"

namespace fedstride {

/// Facts about a round that attackers know.
struct AttackRound {
  std::uint64_t seed = 0;
  std::uint32_t round = 0;
  double clients = 0;    ///< mean number of clients per round
  double attackers = 0;  ///< mean number of attackers among them
};

/// A simulated attack on a federation, to test what an aggregation can withstand. All attackers in a run act alike.
class AttackPart : public Part {
 public:
  static PartFamily& family();  ///< client/attacks/attacks.cpp has the list

  virtual double attackers() const { return 0; }  ///< below 1: their share of all clients; 1 or more: their number; 0: none

  /// True if attackers train on poisoned data; poison() changes one attacker's examples in place.
  virtual bool poisons() const { return false; }
  virtual void poison(Dataset& /*data*/, std::span<const Row> /*rows*/, std::uint64_t /*seed*/) const {}
  /// Throws Error (usage) if the attack is impossible on this data set.
  virtual void check_data(const Dataset& /*data*/) const {}

  /// True if each attacker changes its own update before sending it; falsify() does so in place.
  virtual bool falsifies() const { return false; }
  virtual void falsify(const AttackRound& /*round*/, std::uint32_t /*client*/, std::span<float> /*change*/) const {}

  /// True if attackers collude: conspire() reads a round's honest updates (at least one) and fills `out`, initially 0, the update
  /// that all attackers send.
  virtual bool conspires() const { return false; }
  virtual void conspire(const AttackRound& /*round*/, std::span<const std::span<const float>> /*honest*/,
                        std::size_t /*attackers*/, std::span<float> /*out*/) const {}

  /// True if the attack wants images with its trigger, added by trigger(), to be classified as target().
  virtual bool has_backdoor() const { return false; }
  virtual void trigger(Dataset& /*data*/, Row /*row*/) const {}
  virtual Label target() const { return 0; }
};

/// The setting shared by all attacks: the number of attackers.
struct Attackers {
  double share = 0.2;
  static constexpr auto kFields =
      fields(Field{"attackers", &Attackers::share, "attackers: below 1, their share of all clients; 1 or more, their number",
                   Valid{.low = 0, .high = 1e7, .low_included = false}});
};

/// The base of the attack Self, whose Settings derive from Attackers.
template <class Self, class Settings = Attackers>
struct AttackBase : PartBase<AttackPart, Self, Settings> {
  using PartBase<AttackPart, Self, Settings>::PartBase;
  double attackers() const final { return this->share; }
};

/// The attack chosen for a run; none by default.
using Attack = Chosen<AttackPart>;

}  // namespace fedstride
