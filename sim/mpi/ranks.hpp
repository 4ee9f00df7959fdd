#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/function_ref.hpp"

namespace fedstride {

/// A short asynchronous message between rank 0 and another rank.
struct Note {
  std::uint64_t subject = 0;  ///< the request to which it belongs
  std::uint64_t value = 0;
};

/// The processes started together by mpirun or srun, or a group of them. No other file of the project uses MPI; in a build
/// without it, join() throws. Only the thread that joined may use this class (MPI_THREAD_FUNNELED). Except for notes, every
/// function must be called by all ranks of the group in the same order. Waiting ranks sleep, to leave the processor to
/// computing ranks. The processes trust each other.
class Ranks {
 public:
  /// Returns the group of all processes. Throws Error (usage) in a process that was not started by a launcher, or in a build
  /// without MPI. Destroying this group finalizes MPI, so all other groups must be destroyed before it.
  static std::unique_ptr<Ranks> join();
  ~Ranks();
  Ranks& operator=(Ranks&&) = delete;

  int rank() const;
  int size() const;
  /// Returns a name such as "rank 2 (node17)", with the rank's number among all processes.
  std::string name(int rank) const;

  /// Returns the group of the ranks that pass the same number, in their current order.
  std::unique_ptr<Ranks> split(int number);

  /// Sets how rank 0 waits for the others: after `patience` seconds, and every minute after that, it prints to standard error
  /// which ranks it is waiting for and which of them have stopped sending notes. If *stop is true and a rank does not answer for
  /// kMaxStopSeconds, the job ends. Groups split off later inherit these settings.
  void watch(const std::atomic<bool>* stop, double patience);
  static constexpr double kMaxStopSeconds = 1.2;

  /// Copies rank 0's bytes to every rank. A message of more than `most` bytes ends the job.
  void broadcast(std::string& bytes, std::uint64_t most);
  /// Copies rank 0's numbers to every rank; all ranks must pass spans of the same size.
  void broadcast(std::span<float> numbers);

  /// On rank `root`, returns every rank's bytes, indexed by rank; elsewhere, returns nothing. A rank with more than `most` bytes
  /// ends the job. `root` calls meanwhile() repeatedly until all have arrived.
  std::vector<std::string> gather(const std::string& bytes, std::uint64_t most, function_ref<void()> meanwhile = nothing,
                                  int root = 0);
  static void nothing() {}

  /// Sums all ranks' integers into rank 0's; the other ranks' integers are unchanged. The sum is exact, so it does not depend
  /// on the order of additions. All ranks should be ready, since waiting starts with a spin loop.
  void sum(std::span<__int128> integers);

  /// Sends a note without waiting.
  void send(int to, const Note& note);
  /// Returns the next note that has arrived, with its sender; empty if there is none.
  std::optional<std::pair<int, Note>> next_note();

  /// Runs `work` on another thread; calls `meanwhile` on this thread every few milliseconds. Rethrows what `work` throws.
  static void compute(function_ref<void()> work, function_ref<void()> meanwhile);

  /// Prints "fedstride: rank 2 (node17): message" to standard error and ends all processes of the job.
  [[noreturn]] void abort(const std::string& message) const;

 private:
  struct Group;
  explicit Ranks(std::unique_ptr<Group> group);
  std::unique_ptr<Group> group_;
};

}  // namespace fedstride
