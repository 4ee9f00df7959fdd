#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/number_bytes.hpp"

namespace fedstride {

/// The number of bytes that hold this many bits.
constexpr std::uint64_t bytes_of_bits(std::uint64_t bits) { return (bits + 7) / 8; }

/// Appends bits to a string, filling each byte from its lowest bit. The destructor pads the last byte with zeros.
class BitWriter {
 public:
  /// `most` is the maximum number of bytes to write; the destructor cuts the string to the bytes actually written.
  BitWriter(std::string& text, std::size_t most) : text_(text), at_(text.size()) { text.resize(at_ + most + sizeof(word_)); }
  ~BitWriter() {
    if (used_ > 0) flush();
    text_.resize(at_ - (used_ > 0 ? sizeof(word_) - static_cast<std::size_t>(used_ + 7) / 8 : 0));
  }
  BitWriter& operator=(BitWriter&&) = delete;

  /// Appends the lowest `count` bits, at most 32; higher bits must be 0.
  void put(std::uint32_t bits, int count) {
    word_ |= std::uint64_t{bits} << used_;
    used_ += count;
    if (used_ < 64) return;
    flush();
    used_ -= 64;
    word_ = used_ > 0 ? std::uint64_t{bits} >> (count - used_) : 0;
  }
  /// Appends this many ones, followed by a zero.
  void put_unary(std::uint64_t ones) {
    for (; ones >= 32; ones -= 32) put(0xFFFFFFFF, 32);
    put((std::uint32_t{1} << ones) - 1, static_cast<int>(ones) + 1);
  }

 private:
  void flush() {
    std::memcpy(text_.data() + at_, &word_, sizeof word_);
    at_ += sizeof word_;
  }
  std::string& text_;
  std::size_t at_;
  std::uint64_t word_ = 0;
  int used_ = 0;
};

/// Reads the bits that a BitWriter wrote. Past the end it reads zeros, and ended() then returns false.
class BitReader {
 public:
  explicit BitReader(std::string_view text) : text_(text) {}

  std::uint32_t take(int count) {
    while (have_ < count) more();
    const auto bits = static_cast<std::uint32_t>(word_ & ((std::uint64_t{1} << count) - 1));
    word_ >>= count;
    have_ -= count;
    return bits;
  }
  /// Reads through the next zero and returns the number of ones before it; stops early and returns `most` + 1 if that is
  /// exceeded.
  std::uint64_t take_unary(std::uint64_t most) {
    std::uint64_t ones = 0;
    for (;;) {
      if (have_ == 0) more();
      const int run = std::min(std::countr_one(word_), have_);
      ones += static_cast<std::uint64_t>(run);
      if (run < have_) {
        word_ >>= run + 1;
        have_ -= run + 1;
        return std::min(ones, most + 1);
      }
      have_ = 0;
      word_ = 0;
      if (ones > most) return most + 1;
    }
  }
  /// True if all bytes were read, none past the end, and the last byte is padded with zeros.
  bool ended() const { return at_ == text_.size() && !beyond_ && have_ < 8 && word_ == 0; }

 private:
  void more() {
    if (at_ + 4 <= text_.size()) {
      std::uint32_t next = 0;
      std::memcpy(&next, text_.data() + at_, sizeof next);
      word_ |= std::uint64_t{next} << have_;
      at_ += 4;
      have_ += 32;
    } else {
      if (at_ < text_.size())
        word_ |= std::uint64_t{static_cast<unsigned char>(text_[at_++])} << have_;
      else
        beyond_ = true;
      have_ += 8;
    }
  }
  std::string_view text_;
  std::size_t at_ = 0;
  std::uint64_t word_ = 0;
  int have_ = 0;
  bool beyond_ = false;
};

/// Appends numbers of `width` bits each (at most 32), as BitWriter::put would.
inline void pack(std::span<const std::uint32_t> numbers, int width, std::string& text) {
  const std::size_t at = text.size(), size = bytes_of_bits(numbers.size() * static_cast<std::uint64_t>(width));
  text.resize(at + size + sizeof(std::uint64_t));
  char* to = text.data() + at;
  std::uint64_t word = 0;
  int used = 0;  // below 8
  for (const std::uint32_t number : numbers) {
    word |= std::uint64_t{number} << used;
    std::memcpy(to, &word, sizeof word);
    used += width;
    to += used / 8;
    word >>= used / 8 * 8;
    used %= 8;
  }
  text.resize(at + size);
}

/// The inverse of pack for `count` numbers: calls take(i, number) for the i-th of them. Returns false if the padding of the last
/// byte is not 0.
bool unpack(std::string_view text, std::size_t count, int width, auto&& take) {
  const std::uint64_t bits = count * static_cast<std::uint64_t>(width), mask = (std::uint64_t{1} << width) - 1;
  const std::size_t whole =
      text.size() < 8 || width == 0 ? 0 : std::min<std::size_t>(count, (text.size() - 8) * 8 / static_cast<std::size_t>(width));
  std::uint64_t at = 0;
  std::size_t i = 0;
  for (; i < whole; ++i, at += static_cast<std::uint64_t>(width)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at / 8, sizeof word);
    take(i, static_cast<std::uint32_t>(word >> at % 8 & mask));
  }
  for (; i < count; ++i, at += static_cast<std::uint64_t>(width)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at / 8, std::min(sizeof word, text.size() - at / 8));
    take(i, static_cast<std::uint32_t>(word >> at % 8 & mask));
  }
  return bits % 8 == 0 || static_cast<unsigned char>(text.back()) >> bits % 8 == 0;
}

}  // namespace fedstride
