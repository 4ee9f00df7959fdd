#include "secagg/ring.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace fedstride::secagg {
namespace {

template <class Word>
void add_words(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += sizeof(Word)) {
    Word a;
    Word b;
    std::memcpy(&a, to + i, sizeof a);
    std::memcpy(&b, from + i, sizeof b);
    a += b;
    std::memcpy(to + i, &a, sizeof a);
  }
}

template <class Word>
void subtract_words(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += sizeof(Word)) {
    Word a;
    Word b;
    std::memcpy(&a, to + i, sizeof a);
    std::memcpy(&b, from + i, sizeof b);
    a -= b;
    std::memcpy(to + i, &a, sizeof a);
  }
}

// Four integers of 128 bits, each with its low word first.
using FourWide = std::uint64_t __attribute__((vector_size(64)));
constexpr FourWide kHighWords = {0, ~0ULL, 0, ~0ULL, 0, ~0ULL, 0, ~0ULL};

// A carry (or borrow) out of a low word is -1 where that word wrapped, moved to the word above it.
FourWide above(FourWide wrapped) {
  constexpr FourWide kBelow = {0, 0, 2, 2, 4, 4, 6, 6};
  return __builtin_shuffle(wrapped, kBelow) & kHighWords;
}

void combine_wide(bool subtracts, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + sizeof(FourWide) <= bytes; i += sizeof(FourWide)) {
    FourWide a;
    FourWide b;
    std::memcpy(&a, to + i, sizeof a);
    std::memcpy(&b, from + i, sizeof b);
    const FourWide result =
        subtracts ? (a - b) + above(reinterpret_cast<FourWide>(a < b)) : (a + b) - above(reinterpret_cast<FourWide>(a + b < b));
    std::memcpy(to + i, &result, sizeof result);
  }
  subtracts ? subtract_words<unsigned __int128>(to + i, from + i, bytes - i)
            : add_words<unsigned __int128>(to + i, from + i, bytes - i);
}

void combine(unsigned bits, bool subtracts, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  if (bits == 32) return subtracts ? subtract_words<std::uint32_t>(to, from, bytes) : add_words<std::uint32_t>(to, from, bytes);
  if (bits == 64) return subtracts ? subtract_words<std::uint64_t>(to, from, bytes) : add_words<std::uint64_t>(to, from, bytes);
  combine_wide(subtracts, to, from, bytes);
}

}  // namespace

Ring::Ring(std::size_t size, unsigned bits) : bits_(bits), bytes_(size * (bits / 8)) {}

__int128 Ring::at(std::size_t i) const {
  unsigned __int128 value = 0;
  std::memcpy(&value, bytes_.data() + i * (bits_ / 8), bits_ / 8);
  const unsigned unused = 128 - bits_;
  return static_cast<__int128>(value << unused) >> unused;
}

void Ring::set(std::size_t i, __int128 value) { std::memcpy(bytes_.data() + i * (bits_ / 8), &value, bits_ / 8); }

void Ring::set(std::size_t first, std::span<const __int128> values) {
  if (bits_ == 128) {
    std::memcpy(bytes_.data() + first * 16, values.data(), values.size_bytes());
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) set(first + i, values[i]);
}

void Ring::get(std::size_t first, std::span<__int128> values) const {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = at(first + i);
}

void Ring::add(std::size_t first, std::span<const __int128> values) {
  std::uint8_t* to = bytes_.data() + first * (bits_ / 8);
  if (bits_ == 128) return combine_wide(false, to, reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes());
  for (std::size_t i = 0; i < values.size(); ++i, to += bits_ / 8)
    combine(bits_, false, to, reinterpret_cast<const std::uint8_t*>(&values[i]), bits_ / 8);
}

void Ring::add(const Ring& other) { combine(bits_, false, bytes_.data(), other.bytes_.data(), bytes_.size()); }

void Ring::mask(const Secret& key, bool subtracts) {
  KeyStream stream(key);
  alignas(64) std::array<std::uint8_t, 16384> piece;
  for (std::size_t done = 0; done < bytes_.size(); done += piece.size()) {
    const std::size_t count = std::min(piece.size(), bytes_.size() - done);
    stream.next(std::span(piece).first(count));
    combine(bits_, subtracts, bytes_.data() + done, piece.data(), count);
  }
  wipe(piece);
}

void Ring::add_mask(const Secret& key) { mask(key, false); }
void Ring::subtract_mask(const Secret& key) { mask(key, true); }

}  // namespace fedstride::secagg
