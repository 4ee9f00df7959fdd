#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "secagg/primitives.hpp"

namespace fedstride::secagg {

/// A vector of integers modulo 2^bits (bits = 32, 64 or 128), little-endian: masked by clients and added by the coordinator.
class Ring {
 public:
  Ring(std::size_t size, unsigned bits);

  std::size_t size() const { return bytes_.size() / (bits_ / 8); }
  unsigned bits() const { return bits_; }
  std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::span<std::uint8_t> bytes() { return bytes_; }

  /// Reads a component as a number from -2^(bits-1) to 2^(bits-1) - 1; set() stores a value modulo 2^bits.
  __int128 at(std::size_t i) const;
  void set(std::size_t i, __int128 value);
  void set(std::size_t first, std::span<const __int128> values);
  void get(std::size_t first, std::span<__int128> values) const;

  /// Adds the values to the components that begin at `first`.
  void add(std::size_t first, std::span<const __int128> values);
  /// Requires equal sizes and moduli.
  void add(const Ring& other);
  /// Adds or subtracts the mask of a key: its ChaCha20 stream, indistinguishable from a uniform vector.
  void add_mask(const Secret& key);
  void subtract_mask(const Secret& key);

  bool operator==(const Ring&) const = default;

 private:
  void mask(const Secret& key, bool subtracts);

  unsigned bits_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace fedstride::secagg
