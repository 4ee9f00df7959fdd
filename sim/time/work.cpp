#include "sim/time/work.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/elementary.hpp"

namespace fedstride {

double example_flops(const Model& model) {
  double products = 0;
  for (const Parameter& parameter : model.parameters()) {
    if (!model.has_layers() || (parameter.role != ParameterRole::weight && parameter.role != ParameterRole::second_weight))
      continue;
    const Shape out = model.shapes()[static_cast<std::size_t>(parameter.layer) + 1];
    products += static_cast<double>(parameter.size) * out.height * out.width;
  }
  constexpr int kBackwardToForward = 2;
  return 2 * products * (1 + kBackwardToForward);
}

Nanoseconds TimeTerms::length(ClientId client, std::uint32_t count) const {
  const Device its = device(client);
  double seconds = examples(client, count) * its.example_seconds;
  if (const double deviation = devices->jitter(); deviation > 0) {
    RandomStream random(seed, {.purpose = Purpose::device_jitter, .round = count, .client = client});
    seconds *= portable::exp(deviation * random.normal());
  }
  if (its.download > 0) seconds += static_cast<double>(traffic.down) / its.download;
  if (its.upload > 0) seconds += static_cast<double>(traffic.up) / its.upload;
  return nanoseconds(seconds + 2 * its.latency, "a task of client " + std::to_string(client));
}

Nanoseconds TimeTerms::next_there(ClientId client, Nanoseconds time) const {
  for (int changes = 0; changes < 3 && time != kNever; ++changes) {
    const Presence presence = availability->at(client, time, seed);
    if (presence.is_there) return time;
    time = presence.until;
  }
  return time;
}

}  // namespace fedstride
