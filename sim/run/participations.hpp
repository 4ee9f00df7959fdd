#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/prepare/setup.hpp"
#include "sim/time/schedule.hpp"

namespace fedstride {

/// Counts how often clients take part in the versions of a buffered run. Follows the schedule, which is made before the run from
/// public facts alone (TimeTerms). Clients that fail are counted too, since the schedule cannot know of failures.
class Participations {
 public:
  /// The setup must outlive this object.
  explicit Participations(const Setup& setup);

  /// The largest number of versions, up to this one, in which any one client takes part. Throws Error (failure) if clients will
  /// never be available.
  std::uint64_t most(std::uint32_t version);
  /// The clients in a version, ascending.
  const std::vector<ClientId>& clients(std::uint32_t version);

 private:
  TimeTerms terms_;
  std::unique_ptr<EventSchedule> schedule_;
  std::vector<std::uint32_t> of_client_;
  std::vector<std::uint64_t> most_ = {0};              // by version
  std::vector<std::vector<ClientId>> clients_ = {{}};  // by version
};

/// Throws Error (usage), naming a valid value, if the minimum separation would leave a version of a buffered run short of
/// clients.
void check_separation(const Setup& setup);

/// True if clients are charged for the versions they take part in: the coordinator's ledger of a buffered run at client level.
bool counts_participations(const Setup& setup);

}  // namespace fedstride
