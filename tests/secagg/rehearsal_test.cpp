// The masked sum is the sum in the clear, bit for bit, whoever drops out before whichever message; or one line and nothing else.
// Takes 10 s of processor time: every pattern of drop-outs, with real cryptography.
#include <atomic>
#include <future>

#include "core/random.hpp"
#include "tests/secagg/rehearsals.hpp"

namespace fedstride::test::rehearsal_test {

using namespace rehearsals;

TEST_CASE("every drop-out of three and four clients before every message") {
  for (const unsigned clients : {3U, 4U}) {
    const Session session = session_of(clients, choose_plan({clients, 1, 0}));
    const unsigned patterns = clients == 3 ? 216 : 1296;
    unsigned completed = 0;
    for (unsigned pattern = 0; pattern < patterns; ++pattern) {
      std::vector<Leaves> leaves;
      for (unsigned rest = pattern; leaves.size() < clients; rest /= 6) leaves.push_back(static_cast<Leaves>(rest % 6));
      completed += carry_out(session, leaves) ? 1 : 0;
    }
    CHECK(completed == (clients == 3 ? 1 + 3 * 5 : 1 + 4 * 5));
  }
}

TEST_CASE("every set of five clients that drops out before the same message") {
  const Session session = session_of(5, choose_plan({5, 2, 0}));
  for (const Leaves stage :
       {Leaves::before_keys, Leaves::before_shares, Leaves::before_input, Leaves::before_signature, Leaves::before_unmasking}) {
    unsigned completed = 0;
    for (unsigned set = 0; set < 32; ++set) {
      std::vector<Leaves> leaves(5, Leaves::never);
      for (unsigned i = 0; i < 5; ++i)
        if ((set >> i & 1) != 0) leaves[i] = stage;
      completed += carry_out(session, leaves) ? 1 : 0;
    }
    CHECK(completed == 1 + 5 + 10);
  }
}

TEST_CASE("a hundred clients with twenty neighbors, who drop out at random, in every ring") {
  const Plan plan = choose_plan({100, 9, 0}, 20);
  RandomStream random(3, {Purpose::test});
  const auto on_three_threads = [](int count, function_ref<void(int)> piece) {
    std::atomic<int> next = 0;
    std::vector<std::future<void>> threads;
    for (int thread = 0; thread < 3; ++thread)
      threads.push_back(std::async(std::launch::async, [&] {
        for (int i = next++; i < count; i = next++) piece(i);
      }));
    for (std::future<void>& thread : threads) thread.get();
  };
  for (const unsigned bits : {32U, 64U, 128U}) {
    const Session session = session_of(100, plan, 8, bits);
    std::vector<Leaves> leaves(100, Leaves::never);
    for (int dropout = 0; dropout < 9; ++dropout) leaves[random.below(100)] = static_cast<Leaves>(random.below(5));
    CHECK(carry_out(session, leaves));
    CHECK(carry_out(session, leaves, on_three_threads));
  }
}

}  // namespace fedstride::test::rehearsal_test
