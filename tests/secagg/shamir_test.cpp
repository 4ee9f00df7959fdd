// The vectors are of a second program, with tables instead of products: tests/secagg/shamir_vectors.py.
#include "secagg/shamir.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "core/hash.hpp"
#include "tests/secagg/federation.hpp"

namespace fedstride::test::shamir_test {
namespace {

using namespace secagg;

struct Vector {
  unsigned threshold;
  unsigned count;
  const char* first;  ///< share
  const char* hash;   ///< of all shares
};
const Vector kVectors[] = {{1, 1, "dd76aed4775b76abb37fbdd3c892124ee43a70ca41161e0b3abe453386847599",
                            "ae791c68d708557cb4ba703f94cba729f8e1256c277945bca3da5f81717bf19a"},
                           {2, 3, "c6139f46651891fe238dc06a5fe312c0e1dee3c6627f15bbcf3e254d0f119d5d",
                            "3662cf9427daea6b7f7c1f32930cc1e9f54981f2e4af2122ec9e430b6bfb3aff"},
                           {3, 5, "63b4fec9e992893a29731b19542c3ed3e124eec8de2ad96a80c4e3a705c85fe0",
                            "57ceeaa9c30bdf757eb556928feb29d5e0afc1fa700a208d7179c55b0c72f0c7"},
                           {24, 41, "15a7254efb5911ba1aad0d976d2baf9c562cc761eb3147cdbdc9b9dcbeebd5d6",
                            "51ae51fb4a992ef71ce2f513529420f2b68cc09834fc3d21107e3284218ee177"},
                           {200, 255, "61dc90939574326608c61e17653693ece37f375eb9e7d68e955e491d209f3eb8",
                            "560c17db443841b9c0d06ea643233108101443d285979c3efaac297a571d0a2c"}};

std::string text(const Vector& vector) { return std::to_string(vector.threshold) + " " + std::to_string(vector.count); }

}  // namespace

TEST_CASE("shares are those of the second program, and any threshold of them gives the secret") {
  for (const Vector& vector : kVectors) {
    const Secret secret = secret_of("secret " + text(vector));
    std::vector<Share> shares = split_secret(secret, vector.threshold, vector.count, secret_of("randomness " + text(vector)));
    Hash hash;
    for (const Share& share : shares) hash.text(text_of(share.value.bytes));
    CHECK(hex_of(shares[0].value.bytes) == vector.first);
    CHECK(hash.hex() == vector.hash);
    for (int turn = 0; turn < 5; ++turn) {
      std::ranges::rotate(shares, shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 3));
      CHECK(recovered(std::span(shares).first(vector.threshold)).bytes == secret.bytes);
      CHECK(recovered(shares).bytes == secret.bytes);
      if (vector.threshold > 1) CHECK(recovered(std::span(shares).first(vector.threshold - 1)).bytes != secret.bytes);
    }
  }
}

TEST_CASE("products are those of the field: by powers of 3, which are all elements but 0") {
  std::vector<bool> seen(256);
  std::uint8_t power = 1;
  for (int i = 0; i < 255; ++i) {
    CHECK_FALSE(seen[power]);
    seen[power] = true;
    const int times_three = power ^ (power << 1) ^ (power >= 128 ? 0x11B : 0);
    CHECK(field_product(power, 3) == times_three);
    CHECK(field_product(3, power) == times_three);
    power = field_product(power, 3);
  }
  CHECK(power == 1);
  CHECK_FALSE(seen[0]);
  for (int a = 0; a < 256; ++a) CHECK(field_product(static_cast<std::uint8_t>(a), 0) == 0);
}

// All polynomials of one byte are counted: what was seen fits every secret equally often.
TEST_CASE("with one share less than the threshold every secret stays equally possible") {
  const auto value = [](int secret, int first, int second, std::uint8_t point) {
    const auto top = field_product(static_cast<std::uint8_t>(second), point);
    return secret ^ field_product(static_cast<std::uint8_t>(top ^ first), point);
  };
  for (int secret = 0; secret < 256; ++secret) {
    int fit_one = 0;
    for (int first = 0; first < 256; ++first) fit_one += value(secret, first, 0, 9) == 0x5A ? 1 : 0;
    CHECK(fit_one == 1);  // threshold 2, one share
  }
  for (int secret = 0; secret < 256; secret += 15) {
    int fit_two = 0;
    for (int first = 0; first < 256; ++first)
      for (int second = 0; second < 256; ++second)
        fit_two += value(secret, first, second, 2) == 0xC3 && value(secret, first, second, 7) == 0x11 ? 1 : 0;
    CHECK(fit_two == 1);  // threshold 3, two shares
  }
}

}  // namespace fedstride::test::shamir_test
