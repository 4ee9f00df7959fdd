#include "core/serialize.hpp"

#include <doctest/doctest.h>

#include <cereal/archives/binary.hpp>
#include <cereal/archives/portable_binary.hpp>
#include <sstream>

#include "tests/support/refusal.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::serialize_test {
namespace {

template <class Archive>
std::string saved(const Vector& vector) {
  std::ostringstream bytes;
  Archive archive(bytes);
  archive(vector);
  return bytes.str();
}

template <class Archive>
void load(const std::string& bytes, Vector& vector) {
  std::istringstream stream(bytes);
  Archive archive(stream);
  archive(vector);
}

std::string length_only(std::uint64_t length) { return {reinterpret_cast<const char*>(&length), sizeof length}; }

}  // namespace

TEST_CASE("a vector is saved as its length and its floats, and comes back whole") {
  for (const std::size_t size : {0, 1, 1000, 600'000}) {  // the last is read in several pieces
    CAPTURE(size);
    const Vector vector = rising_vector(size);
    const std::string bytes = saved<cereal::BinaryOutputArchive>(vector);
    CHECK(bytes.size() == 8 + 4 * size);
    Vector loaded(77, 1);
    load<cereal::BinaryInputArchive>(bytes, loaded);
    CHECK(loaded == vector);
    Vector portable;
    load<cereal::PortableBinaryInputArchive>(saved<cereal::PortableBinaryOutputArchive>(vector), portable);
    CHECK(portable == vector);
  }
}

TEST_CASE("a vector of the right size is read in place") {
  const Vector vector = rising_vector(1000);
  Vector loaded(1000);
  const float* place = loaded.data();
  load<cereal::BinaryInputArchive>(saved<cereal::BinaryOutputArchive>(vector), loaded);
  CHECK(loaded.data() == place);
  CHECK(loaded == vector);
}

TEST_CASE("a length above the bound is refused before memory is allocated") {
  Vector vector;
  CHECK_FAILURE(load<cereal::BinaryInputArchive>(length_only(std::uint64_t{1} << 62), vector), "4611686018427387904",
                "1073741824");
  CHECK(vector.size() == 0);
}

TEST_CASE("a length within the bound but beyond the bytes costs a mebibyte, not what it claims") {
  Vector vector;
  CHECK_THROWS_AS(load<cereal::BinaryInputArchive>(length_only(kMaxVectorSize) + "few", vector), cereal::Exception);
  CHECK(vector.size() <= 1 << 18);
}

}  // namespace fedstride::test::serialize_test
