#include "core/part_state.hpp"

#include <sstream>

#include "core/byte_sink.hpp"

namespace fedstride {

std::unique_ptr<PartState> started_state(const StatefulPart& part, std::size_t size) {
  std::unique_ptr<PartState> state = part.make_state();
  part.start(*state, size);
  return state;
}

namespace {

std::size_t state_length(function_ref<void(std::ostream&)> save) {
  std::size_t length = 0;
  in_pieces(save, [&](std::string_view piece) { length += piece.size(); });
  return length;
}

}  // namespace

std::string state_bytes(function_ref<void(std::ostream&)> save) {
  std::string bytes;
  bytes.reserve(state_length(save));  // one allocation, of the same size in every round
  in_pieces(save, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

std::string state_bytes(const StatefulPart& part, const PartState& state) {
  return state_bytes([&](std::ostream& stream) { part.save(state, stream); });
}

void load_state(const std::string& bytes, std::string_view whose, std::optional<std::size_t> length,
                function_ref<void(std::istream&)> load) {
  bool is_good = bytes.size() == length.value_or(bytes.size());
  std::istringstream stream(bytes);
  try {
    if (is_good) load(stream);
  } catch (const std::exception&) {
    is_good = false;
  }
  if (!is_good || stream.peek() != std::istringstream::traits_type::eof())
    throw failure("the checkpoint's state of " + std::string(whose) + " is damaged, or belongs to another part or model");
}

void load_state(const StatefulPart& part, PartState& state, const std::string& bytes, std::string_view whose) {
  std::optional<std::size_t> length;
  if (!part.state_length_changes()) length = state_length([&](std::ostream& stream) { part.save(state, stream); });
  load_state(bytes, whose, length, [&](std::istream& stream) { part.load(state, stream); });
}

}  // namespace fedstride
