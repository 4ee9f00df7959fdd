#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "core/floating_point.hpp"
#include "sim/mpi/ranks.hpp"

namespace fedstride {

void Ranks::compute(function_ref<void()> work, function_ref<void()> meanwhile) {
  constexpr std::chrono::milliseconds kBetween{5};
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
  std::exception_ptr thrown;
  std::jthread computing([&] {
    const FloatingPointMode mode;
    std::exception_ptr caught;
    try {
      work();
    } catch (...) {
      caught = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    thrown = caught;
    over = true;
    ended.notify_one();
  });
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, kBetween, [&] { return over; })) {
    lock.unlock();
    meanwhile();
    lock.lock();
  }
  lock.unlock();
  computing.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace fedstride
