#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/function_ref.hpp"
#include "core/gradient.hpp"

namespace fedstride {

/// Threads of this process: one oneTBB arena; no other file uses oneTBB. All arithmetic on them runs in the same floating-point
/// mode (core/floating_point.hpp).
class Threads {
 public:
  /// `count` threads, including the caller's; 0 means one per processor that this process may use.
  explicit Threads(int count);
  ~Threads();

  int count() const { return count_; }

  /// Runs task(0) ... task(count - 1), each on one thread, in any order; returns when all are done. Tasks may call
  /// for_each_piece(). If a task throws, the exception is rethrown here after all other tasks have ended.
  void for_each_task(std::size_t count, function_ref<void(std::size_t)> task);

  /// Runs the pieces of one task with the help of idle threads. While waiting, the calling thread runs only pieces of its own
  /// task, never another task, since the thread's workspace is in use.
  void for_each_piece(int count, function_ref<void(int)> piece);
  /// The same as for_each_piece(); makes Threads usable as a ForEachPiece.
  void operator()(int count, function_ref<void(int)> piece) { for_each_piece(count, piece); }

  /// Runs a single task; the other threads help with its pieces.
  void run(function_ref<void()> task) {
    for_each_task(1, [&](std::size_t) { task(); });
  }

  /// Returns the number of pieces that ran on a thread other than their task's.
  std::uint64_t pieces_helped() const { return helped_.load(std::memory_order_relaxed); }

 private:
  struct Arena;
  int count_;
  std::unique_ptr<Arena> arena_;
  std::atomic<std::uint64_t> helped_{0};
};

}  // namespace fedstride
