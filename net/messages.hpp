#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "core/vector.hpp"
#include "net/frame.hpp"

namespace fedstride {

/// Releases that differ which a report can tell of: those of one client in one round.
inline constexpr std::uint32_t kMostReleaseRuns = 1 << 16;

/// What a program must share with another to give the same bits.
struct BuildIdentity {
  std::string version;
  std::string compiler;
  std::string flags;
  std::string instruction_set;
  std::uint32_t numerics = 0;  ///< kNumericsVersion
};
BuildIdentity build_identity();
/// In what two differ ("compiler 'GCC 12.2.0' here, 'GCC 13.1.0' there"); empty if in nothing.
std::string difference(const BuildIdentity& here, const BuildIdentity& there);

// One struct a frame that has a body of its own. docs/WIRE.md lists the fields in their order. Texts but the settings are
// printable ASCII, so that they can be repeated in a log.

/// client -> coordinator, first of all.
struct Hello {
  static constexpr FrameKind kKind = FrameKind::hello;
  ClientId client = 0;
  BuildIdentity build;
};

/// coordinator -> client: the experiment, and what the client's data must be.
struct Welcome {
  static constexpr FrameKind kKind = FrameKind::welcome;
  BuildIdentity build;
  std::string settings;             ///< TOML, as config.toml of the coordinator's run
  std::string experiment;           ///< digest of all that determines the model; a client keeps what it has answered by it
  std::uint32_t heartbeat_ms = 0;   ///< the most time between two of a side's frames
  // How examples look and are normalised, for clients that bring rows of their own.
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::uint32_t channels = 0;
  std::uint32_t classes = 0;
  std::vector<float> mean = {};
  std::vector<float> deviation = {};
};

/// client -> coordinator: it has its data and can be asked. The coordinator compares; it takes none of it over.
struct Ready {
  static constexpr FrameKind kKind = FrameKind::ready;
  std::string data_hash;            ///< of the whole data set the rows are of, or of the rows if they are the client's own
  std::string rows_hash;            ///< of its rows
  std::uint64_t rows = 0;
  std::uint32_t last_round = 0;     ///< the last it answered in this experiment; 0: none
};

/// coordinator -> client: the weights of a round. The same bytes to every client.
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
  std::uint64_t releases = 0;       ///< the most noisy releases in this round, under example-level privacy
};

/// client -> coordinator.
struct UpdateMessage {
  static constexpr FrameKind kKind = FrameKind::update;
  std::uint32_t round = 0;
  std::string model_hash;           ///< of the model it started from
  ClientReport report;              ///< `failure` is not sent
  bool diverged = false;            ///< the change is not finite or out of range, and not sent
  Vector change;
};

/// coordinator -> client: the update of this round need not be kept any longer.
struct Received {
  static constexpr FrameKind kKind = FrameKind::received;
  std::uint32_t round = 0;
};

struct Heartbeat {
  static constexpr FrameKind kKind = FrameKind::heartbeat;
  std::uint64_t examples = 0;       ///< gradient examples in the round in hand, for a progress bar
};

/// The last frame of a connection.
struct Refused {
  static constexpr FrameKind kKind = FrameKind::refused;
  std::string reason;
  bool for_good = false;            ///< trying again is of no use
};

struct Finished {
  static constexpr FrameKind kKind = FrameKind::finished;
  std::uint32_t rounds = 0;
  std::string model_hash;
};

/// The largest body of that kind between sides whose model has so many parameters; what is longer is not read.
std::uint64_t largest_body(FrameKind kind, std::uint64_t parameters);

/// Why a welcome could not be sent as it is, or an empty text: its settings or its normalisation are too long.
std::string too_long(const Welcome& welcome);

/// A message as a frame, its body a portable binary archive of cereal.
template <class Message>
Frame encode(const Message& message);

/// And back. Memory is asked for as the bytes of `body` carry it; texts and lists have bounds of their own. Refuses a body
/// that ends early or late, and flags that are neither 0 nor 1: what is decoded and encoded again is the same bytes.
/// Numbers are not judged.
template <class Message>
Result<Message> decode(std::string_view body);

}  // namespace fedstride
