#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace fedstride {

/// The result of parsing a peer's bytes: a value, or a one-line reason for refusing them. A peer never causes an exception.
template <class T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  static Result refused(std::string reason) { return Result(Refusal{std::move(reason)}); }

  explicit operator bool() const { return value_.index() == 0; }
  T& operator*() { return std::get<0>(value_); }
  T* operator->() { return &std::get<0>(value_); }
  const std::string& reason() const { return std::get<1>(value_).reason; }

 private:
  struct Refusal {
    std::string reason;
  };
  explicit Result(Refusal refusal) : value_(std::move(refusal)) {}
  std::variant<T, Refusal> value_;
};

/// The kinds of frames, numbered as on the wire (docs/reference/WIRE.md).
enum class FrameKind : std::uint16_t {
  hello = 1,        ///< client: its number and build
  welcome = 2,      ///< coordinator: the experiment
  ready = 3,        ///< client: a description of its data
  model = 4,        ///< coordinator: the weights of a round
  train = 5,        ///< coordinator: a request to train these weights
  update = 6,       ///< client: the change in the weights
  received = 7,     ///< coordinator: the update has been summed, or was too late
  heartbeat = 8,    ///< both: a sign of life
  refused = 9,      ///< both: the reason for ending the connection
  finished = 10,    ///< coordinator: the federation is finished
  evaluate = 11,    ///< coordinator: a request to evaluate the weights of a round
  evaluation = 12,  ///< client: the result
  secure = 13,      ///< coordinator: a message to a client in one stage of secure aggregation
  secured = 14,     ///< client: its answer to `secure`
  masked = 15,      ///< client: its answer in the input stage
};
inline constexpr std::uint16_t kLastFrameKind = 15;
std::string_view frame_name(FrameKind kind);

/// A side that has been silent for this many heartbeat intervals is considered gone.
inline constexpr int kMaxSilentBeats = 4;

inline constexpr std::string_view kFrameMagic = "FSTR";
inline constexpr std::uint16_t kProtocolVersion = 13;
inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kDigestBytes = 16;

/// The fixed header in front of every body: magic, version, kind, length of the body, and the first 16 bytes of the
/// SHA-256 of the preceding 16 header bytes and the body. The digest detects damage; protection from forgery is left to TLS.
struct FrameHeader {
  FrameKind kind = FrameKind::heartbeat;
  std::uint64_t length = 0;
  std::array<std::uint8_t, kDigestBytes> digest = {};
};

/// A complete frame. It is shared, so a model is serialized only once for all clients.
using Frame = std::shared_ptr<const std::string>;

/// Fills in the header of a frame: `bytes` has kHeaderBytes arbitrary bytes, then the body.
Frame make_frame(FrameKind kind, std::string bytes);

/// Parses a header. Refuses a wrong magic, version or kind, but accepts any body length.
Result<FrameHeader> parse_header(std::span<const char, kHeaderBytes> bytes);

/// True if these bytes begin a frame of another protocol version: magic and version are at the same place in all.
bool is_of_another_version(std::span<const char, kHeaderBytes> bytes);

/// True if the body has the length and the digest given in the header.
bool is_whole(const FrameHeader& header, std::string_view body);

}  // namespace fedstride
