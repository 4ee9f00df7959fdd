// Every place keeps the promises of NoisePlace.
#include "dp/noise/noise_place.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "dp/accountants/accountants.hpp"
#include "dp/ledger/statement.hpp"

namespace fedstride::test::noise_place_test {
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
  for (const NoisePlace& place : kNoisePlaces) {
    CAPTURE(place.name);
    CHECK_FALSE(place.summary.empty());
    CHECK(&place == &place_of(*find_choice<ClientNoiseBy>(place.name)));
    CHECK_FALSE((place.is_trusted && (place.has_shares || !place.is_central || place.neighbours || !place.mover.empty())));
    CHECK_FALSE((place.has_shares && (!place.is_central || !place.is_on_integers || place.mover.empty())));
    CHECK_FALSE((place.correlates && !place.is_trusted));
    // An update that is seen alone has an owner who cannot be absent.
    CHECK(place.is_central == (place.neighbours != Neighbours::replace_one));
    const auto list = assumptions_of(place.name);
    CHECK((place.assumption.empty() || count(list, place.assumption) == 1));
    CHECK(count(list, "is trusted") == (place.is_trusted ? 1 : 0));
    CHECK(count(list, "adds a share of the noise") == (place.has_shares ? 1 : 0));
    CHECK(count(list, "attacks that time the program") == 1);
    CHECK(count(list, "integers") == (place.is_on_integers ? 1 : 0));
  }
}

}  // namespace fedstride::test::noise_place_test
