#include "secagg/shamir.hpp"

namespace fedstride::secagg {
namespace {

// a^254, the inverse of nonzero a.
std::uint8_t inverse(std::uint8_t a) {
  std::uint8_t power = a;
  std::uint8_t result = 1;
  for (int bit = 1; bit < 8; ++bit) {
    power = field_product(power, power);
    result = field_product(result, power);
  }
  return result;
}

// Multiplies each byte by the same public number, all bytes at once; the time depends on the number, not on the bytes.
void multiply(Bytes32& bytes, std::uint8_t by) {
  Bytes32 power = bytes;  // bytes times x^bit
  bytes = {};
  for (unsigned rest = by; rest != 0; rest >>= 1) {
    const auto has = static_cast<std::uint8_t>(0U - (rest & 1U));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] ^= static_cast<std::uint8_t>(power[i] & has);
    for (std::uint8_t& byte : power)
      byte = static_cast<std::uint8_t>(static_cast<std::uint8_t>(byte << 1) ^ (static_cast<std::int8_t>(byte) < 0 ? 0x1B : 0));
  }
}

void add(Bytes32& to, const Bytes32& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] ^= from[i];
}

}  // namespace

std::uint8_t field_product(std::uint8_t a, std::uint8_t b) {
  unsigned product = 0;
  unsigned x = a;
  for (int bit = 0; bit < 8; ++bit) {
    product ^= x & (0U - ((b >> bit) & 1U));
    x = (x << 1) ^ (0x11BU & (0U - (x >> 7)));
  }
  return static_cast<std::uint8_t>(product);
}

std::vector<Share> split_secret(const Secret& secret, unsigned threshold, unsigned count, const Secret& randomness) {
  KeyStream stream(randomness);
  std::vector<Secret> coefficients(threshold - 1);
  for (Secret& coefficient : coefficients) stream.next(coefficient.bytes);
  std::vector<Share> shares(count);
  for (unsigned point = 1; point <= count; ++point) {
    Share& share = shares[point - 1];
    share.point = static_cast<std::uint8_t>(point);
    // Horner's scheme, from the highest power.
    for (std::size_t power = threshold - 1; power-- > 0;) {
      add(share.value.bytes, coefficients[power].bytes);
      multiply(share.value.bytes, share.point);
    }
    add(share.value.bytes, secret.bytes);
  }
  return shares;
}

Secret recovered(std::span<const Share> shares) {
  Secret secret;
  for (const Share& share : shares) {
    std::uint8_t above = 1;
    std::uint8_t below = 1;
    for (const Share& other : shares) {
      if (other.point == share.point) continue;
      above = field_product(above, other.point);
      below = field_product(below, other.point ^ share.point);
    }
    Secret part = share.value;
    multiply(part.bytes, field_product(above, inverse(below)));
    add(secret.bytes, part.bytes);
  }
  return secret;
}

}  // namespace fedstride::secagg
