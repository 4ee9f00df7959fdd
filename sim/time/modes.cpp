#include "sim/time/modes/fedasync.hpp"
#include "sim/time/modes/fedat.hpp"
#include "sim/time/modes/fedbuff.hpp"
#include "sim/time/modes/sync.hpp"
#include "sim/time/modes/tifl.hpp"

namespace fedstride {

std::unique_ptr<EventSchedule> ModePart::schedule(const TimeTerms& /*terms*/) const { return nullptr; }

PartFamily& ModePart::family() {
  static PartFamily family = [] {
    PartFamily all("mode", "when the server makes a version of the model, and from which updates", Question::federation);
    add_parts<ModePart, Synchronous, Tiered, FedAsync, FedBuff, FedAt>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride
