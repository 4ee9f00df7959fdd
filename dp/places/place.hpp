#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dp/draws/draw.hpp"

namespace fedstride {

/// Who adds the noise that protects clients: everything that rules, rounds, accountants, ledger and statements need to know. A
/// place is a final class with kName, kSummary and an entry in the list (dp/places/places.hpp).
class NoisePlace {
 public:
  virtual ~NoisePlace() = default;

  /// True if the coordinator sees the updates, adds the noise to their sum, and is trusted with both. Only then is a cohort
  /// hidden from adversaries, so sampling amplifies, and only then can the coordinator be trusted with noise on other values and
  /// with measurements.
  virtual bool is_trusted() const { return false; }
  /// False if each update carries all of the noise: the update is then a release by itself, which anyone may read.
  virtual bool is_central() const { return true; }
  /// True if clients add shares of a law on integers (dp/laws/), which are in the sum before the coordinator sees it.
  virtual bool has_shares() const { return false; }
  /// True if the noise is drawn on the integers that are summed, which have no other grid.
  virtual bool is_on_integers() const { return false; }
  /// True if noise can be correlated between rounds.
  virtual bool correlates() const { return false; }

  /// The only neighbor relation with a bound, if there is just one.
  virtual std::optional<Neighbours> neighbours() const { return std::nullopt; }
  /// Why an absent client moves the sum by more than its update, so that add-remove has no bound; empty if it does not.
  virtual std::string mover() const { return {}; }
  /// The assumptions that a statement makes about who adds the noise; a statement on shares adds more.
  virtual std::vector<std::string> assumptions() const { return {}; }
};

/// A place where the trusted coordinator adds the noise.
class TrustedPlace : public NoisePlace {
 public:
  bool is_trusted() const final { return true; }
  std::vector<std::string> assumptions() const override {
    return {"the coordinator adds the noise; it sees the updates and is trusted with them"};
  }
};

}  // namespace fedstride
