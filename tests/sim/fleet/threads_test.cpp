#include "sim/fleet/threads.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace fedstride::test::threads_test {

TEST_CASE("every task and every piece runs exactly once, whatever the number of threads") {
  for (const int count : {1, 2, 8}) {
    Threads threads(count);
    CHECK(threads.count() == count);
    std::vector<std::atomic<int>> tasks(13);
    std::vector<std::atomic<int>> pieces(13 * 7);
    threads.for_each_task(tasks.size(), [&](std::size_t task) {
      ++tasks[task];
      threads.for_each_piece(7, [&](int piece) { ++pieces[task * 7 + static_cast<std::size_t>(piece)]; });
    });
    for (const auto& ran : tasks) CHECK(ran == 1);
    for (const auto& ran : pieces) CHECK(ran == 1);
  }
}

TEST_CASE("a thread that waits for its pieces never starts another task") {
  Threads threads(4);
  thread_local int depth = 0;
  std::atomic<int> deepest{0};
  threads.for_each_task(64, [&](std::size_t) {
    ++depth;
    int seen = deepest.load();
    while (depth > seen && !deepest.compare_exchange_weak(seen, depth)) {
    }
    threads.for_each_piece(16, [](int) { std::this_thread::sleep_for(std::chrono::microseconds(50)); });
    --depth;
  });
  CHECK(deepest == 1);
}

TEST_CASE("idle threads help with the pieces of the last task, and are counted") {
  Threads threads(2);
  threads.for_each_task(1, [&](std::size_t) {
    // The first time, where a processor is free for the other thread; else half a minute of trying.
    for (int repetition = 0; repetition < 2000 && threads.pieces_helped() == 0; ++repetition)
      threads.for_each_piece(8, [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
  });
  CHECK(threads.pieces_helped() > 0);
  Threads alone(1);
  alone.for_each_task(1, [&](std::size_t) { alone.for_each_piece(8, [](int) {}); });
  CHECK(alone.pieces_helped() == 0);
}

TEST_CASE("an exception in a task is rethrown") {
  for (const int count : {1, 3}) {
    Threads threads(count);
    CHECK_THROWS_AS(threads.for_each_task(5,
                                          [&](std::size_t task) {
                                            if (task == 3) throw std::runtime_error("no");
                                          }),
                    std::runtime_error);
  }
}

}  // namespace fedstride::test::threads_test
