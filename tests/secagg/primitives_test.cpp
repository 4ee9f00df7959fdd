// Published vectors of the primitives, and that each refuses what is not its own.
#include "secagg/primitives.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "core/random.hpp"
#include "secagg/ring.hpp"
#include "tests/secagg/federation.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::primitives_test {
namespace {

using namespace secagg;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}
Bytes32 key_of(const std::string& hex) {
  Bytes32 key{};
  std::ranges::copy(from_hex(hex), key.begin());
  return key;
}

}  // namespace

TEST_CASE("X25519 as in RFC 7748, section 6.1, and a key of small order is refused") {
  const Secret bob(key_of("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
  const Bytes32 alices = key_of("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  CHECK(hex_of(public_key(bob)) == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  CHECK(hex_of(shared_secret(bob, alices).bytes) == "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
  CHECK_FAILURE(shared_secret(bob, Bytes32{}), "public");
}

TEST_CASE("a pair's secret is computed once for both sides, and equals what each side computes itself") {
  const ExchangeKey alice(secret_of("alice")), bob(secret_of("bob")), eve(secret_of("eve"));
  PairSecrets pairs;
  for (int turn = 0; turn < 2; ++turn) {
    const Bytes32 pair = alice.shared_with(bob.public_half()).bytes;
    CHECK(pairs.shared(alice, bob.public_half()).bytes == pair);
    CHECK(pairs.shared(eve, bob.public_half()).bytes == eve.shared_with(bob.public_half()).bytes);
    CHECK(pairs.shared(bob, alice.public_half()).bytes == pair);
    CHECK(pairs.shared(bob, bob.public_half()).bytes == bob.shared_with(bob.public_half()).bytes);
  }
  CHECK_FAILURE(pairs.shared(alice, Bytes32{}), "public");
}

TEST_CASE("Ed25519 as in RFC 8032, section 7.1, test 2") {
  const Secret key(key_of("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
  CHECK(hex_of(verifying_key(key)) == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  Signature signature = sign(key, "\x72");
  CHECK(hex_of(signature) ==
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d2916"
        "12bb"
        "0c00");
  CHECK(verifies(verifying_key(key), "\x72", signature));
  CHECK_FALSE(verifies(verifying_key(key), "\x73", signature));
  signature[5] ^= 1;
  CHECK_FALSE(verifies(verifying_key(key), "\x72", signature));
}

TEST_CASE("derived keys differ by input, salt and purpose; a box opens with its key and data only") {
  const Secret one = secret_of("one"), other = secret_of("other");
  CHECK(derived(one, "s", "a").bytes == derived(one, "s", "a").bytes);
  for (const Secret& different : {derived(other, "s", "a"), derived(one, "t", "a"), derived(one, "s", "b")})
    CHECK(different.bytes != derived(one, "s", "a").bytes);

  const std::string box = encrypted(one, "for 3", "two shares");
  std::string plain;
  CHECK(decrypt(one, "for 3", box, plain));
  CHECK(plain == "two shares");
  CHECK_FALSE(decrypt(other, "for 3", box, plain));
  CHECK_FALSE(decrypt(one, "for 4", box, plain));
  CHECK_FALSE(decrypt(one, "for 3", box.substr(1), plain));
  CHECK_FALSE(decrypt(one, "for 3", box.substr(0, 8), plain));
  for (std::size_t i = 0; i < box.size(); ++i) {
    std::string changed = box;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(decrypt(one, "for 3", changed, plain));
  }
}

TEST_CASE("masks are the ChaCha20 stream (RFC 8439, A.1), in any pieces, and come off again in every ring") {
  const Secret zero;
  KeyStream stream(zero);
  Bytes32 block{};
  stream.next(block);
  CHECK(hex_of(block) == "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7");
  for (const unsigned bits : {32U, 64U, 128U}) {
    for (const std::size_t size : {1UL, 8UL, 5000UL}) {
      Ring ring(size, bits);
      ring.add_mask(zero);
      CHECK(hex_of(ring.bytes().first(4)) == "76b8e0ad");
      ring.subtract_mask(zero);
      CHECK(ring == Ring(size, bits));
    }
    Ring ring(3, bits);
    const __int128 most = (static_cast<__int128>(1) << (bits - 2)) - 1 + (static_cast<__int128>(1) << (bits - 2));
    for (const __int128 value : {static_cast<__int128>(-5), static_cast<__int128>(0), most, -most - 1}) {
      ring.set(1, value);
      CHECK(ring.at(1) == value);
    }
    CHECK(ring.at(0) == 0);
    ring.set(0, -1);
    Ring sum = ring;
    sum.add(ring);
    CHECK(sum.at(0) == -2);
  }
}

TEST_CASE("components of 128 bits are added with their carries, and masks taken off with their borrows") {
  RandomStream random(5, {Purpose::test});
  const auto word = [&] { return random.below(3) == 0 ? ~0ULL : random.below(~0ULL); };
  const auto component = [&] { return static_cast<__int128>(static_cast<unsigned __int128>(word()) << 64 | word()); };
  for (std::size_t size = 1; size < 20; ++size) {
    std::vector<__int128> a(size), b(size);
    std::ranges::generate(a, component);
    std::ranges::generate(b, component);
    Ring ring(size, 128), mask(size, 128);
    ring.set(0, a);
    ring.add(0, b);
    for (std::size_t i = 0; i < size; ++i)
      CHECK(ring.at(i) == static_cast<__int128>(static_cast<unsigned __int128>(a[i]) + static_cast<unsigned __int128>(b[i])));
    const Ring before = ring;
    mask.add_mask(secret_of("mask"));
    ring.subtract_mask(secret_of("mask"));
    CHECK(ring != before);
    ring.add(mask);
    CHECK(ring == before);
  }
}

}  // namespace fedstride::test::primitives_test
