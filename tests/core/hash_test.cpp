#include "core/hash.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "tests/support/vectors.hpp"

namespace fedstride::test::hash_test {
namespace {

TEST_CASE("SHA-256 gives the known answers of FIPS 180-4") {
  CHECK(Hash().hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Hash().text("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(Hash().text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex() ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(Hash().text(std::string(1000000, 'a')).hex() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("a hash does not depend on the pieces it was fed in") {
  CHECK(Hash().text("a").text("").text("bc").hex() == Hash().text("abc").hex());
  Hash moved = std::move(Hash().text("ab"));
  CHECK(moved.text("c").hex() == Hash().text("abc").hex());
}

TEST_CASE("numbers are hashed by their bytes, lowest first") {
  CHECK(Hash().value(std::uint32_t{0x64636261}).hex() == Hash().text("abcd").hex());
  const std::uint16_t pair[] = {0x6261, 0x6463};
  CHECK(Hash().values(std::span<const std::uint16_t>(pair)).hex() == Hash().text("abcd").hex());
}

TEST_CASE("two models have one hash only if every bit is the same") {
  const Vector model = vector_of({1.0F, 0.0F, -2.5F});
  const std::string hash = model_hash(model);
  CHECK(hash == model_hash(Vector(model)));
  // 1.0, 0.0 and -2.5 as IEEE 754 singles, lowest byte first.
  CHECK(hash == Hash().text(std::string("\0\0\x80\x3f\0\0\0\0\0\0\x20\xc0", 12)).hex());
  Vector other = model;
  other[1] = -0.0F;
  CHECK(model_hash(other) != hash);
  CHECK(model_hash(vector_of({1.0F, 0.0F})) != hash);
}

}  // namespace
}  // namespace fedstride::test::hash_test
