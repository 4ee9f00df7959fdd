#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/borrowable.hpp"
#include "core/half.hpp"

namespace fedstride {

/// An in-memory array like NumPy's and HDF5's: numbers in this machine's byte order, the last index varying fastest.
struct Array {
  std::string key;  ///< its name in the file, for messages
  /// NumPy's kind: b booleans, i and u whole numbers, f floating point, U strings of 4-byte characters, S strings of bytes.
  char kind = 'f';
  std::size_t item = 4;            ///< bytes per element
  std::vector<std::size_t> shape;  ///< empty: one element
  Borrowable<std::uint8_t> bytes;

  std::size_t rows() const { return shape.empty() ? 1 : shape.front(); }
  /// The number of elements per row, that is, per index of the first dimension.
  std::size_t row_size() const;
  bool is_text() const { return kind == 'U' || kind == 'S'; }
  bool is_whole() const { return kind == 'b' || kind == 'i' || kind == 'u'; }
  double number(std::size_t index) const;
  std::int64_t whole(std::size_t index) const;  ///< a whole number, capped at 2^63 - 1
  std::string text(std::size_t index) const;    ///< a string, as UTF-8
  /// Text such as "float32 of shape (60000, 28, 28)".
  std::string type_text() const;
};

/// Makes an array of this shape from a program's own numbers.
template <class Number>
Array array_of(std::string key, std::span<const Number> numbers, std::vector<std::size_t> shape) {
  constexpr char kKind = std::is_floating_point_v<Number> ? 'f' : std::is_signed_v<Number> ? 'i' : 'u';
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(numbers.data());
  return {.key = std::move(key),
          .kind = kKind,
          .item = sizeof(Number),
          .shape = std::move(shape),
          .bytes = std::vector<std::uint8_t>(bytes, bytes + numbers.size_bytes())};
}

/// Calls `use` with each of the elements [begin, end) of an array of numbers, in the array's type (half precision as float).
void for_each_number(const Array& array, std::size_t begin, std::size_t end, auto use);

/// The header of a .npy file (numpy.lib.format, versions 1 to 3).
struct NpyHeader {
  Array array;  ///< without its bytes
  bool big_endian = false;
  bool fortran = false;   ///< the first index varies fastest
  std::size_t begin = 0;  ///< offset of the elements in the file
};

/// Reads the header from the first bytes of a file. `size` receives the number of bytes needed: if `beginning` has fewer, call
/// again with that many. Throws Error (failure) for types other than numbers and strings (an object array holds Python pickles,
/// which are programs) and for anything else that is not in this format.
NpyHeader read_npy_header(std::string_view beginning, const std::string& where, std::size_t& size);

/// Converts a file's bytes to this machine's byte order, with the last index varying fastest.
void to_native(Array& array, bool big_endian, bool fortran);

namespace detail {

template <class T>
T loaded(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T, class Use>
void each(const Array& array, std::size_t begin, std::size_t end, Use& use) {
  for (std::size_t i = begin; i < end; ++i) use(loaded<T>(array.bytes.data() + i * sizeof(T)));
}

}  // namespace detail

void for_each_number(const Array& array, std::size_t begin, std::size_t end, auto use) {
  const auto half = [&use](std::uint16_t bits) { use(float_of_half(bits)); };
  if (array.kind == 'f') {
    if (array.item == 2) return detail::each<std::uint16_t>(array, begin, end, half);
    if (array.item == 4) return detail::each<float>(array, begin, end, use);
    return detail::each<double>(array, begin, end, use);
  }
  const bool is_signed = array.kind == 'i';
  switch (array.item) {
    case 1:
      return is_signed ? detail::each<std::int8_t>(array, begin, end, use) : detail::each<std::uint8_t>(array, begin, end, use);
    case 2:
      return is_signed ? detail::each<std::int16_t>(array, begin, end, use) : detail::each<std::uint16_t>(array, begin, end, use);
    case 4:
      return is_signed ? detail::each<std::int32_t>(array, begin, end, use) : detail::each<std::uint32_t>(array, begin, end, use);
    default:
      return is_signed ? detail::each<std::int64_t>(array, begin, end, use) : detail::each<std::uint64_t>(array, begin, end, use);
  }
}

}  // namespace fedstride
