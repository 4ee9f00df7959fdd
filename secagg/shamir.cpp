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
    for (std::size_t power = threshold - 1; power-- > 0;)
      for (std::size_t i = 0; i < 32; ++i)
        share.value.bytes[i] = field_product(share.value.bytes[i] ^ coefficients[power].bytes[i], share.point);
    for (std::size_t i = 0; i < 32; ++i) share.value.bytes[i] ^= secret.bytes[i];
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
    const std::uint8_t weight = field_product(above, inverse(below));
    for (std::size_t i = 0; i < 32; ++i) secret.bytes[i] ^= field_product(share.value.bytes[i], weight);
  }
  return secret;
}

}  // namespace fedstride::secagg
