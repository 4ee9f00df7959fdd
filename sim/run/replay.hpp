#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "sim/run/fleets.hpp"
#include "sim/run/run.hpp"

namespace fedstride {

/// What a replay changes in a run, and from which round on.
struct Replay {
  std::string run = {};                ///< the run's folder
  std::uint32_t from = 1;              ///< the first round that the change reaches
  std::vector<ClientId> without = {};  ///< clients that are no longer asked
  Settings set = {};                   ///< settings with other values
  Settings here = {};                  ///< out, and settings of no effect on the model: threads, where the data lie
};

/// A finished replay, and where it leaves the run that it repeats.
struct Replayed {
  RunSummary summary;
  std::uint32_t parted = 0;    ///< the first round whose model differs from the run's; 0: none
  std::uint32_t compared = 0;  ///< the last round that both have
  std::uint32_t repeated = 0;  ///< the last round taken over from a checkpoint; 0: the replay began anew
};

/// Repeats a run in a new folder with one thing changed and the same partition, client numbers, cohorts and draws. Begins at the
/// nearest checkpoint that the run kept, else at its first round. The folder's replay.json names the run and the change.
/// Throws Error: usage for a change that is none or does not leave partition and draws as they are, and for a run under dp, where
/// the difference of two models with the same noise is the change itself; failure if a round before the change has another model
/// than the run's.
Replayed replay(const Replay& request, const RunObserver& observer);

/// What one client's absence from a round would have changed.
struct Absence {
  ClientId client = 0;
  std::uint64_t rows = 0;
  double distance = 0;   ///< L2, between the models after the round with and without it
  double share = 0;      ///< `distance` divided by the length of the round's step
  Evaluation test = {};  ///< without it
};
struct Absences {
  std::uint32_t round = 0;
  Evaluation test = {};               ///< with all
  std::vector<Absence> clients = {};  ///< by test loss without the client, lowest first: whose absence would have helped most
};

/// Repeats one round of a run once, and sums it up again without each of its clients. Each update is computed once; memory is 16
/// bytes a client and parameter. Throws Error like replay(), and failure if the round's model is not the run's.
Absences absences(const std::string& run, std::uint32_t round, const Settings& here, const std::atomic<bool>* stop);

/// The hash of the model after each round, from a run's rounds.jsonl. Throws Error (failure) if a line is not a round's.
std::vector<std::string> model_hashes(const std::filesystem::path& run);

/// The folder of the run that the one in this folder repeats; empty if it is no replay.
std::string replayed_run(const std::filesystem::path& folder);
/// "A replay of 'runs/a' from round 5 without client 3. Its models differ from round 5 on."; empty if it is no replay.
std::string replay_text(const std::filesystem::path& folder);

/// The file in a replay's folder that names the run and the change.
inline constexpr std::string_view kReplayFile = "replay.json";

}  // namespace fedstride
