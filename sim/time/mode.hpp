#pragma once

#include <memory>
#include <tuple>

#include "core/part.hpp"
#include "core/setting.hpp"

namespace fedstride {

class EventSchedule;
class TimedRun;
struct TimeTerms;

/// Determines when the server makes versions, and from which updates.
class ModePart : public Part {
 public:
  static PartFamily& family();  ///< sim/time/modes.cpp has the list

  /// Begins a run in virtual time. The terms must outlive the run. Throws Error (usage) if there are too few clients.
  virtual std::unique_ptr<TimedRun> begin(const TimeTerms& terms) const = 0;

  /// True if clients start and end independently; a round of the run is then one version of the server's model.
  bool is_asynchronous() const { return buffer() > 0; }
  virtual int buffer() const { return 0; }  ///< maximum number of updates in a version; 0: the mode has rounds
  /// The events of an asynchronous run; null for other modes. The terms must outlive them. Throws like begin.
  virtual std::unique_ptr<EventSchedule> schedule(const TimeTerms& terms) const;
  virtual int concurrency() const { return 0; }           ///< clients at work at once; 0: no such setting
  virtual double over_selection() const { return 1; }     ///< clients asked per client that a round needs
  virtual int tiers() const { return 0; }                 ///< number of tiers of clients by speed; 0: none
  virtual bool asks_for_losses() const { return false; }  ///< whether the mode needs clients' losses (CohortQuestion::losses)
};
using Mode = Chosen<ModePart>;

/// The settings of modes with tiers.
struct TieredSettings {
  int tiers_ = 5;
  static constexpr auto kFields = std::tuple{Field{
      "tiers", &TieredSettings::tiers_, "number of equally large tiers of clients, by task time", Valid{.low = 1, .high = 1000}}};
};

}  // namespace fedstride
