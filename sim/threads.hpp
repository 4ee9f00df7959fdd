#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/function_ref.hpp"
#include "core/gradient.hpp"

namespace fedstride {

/// The threads of this process: one oneTBB arena; no other file uses oneTBB. All arithmetic done through it runs in the
/// same floating-point mode (core/floating_point.hpp).
class Threads {
 public:
  /// `count` threads, the caller's included; 0 means one for each processor this process may use.
  explicit Threads(int count);
  ~Threads();

  int count() const { return count_; }

  /// Runs task(0) ... task(count - 1), each on one thread, in any order; returns when all are done. Tasks may call
  /// for_each_piece. An exception of a task is rethrown here after the others have ended.
  void for_each_task(std::size_t count, function_ref<void(std::size_t)> task);

  /// Runs the pieces of one task with the help of idle threads. While the calling thread waits it takes pieces of its own
  /// task only, never another task, since its workspace is in use.
  void for_each_piece(int count, function_ref<void(int)> piece);

  /// The number of pieces that ran on a thread other than their task's own.
  std::uint64_t pieces_helped() const { return helped_.load(std::memory_order_relaxed); }

 private:
  struct Arena;
  int count_;
  std::unique_ptr<Arena> arena_;
  std::atomic<std::uint64_t> helped_{0};
};

}  // namespace fedstride
