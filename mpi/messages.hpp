#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/messages.hpp"
#include "run/run.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

// Messages between rank 0 and the others; all of one build, so that their form is this build's own matter. Rank 0's requests are
// broadcast, the answers gathered.

/// The requests, in the order of a run: prepare, begin; for each round train, keep (or abandon) and evaluate; end. dismiss ends all.
enum class RequestKind : std::uint8_t { prepare, begin, train, keep, abandon, evaluate, end, dismiss };

struct Request {
  RequestKind kind = RequestKind::dismiss;
  std::uint64_t number = 0;  ///< of train: counts them, so that late notes are told from timely ones
  std::string body = {};     ///< one of those below, encoded
};

struct PrepareRequest {
  std::string settings;  ///< of the run, as a file
};
/// Everything that must be the same at all ranks.
struct PrepareAnswer {
  BuildIdentity build;
  std::string command_line;  ///< MpiJob::command_line
  std::string settings;      ///< lasting_settings
  std::string data_hash;
  std::string partition_hash;
  std::string error = {};  ///< why the rank is not prepared; then the four above may be empty
  bool is_usage = false;
};

struct BeginRequest {
  std::string source = {};  ///< of noise; empty without privacy
  // FleetTask's members of these names.
  std::string folder = {};
  std::string identity = {};
  std::uint32_t round = 0;
};

struct TrainRequest {
  std::uint32_t round = 0;
  bool has_model = false;  ///< the model follows; otherwise it is the one that came last
  bool keeps_updates = false;
  std::vector<ClientId> cohort;
  bool is_private = false;
  std::vector<std::uint64_t> releases;  ///< Task::releases of the cohort's clients, in its order
  std::vector<double> told = {};        ///< Task::told
  Vector beside = {};                   ///< Task::beside
  bool tests = false;                   ///< Task::tests
  std::uint32_t checkpoint = 0;         ///< round of the last checkpoint
};
/// The answer before the sums, which are added up on their way.
struct TrainAnswer {
  bool interrupted = false;
  std::string error = {};
  std::uint64_t weight = 0;  ///< of the sum
  std::vector<ClientReport> reports = {};
  std::vector<PartOfSum::Update> updates = {};  ///< where they are kept
};

/// A slice of coordinates of a rank's updates of a round, or what the aggregation has made of all of them: one update or none.
struct UpdateSlices {
  std::vector<PartOfSum::Update> updates = {};
};

/// The answer to keep and abandon, whose `number` is the round that ended last.
struct KeepAnswer {
  std::string error = {};
  std::uint32_t round = 0;  ///< that the states are now of
};

struct EvaluateRequest {
  bool has_model = false;
  EvaluatedOn examples = EvaluatedOn::test;
};
struct EvaluateAnswer {
  std::string error = {};
  EvaluatedBlocks blocks = {};
};

// The largest messages between ranks, in bytes.
inline constexpr std::uint64_t kMaxRequestBytes = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kMaxPreparedBytes = std::uint64_t{1} << 22;
/// Reports of a rank's clients, and updates where they are kept.
inline constexpr std::uint64_t kMaxTrainedBytes = std::uint64_t{1} << 38;
inline constexpr std::uint64_t kMaxKeptBytes = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kMaxEvaluatedBytes = std::uint64_t{1} << 30;

/// Values of notes that are not a number of examples, and the verdict on a round, one byte.
inline constexpr std::uint64_t kHaltedNote = UINT64_MAX;
inline constexpr char kGoesOn = 'y';
inline constexpr char kGivenUp = 'n';

/// A message as bytes, and back. decode throws Error (failure) if the bytes are not one.
template <class Message>
std::string encode_message(const Message& message);
template <class Message>
Message decode_message(const std::string& bytes);

}  // namespace fedstride
