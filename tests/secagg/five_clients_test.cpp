// Drop-outs of five clients, and of six if asked.
#include <cstdlib>

#include "tests/secagg/rehearsals.hpp"

namespace fedstride::test::five_clients_test {

using namespace rehearsals;

// All 7776, and the 46656 of six clients, if FEDSTRIDE_TEST_ALL is set.
TEST_CASE("every drop-out of five clients of whom enough are left before every message, and a part of the others") {
  const bool all = std::getenv("FEDSTRIDE_TEST_ALL") != nullptr;
  for (unsigned clients = 5; clients <= (all ? 6U : 5U); ++clients) {
    const Session session = session_of(clients, choose_plan({clients, 2, 0}));
    const unsigned patterns = clients == 5 ? 7776 : 46656;
    unsigned completed = 0;
    for (unsigned pattern = 0; pattern < patterns; ++pattern) {
      std::vector<Leaves> leaves;
      for (unsigned rest = pattern; leaves.size() < clients; rest /= 6) leaves.push_back(static_cast<Leaves>(rest % 6));
      const auto gone = std::ranges::count_if(leaves, [](Leaves one) { return one != Leaves::never; });
      if (all || gone <= 2 || pattern % 16 == 5) completed += carry_out(session, leaves) ? 1 : 0;
    }
    CHECK(completed == (clients == 5 ? 1 + 5 * 5 + 10 * 25 : 1 + 6 * 5 + 15 * 25));
  }
}

}  // namespace fedstride::test::five_clients_test
