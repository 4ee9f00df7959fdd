#pragma once

#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <sstream>
#include <string>

#include "core/error.hpp"

namespace fedstride {

// The bytes of anything that cereal can write, between ranks of one program on one kind of machine. For .cpp files.

template <class Value>
std::string bytes_of_message(const Value& value) {
  std::ostringstream stream;
  cereal::BinaryOutputArchive archive(stream);
  archive(value);
  return std::move(stream).str();
}

/// Throws Error (failure) if the bytes are not those of a Value.
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
