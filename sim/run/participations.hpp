#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/prepare/setup.hpp"
#include "sim/time/schedule.hpp"

namespace fedstride {

/// How often clients take part in the versions of a buffered run: a function of the schedule, which is made before the run from
/// public facts alone (TimeTerms). A client's failures count too, since the schedule cannot know them.
class Participations {
 public:
  /// The setup must outlive it.
  explicit Participations(const Setup& setup);

  /// The largest number of versions, up to this one, with the same client. Throws Error (failure) if clients will never be
  /// available.
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

/// Throws Error (usage) that names a valid value if a minimum separation would leave a version of a buffered run without clients.
void check_separation(const Setup& setup);

/// True if clients are charged for the versions they take part in: the coordinator's ledger of a buffered run at client level.
bool counts_participations(const Setup& setup);

}  // namespace fedstride
