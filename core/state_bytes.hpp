#pragma once

#include <cereal/archives/portable_binary.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/serialize.hpp"

namespace fedstride {

/// A part's state as bytes, in cereal's portable binary form.
template <class State>
std::string state_bytes(const State& state) {
  std::ostringstream stream;
  {
    cereal::PortableBinaryOutputArchive archive(stream);
    archive(state);
  }
  return std::move(stream).str();
}

/// The inverse. Throws Error (failure), naming whose state it is, if the bytes are damaged, or not of this state's length where that
/// never changes.
template <class State>
void load_state(State& state, const std::string& bytes, std::string_view whose, bool length_changes = false) {
  const auto refused = [&] {
    return failure("the checkpoint's state of " + std::string(whose) + " is damaged, or of another one or another model");
  };
  if (!length_changes && bytes.size() != state_bytes(state).size()) throw refused();
  try {
    std::istringstream stream(bytes);
    cereal::PortableBinaryInputArchive archive(stream);
    archive(state);
    if (stream.peek() != std::istringstream::traits_type::eof()) throw refused();
  } catch (const std::exception&) {
    throw refused();
  }
}

}  // namespace fedstride
