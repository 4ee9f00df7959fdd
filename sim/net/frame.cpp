#include "sim/net/frame.hpp"

#include <cstring>

#include "core/hash.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kDigestAt = 16;
static_assert(kDigestAt + kDigestBytes == kHeaderBytes);
constexpr std::array<std::string_view, kLastFrameKind + 1> kNames{
    "",          "hello",   "welcome",  "ready",    "model",      "train",  "update",  "received",
    "heartbeat", "refused", "finished", "evaluate", "evaluation", "secure", "secured", "masked"};

void put(char* at, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) at[i] = static_cast<char>(number >> (8 * i));
}
std::uint64_t take(const char* at, int bytes) {
  std::uint64_t number = 0;
  for (int i = 0; i < bytes; ++i) number |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  return number;
}

void put_beginning(char* at, FrameKind kind, std::uint64_t length) {
  std::memcpy(at, kFrameMagic.data(), kFrameMagic.size());
  put(at + 4, kProtocolVersion, 2);
  put(at + 6, static_cast<std::uint16_t>(kind), 2);
  put(at + 8, length, 8);
}

std::array<std::uint8_t, kDigestBytes> digest(std::string_view beginning, std::string_view body) {
  const auto whole = Hash().text(beginning).text(body).digest();
  std::array<std::uint8_t, kDigestBytes> first{};
  std::memcpy(first.data(), whole.data(), first.size());
  return first;
}

}  // namespace

std::string_view frame_name(FrameKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

Frame make_frame(FrameKind kind, std::string bytes) {
  put_beginning(bytes.data(), kind, bytes.size() - kHeaderBytes);
  const std::string_view all = bytes;
  const auto check = digest(all.substr(0, kDigestAt), all.substr(kHeaderBytes));
  std::memcpy(bytes.data() + kDigestAt, check.data(), check.size());
  return std::make_shared<const std::string>(std::move(bytes));
}

bool is_of_another_version(std::span<const char, kHeaderBytes> bytes) {
  return std::string_view(bytes.data(), kFrameMagic.size()) == kFrameMagic && take(bytes.data() + 4, 2) != kProtocolVersion;
}

Result<FrameHeader> parse_header(std::span<const char, kHeaderBytes> bytes) {
  if (std::string_view(bytes.data(), kFrameMagic.size()) != kFrameMagic)
    return Result<FrameHeader>::refused("it did not send a fedstride frame");
  const auto version = take(bytes.data() + 4, 2);
  if (version != kProtocolVersion)
    return Result<FrameHeader>::refused("it speaks protocol version " + std::to_string(version) + ", which is " +
                                        (version < kProtocolVersion ? "older" : "newer") + " than " +
                                        std::to_string(kProtocolVersion) + ", this side's; " +
                                        (version < kProtocolVersion ? "it" : "this side") + " needs another fedstride");
  const auto kind = take(bytes.data() + 6, 2);
  if (kind == 0 || kind > kLastFrameKind)
    return Result<FrameHeader>::refused("it sent a frame of kind " + std::to_string(kind) + "; valid: 1 to " +
                                        std::to_string(kLastFrameKind));
  FrameHeader header{.kind = static_cast<FrameKind>(kind), .length = take(bytes.data() + 8, 8)};
  std::memcpy(header.digest.data(), bytes.data() + kDigestAt, kDigestBytes);
  return header;
}

bool is_whole(const FrameHeader& header, std::string_view body) {
  std::array<char, kDigestAt> beginning{};
  put_beginning(beginning.data(), header.kind, header.length);
  return header.length == body.size() && digest({beginning.data(), beginning.size()}, body) == header.digest;
}

}  // namespace fedstride
