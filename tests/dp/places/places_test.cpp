// Every place of the list keeps the promises of dp/places/place.hpp.
#include "dp/places/places.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "dp/accountants/accountants.hpp"
#include "dp/ledger/statement.hpp"

namespace fedstride::test::places_test {
namespace {

std::vector<std::string> assumptions_of(std::string_view place) {
  const LedgerHeader header{.source = "secret",
                            .clients = 3,
                            .statements = {{.level = Level::client,
                                            .accountant = "rdp",
                                            .delta = 1e-5,
                                            .bound = 1,
                                            .noise_at = std::string(place),
                                            .survivors = 3}}};
  return make_statement(header, Level::client, "every client", {}, {}, Rdp{}).assumptions;
}

std::size_t count(const std::vector<std::string>& list, std::string_view words) {
  return static_cast<std::size_t>(
      std::ranges::count_if(list, [&](const std::string& text) { return text.find(words) != std::string::npos; }));
}

}  // namespace

TEST_CASE("every place is trusted, has shares, or neither; a statement says which") {
  for (const KnownName& known : known_in<PlaceList>()) {
    CAPTURE(known.name);
    CHECK_FALSE(known.summary.empty());
    const NoisePlace& place = place_of(*find_choice<ClientNoiseBy>(known.name));
    CHECK_FALSE(
        (place.is_trusted() && (place.has_shares() || !place.is_central() || place.neighbours() || !place.mover().empty())));
    CHECK_FALSE((place.has_shares() && (!place.is_central() || !place.is_on_integers() || place.mover().empty())));
    CHECK_FALSE((place.correlates() && !place.is_trusted()));
    // An update that is seen alone has an owner who cannot be absent.
    CHECK(place.is_central() == (place.neighbours() != Neighbours::replace_one));
    const auto list = assumptions_of(known.name);
    for (const std::string& text : place.assumptions()) CHECK(count(list, text) == 1);
    CHECK(count(list, "is trusted") == (place.is_trusted() ? 1 : 0));
    CHECK(count(list, "adds a share of the noise") == (place.has_shares() ? 1 : 0));
    CHECK(count(list, "attacks that time the program") == 1);
    CHECK(count(list, "integers") == (place.is_on_integers() ? 1 : 0));
  }
}

}  // namespace fedstride::test::places_test
