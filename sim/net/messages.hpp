#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "core/vector.hpp"
#include "sim/net/frame.hpp"

namespace fedstride {

/// Maximum number of distinct releases in a report, that is, by one client in one round.
inline constexpr std::uint32_t kMaxReleaseRuns = 1 << 16;
/// Maximum number of rows that can be assigned to a client, and maximum number of clients whose row counts it can receive.
inline constexpr std::uint32_t kMaxDealtRows = 1 << 24;
inline constexpr std::uint32_t kMaxDealtClients = 1 << 20;

/// The properties that two builds must share to give bit-identical results.
struct BuildIdentity {
  std::string version;
  std::string arithmetic;      ///< BuildInfo::arithmetic
  std::uint32_t numerics = 0;  ///< kNumericsVersion
};
BuildIdentity build_identity();
/// Returns the first difference between two builds ("version '0.4.1' here, '0.4.0' there"); empty if they are the same.
std::string difference(const BuildIdentity& here, const BuildIdentity& there);

// Each frame that has a body has a struct below. docs/reference/WIRE.md lists the fields in order. All texts except settings,
// model and schema are printable ASCII, so they are safe to log.

/// client -> coordinator: the first frame.
struct Hello {
  static constexpr FrameKind kKind = FrameKind::hello;
  ClientId client = 0;
  BuildIdentity build;
};

/// coordinator -> client: the experiment, and the requirements on the client's data.
struct Welcome {
  static constexpr FrameKind kKind = FrameKind::welcome;
  BuildIdentity build;
  std::string settings;    ///< TOML, like config.toml of the coordinator's run
  std::string experiment;  ///< digest of everything that determines the model; identifies the experiment in a client's folder
  std::uint32_t heartbeat_ms = 0;  ///< maximum time between two frames from one side
  std::string model = {};          ///< Model::line()
  std::string schema = {};         ///< schema_text(), for clients that supply their own rows; empty if only their code reads them
  // The next three describe the client's rows if only the coordinator knows them (partition file); otherwise they are empty.
  std::string partition_hash = {};
  std::vector<std::uint64_t> row_counts = {};  ///< of every client
  std::vector<std::uint32_t> rows = {};  ///< the client's training rows in order, row_counts[client] of them, then its test rows
};

/// client -> coordinator: the client's data are ready and it can be asked to train. The coordinator uses these values only for
/// comparison.
struct Ready {
  static constexpr FrameKind kKind = FrameKind::ready;
  std::string data_hash;  ///< of the whole data set, or of the client's own rows if it has its own
  std::string rows_hash;  ///< of the client's rows
  std::uint64_t rows = 0;
  std::uint32_t last_round = 0;  ///< the last round the client answered in this experiment; 0: none
  bool evaluates = false;        ///< whether the client offers to evaluate models
  std::uint32_t holds = 0;       ///< the round whose model the client holds, if the server compresses models; 0: none
  std::string signing_key = {};  ///< under secure aggregation: the client's long-term Ed25519 key, 64 hexadecimal digits
  std::string key_proof = {};    ///< secagg::Invitation::Invited::proof
};

/// coordinator -> client: the weights of a round, followed by the server's additional vector if the local objective has one.
/// Every client receives the same bytes. On the wire, the vector is packed (sim/net/packing.hpp), as in an update; the hash
/// covers the whole unpacked vector.
struct ModelMessage {
  static constexpr FrameKind kKind = FrameKind::model;
  std::uint32_t round = 0;
  std::string model_hash;
  std::uint32_t base = 0;  ///< the round of the model to which the changes apply; 0: the whole model follows
  std::string changes =
      {};             ///< codes (ModelCoding) of the changes in rounds base + 1 to round, each preceded by its length in 64 bits
  Vector model = {};  ///< empty if there is a base
};

/// coordinator -> client, after the model: a request to train the model.
struct Train {
  static constexpr FrameKind kKind = FrameKind::train;
  std::uint32_t round = 0;
  std::string model_hash;
  bool is_private = false;
  std::uint64_t releases = 0;     ///< maximum number of noisy releases in this round, under example-level privacy
  std::vector<double> told = {};  ///< Task::told
  bool tests = false;             ///< Task::tests
};

/// coordinator -> a client that offers evaluation, after the model: a request to evaluate the model.
struct Evaluate {
  static constexpr FrameKind kKind = FrameKind::evaluate;
  std::uint32_t round = 0;  ///< the round that produced the model
  std::string model_hash;
};

/// client -> coordinator: the client's evaluation of a model. NaN means that a value was not reported.
struct EvaluationMessage {
  static constexpr FrameKind kKind = FrameKind::evaluation;
  std::uint32_t round = 0;
  std::string model_hash;
  std::uint64_t examples = 0;
  double loss = 0;
  double accuracy = 0;
};

/// client -> coordinator: the result of training.
struct UpdateMessage {
  static constexpr FrameKind kKind = FrameKind::update;
  std::uint32_t round = 0;
  std::string model_hash;  ///< of the model that training started from
  ClientReport report;     ///< without members that are ReportRule::measured
  bool diverged = false;   ///< true if the change, which is then not sent, is not finite or is out of range
  Vector change;           ///< empty if updates are compressed
  std::string code = {};   ///< the change, if compressed (UpdateCoding)
};

/// coordinator -> client: acknowledges this round's update, which the client may now discard.
struct Received {
  static constexpr FrameKind kKind = FrameKind::received;
  std::uint32_t round = 0;
};

struct Heartbeat {
  static constexpr FrameKind kKind = FrameKind::heartbeat;
  std::uint64_t examples = 0;  ///< gradient examples in the current round, for a progress bar
};

/// coordinator -> client, under secure aggregation, after the client's update: stage 0 invites the client to an attempt
/// (secagg::Invitation); stages 1 to 4 carry the Roster, Delivery, Survivors and Agreements.
struct SecureMessage {
  static constexpr FrameKind kKind = FrameKind::secure;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  std::uint32_t stage = 0;
  std::string message = {};
};

/// client -> coordinator: the client's Advert (stage 1), Shares (2), Agreement (4) or Unmasking (5).
struct SecuredMessage {
  static constexpr FrameKind kKind = FrameKind::secured;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  std::uint32_t stage = 0;
  std::string message = {};
};

/// client -> coordinator: the client's secagg::Masked (stage 3).
struct MaskedMessage {
  static constexpr FrameKind kKind = FrameKind::masked;
  std::uint32_t round = 0;
  std::uint32_t attempt = 0;
  std::string message = {};
};

/// The last frame of a connection.
struct Refused {
  static constexpr FrameKind kKind = FrameKind::refused;
  std::string reason;
  bool for_good = false;  ///< reconnecting would not help
};

struct Finished {
  static constexpr FrameKind kKind = FrameKind::finished;
  std::uint32_t rounds = 0;
  std::string model_hash;
};

/// Returns the maximum length in bytes of a body of this kind for a model or, for `masked`, a padded vector of `parameters`
/// numbers; longer bodies are refused.
std::uint64_t largest_body(FrameKind kind, std::uint64_t parameters);

/// Returns why a welcome cannot be sent (its settings, schema or rows are too long); empty if it can.
std::string too_long(const Welcome& welcome);

/// Encodes a message as a frame; the body is a cereal portable binary archive.
template <class Message>
Frame encode(const Message& message);

/// The inverse of encode(). Memory is allocated as the bytes of `body` are read; texts and lists have their own bounds. Refuses
/// a body that is too short or too long, and flags other than 0 and 1, so encoding a decoded message yields the same bytes.
/// Does not validate numbers.
template <class Message>
Result<Message> decode(std::string_view body);

}  // namespace fedstride
