#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <vector>

namespace fedstride {

/// The most numbers that a server tells its clients besides the model.
inline constexpr std::size_t kMaxTold = 8;

/// The server's side of a local optimiser that adapts with the whole federation: it takes a statistic of all clients' steps, and
/// tells them what it makes of it.
class PooledStatistic {
 public:
  virtual ~PooledStatistic() = default;
  /// At most kMaxTold numbers for every client of that round.
  virtual std::vector<double> tell(std::uint32_t round) const = 0;
  /// Takes the sum of a round's statistics, of `count` steps of all clients.
  virtual void take(double sum, std::uint64_t count) = 0;
  /// Cereal's portable binary form. load throws if the bytes are not in this form.
  virtual void save(std::ostream& bytes) const = 0;
  virtual void load(std::istream& bytes) = 0;
};

/// The course of a run, as known at its beginning.
struct PoolPlan {
  double start_norm = 0;       ///< of the first weights
  double steps_a_round = 0;    ///< of a client, on average
  double clients_a_round = 0;  ///< on average
  std::uint32_t rounds = 0;    ///< in which it adapts
};

}  // namespace fedstride
