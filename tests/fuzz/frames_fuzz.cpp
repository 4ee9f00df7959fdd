// A fuzz target (libFuzzer) of everything that reads bytes of a peer before anything is known of it: headers, their digest
// and bounds, and the messages of every kind. tests/fuzz/corpus has a seed of each kind.

#include <cstdlib>
#include <string>
#include <string_view>

#include "sim/net/messages.hpp"

namespace fedstride {
namespace {

/// A failed check ends the process, which libFuzzer reports together with the input.
void require(bool holds) {
  if (!holds) std::abort();
}

/// A decoded message has one form: encoded again it is the same bytes, in a whole frame within the bound of its kind.
template <class Message>
void read(std::string_view body) {
  auto message = decode<Message>(body);
  if (!message) return require(!message.reason().empty() && message.reason().find('\n') == std::string::npos);
  const Frame frame = encode(*message);
  require(std::string_view(*frame).substr(kHeaderBytes) == body);
  auto header = parse_header(std::span<const char, kHeaderBytes>(frame->data(), kHeaderBytes));
  require(header && header->kind == Message::kKind && header->length == body.size() && is_whole(*header, body));
  require(body.size() <= largest_body(Message::kKind, body.size() / sizeof(float)));
}

void read_frame(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return;
  const std::string_view body = bytes.substr(kHeaderBytes);
  auto header = parse_header(std::span<const char, kHeaderBytes>(bytes.data(), kHeaderBytes));
  if (header) {
    require(!frame_name(header->kind).empty());
    require(largest_body(header->kind, 0) <= largest_body(header->kind, 1000));
    if (is_whole(*header, body)) require(header->length == body.size());
  } else {
    require(!header.reason().empty());
  }
  read<Hello>(body);
  read<Welcome>(body);
  read<Ready>(body);
  read<ModelMessage>(body);
  read<Train>(body);
  read<UpdateMessage>(body);
  read<Received>(body);
  read<Heartbeat>(body);
  read<Refused>(body);
  read<Finished>(body);
  read<SecureMessage>(body);
  read<SecuredMessage>(body);
  read<MaskedMessage>(body);
}

}  // namespace
}  // namespace fedstride

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fedstride::read_frame({reinterpret_cast<const char*>(data), size});
  return 0;
}
