#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/time/schedule.hpp"

namespace fedstride {

/// The events of FedAT (Chai et al. 2021). Each tier of clients of like speed has rounds of its own, one after the other: tier-cohort
/// of its clients that are there, drawn uniformly, begin at once, and the round ends when the last of them has. A round with at least
/// one update makes a version, and the tier's next round begins from it.
class TierSchedule final : public EventSchedule {
 public:
  /// The terms must outlive it.
  explicit TierSchedule(const TimeTerms& terms);

  Version next() override;
  std::string save() const override;
  void load(const std::string& bytes) override;

 private:
  std::vector<Nanoseconds> ends() const;  // of the tiers' rounds; kNever without one
  void start(std::size_t tier);
  Nanoseconds earliest_start(std::size_t tier) const;
  template <class Archive>
  void exchange(Archive& archive) {
    archive(now_, version_, begun_, rounds_, flights_, counts_);
  }

  const TimeTerms& terms_;
  std::vector<std::uint16_t> tier_;             // by client
  std::vector<std::vector<ClientId>> members_;  // by tier
  Nanoseconds now_ = 0;
  std::uint64_t begun_ = 0;            // tasks so far
  std::vector<std::uint32_t> rounds_;  // begun, by tier
  std::map<ClientId, std::uint32_t> counts_ = {};
};

}  // namespace fedstride
