#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <string_view>

namespace fedstride {

static_assert(std::endian::native == std::endian::little, "codes are little-endian, like numbers in memory");

/// Appends a number's bytes.
void put_number(std::string& code, auto value) { code.append(reinterpret_cast<const char*>(&value), sizeof value); }
/// Removes a number from the front of `code`, which must be long enough, and returns it.
template <class Number>
Number take_number(std::string_view& code) {
  Number value;
  std::memcpy(&value, code.data(), sizeof value);
  code.remove_prefix(sizeof value);
  return value;
}

}  // namespace fedstride
