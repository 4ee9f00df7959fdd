#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/result.hpp"

namespace fedstride {

/// The kinds of frames; the numbers are those on the wire (docs/WIRE.md).
enum class FrameKind : std::uint16_t {
  hello = 1,        ///< client: who I am, what I was built as
  welcome = 2,      ///< coordinator: the experiment
  ready = 3,        ///< client: the data I have
  model = 4,        ///< coordinator: the weights of a round
  train = 5,        ///< coordinator: train them
  update = 6,       ///< client: the change
  received = 7,     ///< coordinator: the update is in the sum, or came too late
  heartbeat = 8,    ///< both: I am alive
  refused = 9,      ///< both: this connection ends, for this reason
  finished = 10,    ///< coordinator: there is nothing more to do
  evaluate = 11,    ///< coordinator: test the weights of a round
  evaluation = 12,  ///< client: how good they are
};
inline constexpr std::uint16_t kLastFrameKind = 12;
std::string_view frame_name(FrameKind kind);

/// A side that has sent nothing for this number of heartbeats is gone.
inline constexpr int kMaxSilentBeats = 4;

inline constexpr std::string_view kFrameMagic = "FSTR";
inline constexpr std::uint16_t kProtocolVersion = 8;
inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kDigestBytes = 16;

/// The fixed header in front of every body: magic, version, kind, length of the body, and the first 16 bytes of the
/// SHA-256 of the 16 header bytes before it and the body. It detects damage, not forgery: that is TLS's task.
struct FrameHeader {
  FrameKind kind = FrameKind::heartbeat;
  std::uint64_t length = 0;
  std::array<std::uint8_t, kDigestBytes> digest = {};
};

/// A whole frame; shared, so that one model is serialised once however many clients it goes to.
using Frame = std::shared_ptr<const std::string>;

/// Completes a frame: `bytes` is kHeaderBytes of anything, then the body.
Frame make_frame(FrameKind kind, std::string bytes);

/// Reads a header; does not check its length. Refuses another magic, version or kind.
Result<FrameHeader> parse_header(std::span<const char, kHeaderBytes> bytes);

/// True if the body is the one the header was made for.
bool is_whole(const FrameHeader& header, std::string_view body);

}  // namespace fedstride
