#include "sim/time/modes/fedasync.hpp"
#include "sim/time/modes/fedbuff.hpp"
#include "sim/time/modes/sync.hpp"

namespace fedstride {

std::unique_ptr<EventSchedule> ModePart::schedule(const TimeTerms& /*terms*/) const { return nullptr; }

PartFamily& ModePart::family() {
  static PartFamily family = [] {
    PartFamily all("mode", "when the server makes a version of the model, and from which updates", Question::federation);
    add_parts<ModePart, Synchronous, FedAsync, FedBuff>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride
