#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/choice.hpp"
#include "core/random.hpp"
#include "core/task.hpp"
#include "core/text.hpp"

namespace fedstride {

/// The relation between neighboring data sets.
enum class Neighbours {
  add_remove,   ///< one record added or removed: the sum moves by at most the clip bound
  replace_one,  ///< one record replaced by any other: the sum moves by at most twice the clip bound
  zero_out,     ///< one record contributes zero, with all sizes public: the sum moves by at most the clip bound
};
constexpr auto choice_names(Neighbours) { return names("add-remove", "replace-one", "zero-out"); }

/// Upper bounds on the privacy curve of a record that is in one of `lots` equal releases in each of several passes.
class DrawCurve {
 public:
  static constexpr double kLeastMu = 1e-4;  ///< smallest sqrt(passes) / noise multiplier
  static constexpr double kMostMu = 10;

  virtual ~DrawCurve() = default;
  /// Upper bounds on the delta of each direction. Throw Error (usage) for epsilon < 0.
  virtual double delta_remove(double epsilon) const = 0;
  virtual double delta_add(double epsilon) const = 0;
  double delta(double epsilon) const { return std::max(delta_remove(epsilon), delta_add(epsilon)); }
  /// The smallest epsilon with delta(epsilon) <= delta, rounded up. Throws Error (usage) unless 0 < delta < 1.
  virtual double epsilon(double delta) const = 0;
};

/// What determines a client's lots in one round.
struct LotQuestion {
  const RandomSource& source;
  std::uint32_t round = 1;
  ClientId client = 0;
  std::span<const std::uint32_t> records = {};  ///< must outlive the lots
  double rate = 1;
  std::size_t lot = 1;      ///< records in a lot, if its size is fixed
  std::uint64_t first = 0;  ///< number of the round's first lot in the client's plan

  Address address(std::uint32_t step) const { return {Purpose::private_sampling, round, client, step}; }
};
/// Replaces `drawn` with the records of the round's lot number `step` (from 0); must be called in order of `step`. `epoch` is
/// counted within the round.
using Lots = std::function<void(int epoch, std::uint32_t step, std::vector<std::uint32_t>& drawn)>;

struct LotSize {
  double rate = 1;      ///< share of the records
  std::size_t lot = 1;  ///< records, if fixed
};

/// How the records of releases are drawn: everything that lots, accountants, ledger and statements need to know. A draw is a
/// final class with kName and an entry in the list (dp/draws/draws.hpp).
class Draw {
 public:
  virtual ~Draw() = default;

  /// The lot size for a client with this many records, given the requested size; a step reads up to `lots_per_step` lots.
  virtual LotSize fitted(LotSize wanted, std::size_t records, std::uint64_t /*lots_per_step*/) const {
    return {static_cast<double>(wanted.lot) / static_cast<double>(records), wanted.lot};
  }
  virtual Lots lots(const LotQuestion& question) const = 0;

  /// True if a record's draw does not depend on the others, so adding a record moves no other.
  virtual bool is_independent() const { return true; }
  /// The condition that a wrong rate violates, such as "it must be 1"; empty for a valid rate.
  virtual std::string wrong_rate(double /*rate*/) const { return {}; }
  /// The maximum number of releases, out of `count` consecutive releases within `epochs` epochs, that contain a given record, if
  /// a record is in at most one release per pass; 0 for draws without passes.
  virtual std::uint64_t passes(std::uint64_t /*count*/, int /*epochs*/, double /*rate*/) const { return 0; }
  bool has_passes() const { return passes(1, 1, 1) > 0; }

  /// False if no accountant has a bound under this neighbor relation.
  virtual bool has_bound(Neighbours) const { return true; }
  /// True if the rows of one record are drawn independently and an accountant has a bound for such records.
  virtual bool draws_rows() const { return false; }
  /// True if a larger rate never costs less.
  virtual bool grows_with_rate() const { return true; }
  /// True for draws with their own curve, which is slow to compute and valid only for equal releases.
  virtual bool has_curve() const { return false; }
  /// This draw's curve. A larger `coarseness` (at least 1) means a larger error and less time. Returns null if the draw has no
  /// curve. Throws Error (usage) for numbers out of range.
  virtual std::unique_ptr<const DrawCurve> curve(double /*noise_multiplier*/, std::uint64_t /*lots*/, std::uint64_t /*passes*/,
                                                 double /*coarseness*/) const {
    return nullptr;
  }

  /// A phrase for use in a sentence, such as "Poisson sampling at rate 0.1".
  virtual std::string text(double rate) const = 0;
  /// The assumption that a statement makes about lots of records (`record` is "each example", say) or about cohorts of clients;
  /// empty if there is none.
  virtual std::string assumption(std::string_view /*record*/, std::uint64_t /*passes*/) const { return {}; }
  virtual std::string cohort_assumption(std::uint64_t /*passes*/) const { return {}; }
};

}  // namespace fedstride
