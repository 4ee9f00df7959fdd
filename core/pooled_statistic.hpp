#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <vector>

#include "core/client_report.hpp"

namespace fedstride {

/// The maximum number of values that a server sends its clients in addition to the model.
inline constexpr std::size_t kMaxTold = 8;

/// The server's side of a local optimizer that adapts to the whole federation: it receives a statistic of all clients' steps and
/// sends them values computed from it.
class PooledStatistic {
 public:
  virtual ~PooledStatistic() = default;
  /// Returns at most kMaxTold numbers to send to every client in this round; the last one is pooled_reference().
  virtual std::vector<double> tell(std::uint32_t round) const = 0;
  /// Called once per round, with the sum of its clients' reports (sum_of).
  virtual void take(std::uint32_t round, const ClientReport& sums) = 0;
  /// Called when a run is extended to this many rounds.
  virtual void prolong(std::uint32_t /*rounds*/) {}
  /// Called at the start and after every round if the bound on examples' gradients follows counts: the bound of the next round.
  virtual void clip_lots(double /*clip*/) {}
  /// The numbers to report for this session's last round.
  virtual std::vector<NamedNumber> numbers() const { return {}; }
  /// The state in cereal's portable binary form. load throws if the bytes do not have this form.
  virtual void save(std::ostream& bytes) const = 0;
  virtual void load(std::istream& bytes) = 0;
};

/// The statistic that the server expects of a step, taken from the numbers it sent; 0: none. Under client-level privacy, a
/// client's mean is released as a fraction of twice this number.
inline double pooled_reference(std::span<const double> told) { return told.empty() ? 0 : told.back(); }

/// The noise added to a round's gradients, as known before it. Mean squares are of half the difference between two
/// gradients, over the steps of all clients.
struct KnownNoise {
  double noise = 0;       ///< mean square of the noise alone
  double gradients = 0;   ///< largest mean square added by clipped gradients
  double directions = 0;  ///< dimension of the noise
};

/// The known noise of a round whose lots are clipped to this bound; 0: to the planned one.
using LotNoise = std::function<KnownNoise(std::uint32_t round, double clip)>;

/// The plan of a run, as known at its start.
struct PoolPlan {
  double start_norm = 0;       ///< of the initial weights
  double steps_a_round = 0;    ///< per client, on average
  double clients_a_round = 0;  ///< on average
  std::uint32_t rounds = 0;    ///< in which the optimizer adapts
  LotNoise noise = {};         ///< empty: gradients have no noise
};

}  // namespace fedstride
