#pragma once

#include <memory>

#include "core/part.hpp"

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
  virtual int concurrency() const { return 0; }        ///< clients at work at once; 0: no such setting
  virtual double over_selection() const { return 1; }  ///< clients asked per client that a round needs
  virtual int minimum_arrivals() const { return 1; }   ///< fewer updates than this leave a round without effect
};
using Mode = Chosen<ModePart>;

}  // namespace fedstride
