#include "sim/fleet/threads.hpp"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <mutex>
#include <optional>
#include <thread>

#include "core/floating_point.hpp"
#include "core/processors.hpp"

#ifdef FEDSTRIDE_STATES_ORDER
extern "C" void __tsan_acquire(void* at);  // NOLINT: ThreadSanitizer's names
extern "C" void __tsan_release(void* at);  // NOLINT
#endif

namespace fedstride {
namespace {

/// In builds with ThreadSanitizer, states that tasks run within the life of this object; otherwise, nothing.
class TaskOrder {
 public:
  TaskOrder() { release(begun_); }
  ~TaskOrder() { acquire(ended_); }
  TaskOrder& operator=(TaskOrder&&) = delete;
  struct Task {
    TaskOrder& order;
    explicit Task(TaskOrder& of) : order(of) { acquire(order.begun_); }
    ~Task() { release(order.ended_); }
    Task& operator=(Task&&) = delete;
  };

 private:
#ifdef FEDSTRIDE_STATES_ORDER
  static void acquire(char& at) { __tsan_acquire(&at); }
  static void release(char& at) { __tsan_release(&at); }
#else
  static void acquire(char&) {}
  static void release(char&) {}
#endif
  char begun_ = 0, ended_ = 0;
};

// A limit on the number of oneTBB threads, summed over all arenas. With a separate limit for each arena, the smallest would apply
// to all, and concurrent runs would take each other's threads.
class Limit {
 public:
  void change(int workers) {
    const std::lock_guard lock(mutex_);
    workers_ += workers;
    limit_.reset();
    if (workers_ > 0) limit_.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers_ + 1));
  }

 private:
  std::mutex mutex_;
  int workers_ = 0;
  std::optional<tbb::global_control> limit_ = {};
};

Limit& limit() {
  static Limit all;
  return all;
}

}  // namespace

// An arena's slots do not create threads: without an explicit limit, oneTBB never starts more threads than there are processors.
struct Threads::Arena {
  int count;
  tbb::task_arena arena;
  explicit Arena(int threads) : count(threads), arena(threads) {
    limit().change(count - 1);
    arena.initialize();
  }
  ~Arena() { limit().change(1 - count); }
  Arena& operator=(Arena&&) = delete;
};

Threads::Threads(int count) : count_(count > 0 ? count : usable_processors()), arena_(std::make_unique<Arena>(count_)) {}

Threads::~Threads() = default;

void Threads::for_each_task(std::size_t count, function_ref<void(std::size_t)> task) {
  TaskOrder order;
  const auto run = [&](const tbb::blocked_range<std::size_t>& range) {
    const TaskOrder::Task ordered(order);
    const FloatingPointMode mode;
    for (std::size_t i = range.begin(); i != range.end(); ++i) task(i);
  };
  if (count_ == 1) return run({0, count});
  arena_->arena.execute([&] { tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, 1), run, tbb::simple_partitioner()); });
}

void Threads::for_each_piece(int count, function_ref<void(int)> piece) {
  if (count == 1 || count_ == 1) return serially(count, piece);
  const auto owner = std::this_thread::get_id();
  TaskOrder order;
  const auto run = [&](const tbb::blocked_range<int>& range) {
    const TaskOrder::Task ordered(order);
    const FloatingPointMode mode;
    for (int i = range.begin(); i != range.end(); ++i) piece(i);
    if (std::this_thread::get_id() != owner)
      helped_.fetch_add(static_cast<std::uint64_t>(range.size()), std::memory_order_relaxed);
  };
  tbb::this_task_arena::isolate([&] { tbb::parallel_for(tbb::blocked_range<int>(0, count, 1), run, tbb::simple_partitioner()); });
}

}  // namespace fedstride
