#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "core/vector.hpp"
#include "net/frame.hpp"

namespace fedstride {

/// The most different releases that a report can list: those of one client in one round.
inline constexpr std::uint32_t kMaxReleaseRuns = 1 << 16;
/// The most rows that a client can be told to take, and the most clients whose numbers of rows it can be told.
inline constexpr std::uint32_t kMaxDealtRows = 1 << 24;
inline constexpr std::uint32_t kMaxDealtClients = 1 << 20;

/// The properties that two programs must share to give the same bits.
struct BuildIdentity {
  std::string version;
  std::string compiler;
  std::string flags;            ///< without those that choose instructions
  std::string instruction_set;  ///< what they chose: BuildInfo::instructions
  std::uint32_t numerics = 0;   ///< kNumericsVersion
};
BuildIdentity build_identity();
/// The differences of two identities ("compiler 'GCC 12.2.0' here, 'GCC 13.1.0' there"); empty if there are none.
std::string difference(const BuildIdentity& here, const BuildIdentity& there);

// One struct for each frame that has a body. docs/WIRE.md lists the fields in order. All texts but the settings are
// printable ASCII, so that they can be repeated in a log.

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
  std::string settings;            ///< TOML, as config.toml of the coordinator's run
  std::string experiment;          ///< digest of everything that determines the model; a client files its answers under it
  std::uint32_t heartbeat_ms = 0;  ///< the most time between two of a side's frames
  std::string model = {};          ///< Model::line()
  // The form and normalisation of examples; clients that bring their own rows use them.
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::uint32_t channels = 0;
  std::uint32_t classes = 0;     ///< ExampleForm::outputs
  std::uint32_t targets = 0;     ///< ExampleForm::targets, by its number
  std::uint32_t vocabulary = 0;  ///< of tokens
  std::vector<float> mean = {};
  std::vector<float> deviation = {};
  // The client's rows, where the coordinator alone can say which they are (partition file); else empty.
  std::string partition_hash = {};
  std::vector<std::uint64_t> row_counts = {};  ///< of every client
  std::vector<std::uint32_t> rows = {};        ///< the client's, in their order; beyond its number those it is tested on
};

/// client -> coordinator: it has its data and can be asked. The coordinator only compares these values.
struct Ready {
  static constexpr FrameKind kKind = FrameKind::ready;
  std::string data_hash;  ///< of the whole data set that has the rows, or of the rows if they are the client's own
  std::string rows_hash;  ///< of its rows
  std::uint64_t rows = 0;
  std::uint32_t last_round = 0;  ///< the last it answered in this experiment; 0: none
  bool evaluates = false;        ///< it offers to test models
};

/// coordinator -> client: the weights of a round, and behind them what the local objective's server sends beside them, if it does.
/// The same bytes to every client. On the wire the vector is packed (net/packing.hpp), so here and in an update; the hash is that
/// of the whole unpacked one.
struct ModelMessage {
  static constexpr FrameKind kKind = FrameKind::model;
  std::uint32_t round = 0;
  std::string model_hash;
  Vector model;
};

/// coordinator -> client, after the model: train it.
struct Train {
  static constexpr FrameKind kKind = FrameKind::train;
  std::uint32_t round = 0;
  std::string model_hash;
  bool is_private = false;
  std::uint64_t releases = 0;     ///< the most noisy releases in this round, under example-level privacy
  std::vector<double> told = {};  ///< Task::told
  bool tests = false;             ///< Task::tests
};

/// coordinator -> a client that offers it, after the model: test it.
struct Evaluate {
  static constexpr FrameKind kKind = FrameKind::evaluate;
  std::uint32_t round = 0;  ///< that the model has come out of
  std::string model_hash;
};

/// client -> coordinator: a model by the client's own measure. NaN: not told.
struct EvaluationMessage {
  static constexpr FrameKind kKind = FrameKind::evaluation;
  std::uint32_t round = 0;
  std::string model_hash;
  std::uint64_t examples = 0;
  double loss = 0;
  double accuracy = 0;
};

/// client -> coordinator.
struct UpdateMessage {
  static constexpr FrameKind kKind = FrameKind::update;
  std::uint32_t round = 0;
  std::string model_hash;  ///< of the model it started from
  ClientReport report;     ///< `failure` is not sent
  bool diverged = false;   ///< the change is not finite or out of range, and not sent
  Vector change;
};

/// coordinator -> client: the client may drop the update of this round.
struct Received {
  static constexpr FrameKind kKind = FrameKind::received;
  std::uint32_t round = 0;
};

struct Heartbeat {
  static constexpr FrameKind kKind = FrameKind::heartbeat;
  std::uint64_t examples = 0;  ///< gradient examples in the current round, for a progress bar
};

/// The last frame of a connection.
struct Refused {
  static constexpr FrameKind kKind = FrameKind::refused;
  std::string reason;
  bool for_good = false;  ///< trying again is useless
};

struct Finished {
  static constexpr FrameKind kKind = FrameKind::finished;
  std::uint32_t rounds = 0;
  std::string model_hash;
};

/// The largest body of that kind if its vector has that many numbers; a longer one is not read.
std::uint64_t largest_body(FrameKind kind, std::uint64_t parameters);

/// The reason why a welcome cannot be sent: its settings, its normalisation or its rows are too long; empty if it can.
std::string too_long(const Welcome& welcome);

/// A message as a frame, its body a portable binary archive of cereal.
template <class Message>
Frame encode(const Message& message);

/// The inverse. Memory is allocated as the bytes of `body` are read; texts and lists have their own bounds. Refuses a body
/// that ends early or late, and flags that are neither 0 nor 1, so encoding a decoded message gives the same bytes.
/// Numbers are not checked.
template <class Message>
Result<Message> decode(std::string_view body);

}  // namespace fedstride
