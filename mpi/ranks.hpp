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

/// A short message between rank 0 and another one that neither waits for.
struct Note {
  std::uint64_t subject = 0;  ///< the request it belongs to
  std::uint64_t value = 0;
};

/// The processes that mpirun or srun has started together, or a group of them; no other file of the project knows MPI, and
/// in a build without it join() refuses. One thread of each process uses this, the one that joined (MPI_THREAD_FUNNELED).
/// Every function but those of notes is called by all ranks of the group, in the same order. Who waits sleeps, so that the
/// processor is left to the ranks that compute. The processes trust each other.
class Ranks {
 public:
  /// The group of all processes. Throws Error (usage) in a process that was started alone, or a build without MPI. The last
  /// group to go ends MPI, so every other one must have gone before.
  static std::unique_ptr<Ranks> join();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const;
  int size() const;
  /// "rank 2 (node17)": by its number among all processes.
  std::string name(int rank) const;
  /// The number of ranks of this group on this rank's machine, itself included; by the machines' names.
  int on_this_machine() const;

  /// A group of the ranks that name the same number, in the same order.
  std::unique_ptr<Ranks> split(int number);

  /// How rank 0 waits for the others: once `patience` seconds have passed, and again each minute, a line on standard error
  /// says for whom, and which of them used to send notes and are silent now. If *stop is true and somebody does not answer for kMaxStopSeconds, the job ends. Groups that are split off
  /// later wait alike.
  void watch(const std::atomic<bool>* stop, double patience);
  static constexpr double kMaxStopSeconds = 1.2;

  /// Rank 0's bytes, at every rank. `most` is the largest number of them that a rank takes.
  void broadcast(std::string& bytes, std::uint64_t most);
  /// Likewise numbers, of a size that all ranks know.
  void broadcast(std::span<float> numbers);

  /// The bytes of every rank, at rank `root`, in order of ranks; nothing elsewhere. A rank that has more than `most` ends the job.
  /// meanwhile() is called there from time to time until all are there.
  std::vector<std::string> gather(const std::string& bytes, std::uint64_t most, function_ref<void()> meanwhile = nothing,
                                  int root = 0);
  static void nothing() {}

  /// Adds up the ranks' integers into those of rank 0; on the other ranks they are as they were. Exact, so that no order of
  /// the additions has an effect. All ranks should be there: this wait is a busy one at first.
  void sum(std::span<__int128> integers);

  /// Sends a note; returns at once.
  void send(int to, const Note& note);
  /// The next note that has come and its sender.
  std::optional<std::pair<int, Note>> next_note();

  /// Runs `work` on another thread; calls `meanwhile` on this one every few milliseconds. Rethrows what `work` throws.
  static void compute(function_ref<void()> work, function_ref<void()> meanwhile);

  /// Says "fedstride: rank 2 (node17): message" on standard error and ends the job, all processes of it.
  [[noreturn]] void abort(const std::string& message) const;

 private:
  struct Group;
  explicit Ranks(std::unique_ptr<Group> group);
  std::unique_ptr<Group> group_;
};

}  // namespace fedstride
