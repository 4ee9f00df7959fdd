#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "core/error.hpp"
#include "sim/parties/turns.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::turns_test {

using namespace std::chrono_literals;

TEST_CASE("at most as many processes compute at once as there are places, and all get their turn") {
  const test::TemporaryFolder folder;
  Turns::make(folder / "turns", 2);
  std::atomic<int> inside{0}, most{0}, passed{0};
  {
    std::vector<std::jthread> clients;
    for (int client = 0; client < 5; ++client)
      clients.emplace_back([&] {
        Turns turns(folder / "turns");
        turns.begin();
        for (int step = 0; step < 3; ++step) {
          most = std::max<int>(most, ++inside);
          std::this_thread::sleep_for(110ms);  // longer than a turn
          --inside;
          turns.pass();
        }
        turns.end();
        ++passed;
      });
  }
  CHECK(passed == 5);
  CHECK(most == 2);
}

TEST_CASE("the place of a process that has ended is free, and without a folder nothing waits") {
  const test::TemporaryFolder folder;
  Turns::make(folder / "turns", 1);
  {
    Turns gone(folder / "turns");
    gone.begin();
  }
  Turns next(folder / "turns");
  next.begin();  // would wait for ever
  Turns free("");
  free.begin();
  free.pass();
  CHECK_THROWS_AS(Turns(folder / "elsewhere"), Error);
}

}  // namespace fedstride::test::turns_test
