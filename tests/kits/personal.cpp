#include "tests/kits/conformance.hpp"

#include <cmath>

#include "tests/kits/promises.hpp"

namespace fedstride {
namespace {

bool has_valid_personal_settings(const Personal& personal) { return has_valid_settings(personal.part()); }

bool counts_from_zero(const Personal& personal) {
  return personal->epochs() >= 0 && personal->local_first() >= 0 && personal->pull() >= 0 && std::isfinite(personal->pull());
}

bool keeps_its_own_alone(const Personal& personal) { return !personal->keeps() || personal->makes(); }

bool pulls_in_a_second_pass(const Personal& personal) { return personal->pull() == 0 || personal->epochs() > 0; }

bool divides_epochs_by_layers(const Personal& personal) { return personal->local_first() == 0 || !personal->layers().empty(); }

constexpr Promise<Personal> kPersonalPromises[] = {
    {"every setting has a name of its own and a valid value", has_valid_personal_settings},
    {"its epochs and its pull are numbers from 0", counts_from_zero},
    {"nothing is kept where a client has nothing of its own", keeps_its_own_alone},
    {"it pulls in a second pass alone", pulls_in_a_second_pass},
    {"it divides the epochs only where layers are the client's own", divides_epochs_by_layers},
};

}  // namespace

std::vector<std::string> complaints(const Personal& personal) { return broken_promises<Personal>(personal, kPersonalPromises); }

}  // namespace fedstride
