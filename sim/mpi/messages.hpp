#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/evaluator.hpp"
#include "server/fleet.hpp"
#include "sim/net/messages.hpp"

namespace fedstride {

// Messages between rank 0 and the others. All ranks have the same build, so the encoding need not be stable. Rank 0 broadcasts
// requests and gathers the answers.

/// The requests in the order of a run: prepare, begin; for each round train, keep (or abandon) and evaluate; end. dismiss ends
/// work_for_rank_0.
enum class RequestKind : std::uint8_t { prepare, begin, train, keep, abandon, evaluate, end, dismiss };

struct Request {
  RequestKind kind = RequestKind::dismiss;
  std::uint64_t number = 0;  ///< for train: a counter that distinguishes current notes from late ones; otherwise see KeepAnswer
  std::string body = {};     ///< one of the requests below, encoded
};

struct PrepareRequest {
  std::string settings;  ///< the run's settings as a TOML file
};
/// A rank's answer to `prepare`: everything that must be equal on all ranks.
struct PrepareAnswer {
  BuildIdentity build;
  std::string command_line;  ///< MpiJob::command_line
  std::string settings;      ///< lasting_settings
  std::string data_hash;
  std::string partition_hash;
  std::string error = {};  ///< why the rank could not prepare; if set, `settings` and the hashes may be empty
  bool is_usage = false;
};

struct BeginRequest {
  std::string source = {};  ///< serialized random source of the noise; empty without privacy
  // Copies of the members of FleetTask with the same names.
  std::string folder = {};
  std::string identity = {};
  std::uint32_t round = 0;
};

struct TrainRequest {
  std::uint32_t round = 0;
  bool has_model = false;  ///< the model follows; otherwise the last one received is used
  bool keeps_updates = false;
  std::vector<ClientId> cohort;
  bool is_private = false;
  std::vector<std::uint64_t> releases;  ///< Task::releases of the cohort's clients, in cohort order
  std::vector<double> told = {};        ///< Task::told
  Vector beside = {};                   ///< Task::beside
  bool tests = false;                   ///< Task::tests
  double scale = 1;                     ///< Task::scale
  std::uint32_t checkpoint = 0;         ///< round of the last checkpoint
  double bound = 0;                     ///< Accumulator::bound
};
/// The answer to `train`. The sums follow in a separate step.
struct TrainAnswer {
  bool interrupted = false;
  std::string error = {};
  std::uint64_t weight = 0;  ///< weight of the sum
  std::vector<ClientReport> reports = {};
  std::vector<PartOfSum::Update> updates = {};  ///< filled only if updates are kept
};

/// One slice of coordinates from each of a rank's updates, or the slice's aggregate (one update or none).
struct UpdateSlices {
  std::vector<PartOfSum::Update> updates = {};
};

/// The answer to keep and abandon requests; their `number` is the last completed round.
struct KeepAnswer {
  std::string error = {};
  std::uint32_t round = 0;  ///< the round that the states now belong to
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
/// For the reports of a rank's clients, and their updates if kept.
inline constexpr std::uint64_t kMaxTrainedBytes = std::uint64_t{1} << 38;
inline constexpr std::uint64_t kMaxKeptBytes = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kMaxEvaluatedBytes = std::uint64_t{1} << 30;

/// The value of a note that means "halted" instead of a number of examples, and the one-byte verdicts on a round.
inline constexpr std::uint64_t kHaltedNote = UINT64_MAX;
inline constexpr char kRoundKept = 'y';
inline constexpr char kRoundAbandoned = 'n';

/// Encodes and decodes a message. decode_message throws Error (failure) if the bytes are not a valid message.
std::string encode_message(const auto& message);
template <class Message>
Message decode_message(const std::string& bytes);

}  // namespace fedstride
