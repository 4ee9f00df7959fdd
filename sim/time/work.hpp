#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nn/model.hpp"
#include "sim/net/frame_bytes.hpp"
#include "sim/time/availability.hpp"
#include "sim/time/clock.hpp"
#include "sim/time/devices.hpp"

namespace fedstride {

/// Floating-point operations to train on one example: two for each multiply-add of the forward pass, and twice as many in the
/// backward pass. Counts only products with weights; 0 for a model without layers.
double example_flops(const Model& model);

/// Everything that decides when tasks end: public facts and the configuration, never rows, updates or threads.
struct TimeTerms {
  Devices devices = {};
  Availability availability = {};
  Nanoseconds deadline = kNever;  ///< for a round, or for an asynchronous task
  std::uint64_t seed = 0;
  std::size_t clients = 0;
  std::uint64_t separation = 1;  ///< minimum distance in versions between two updates of the same client
  std::size_t cohort_goal = 0;   ///< updates at which a synchronous round closes; 0: the whole cohort
  double flops = 0;              ///< example_flops
  TransferBytes traffic = {};
  /// planned_examples of a client's task; `count` numbers the client's tasks from 1.
  std::function<double(ClientId client, std::uint32_t count)> examples = {};

  Device device(ClientId client) const { return devices->device({client, seed, flops}); }
  /// The time that a task takes while its client is available. Throws Error if it exceeds the limit of nanoseconds().
  Nanoseconds length(ClientId client, std::uint32_t count) const;
  /// The first instant at or after `time` at which the client is available; kNever if there is none.
  Nanoseconds next_there(ClientId client, Nanoseconds time) const;
  bool is_there(ClientId client, Nanoseconds time) const {
    return availability->is_always() || availability->at(client, time, seed).is_there;
  }
  TaskEnd end(ClientId client, std::uint32_t count, Nanoseconds start) const {
    return end_of_task(*availability, client, start, length(client, count), later(start, deadline), seed);
  }
};

/// Describes how fast a run's clients are, from at most 100,000 evenly spaced clients: percentiles of the seconds per example,
/// transfer and task, and the distribution of task times as text bars.
std::string devices_text(const TimeTerms& terms);
/// The same percentiles, and the bytes of a client's transfers, as JSON.
std::string devices_json(const TimeTerms& terms);

}  // namespace fedstride
