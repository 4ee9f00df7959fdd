#pragma once

#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <sstream>
#include <string>

#include "core/error.hpp"

namespace fedstride {

// Encodes anything that cereal can write, for messages between ranks of one version of the program. To be included only
// in .cpp files.

std::string bytes_of_message(const auto& value) {
  std::ostringstream stream;
  cereal::BinaryOutputArchive archive(stream);
  archive(value);
  return std::move(stream).str();
}

/// Throws Error (failure) if the bytes do not encode a Value.
template <class Value>
Value message_of_bytes(const std::string& bytes) {
  Value value;
  std::istringstream stream(bytes);
  try {
    cereal::BinaryInputArchive archive(stream);
    archive(value);
  } catch (const std::exception&) {
    throw failure("a message between ranks is damaged");
  }
  return value;
}

}  // namespace fedstride
