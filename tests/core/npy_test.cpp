#include "core/npy.hpp"

#include <doctest/doctest.h>

#include <string>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::npy_test {
namespace {

std::string header_for(const std::string& dictionary) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(dictionary.size());
  text += '\0';
  return text + dictionary;
}

}  // namespace

TEST_CASE("an array is written as NumPy writes it") {
  const TemporaryFolder folder;
  const std::string path = folder / "two.npy";
  const std::vector<std::uint32_t> numbers{7, 258};
  write_npy(path, numbers);
  const std::string text = read_file(path);
  // By numpy.save of numpy.array([7, 258], dtype='<u4'): 118 bytes of header, then the numbers.
  REQUIRE(text.size() == 128 + 8);
  CHECK(text.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(text.substr(10, 60) == "{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }   ");
  CHECK(text[127] == '\n');
  CHECK(text.substr(128) == std::string("\x07\x00\x00\x00\x02\x01\x00\x00", 8));
  CHECK(read_npy(path, 2) == numbers);
}

TEST_CASE("an empty array and a long one come back") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.npy";
  for (const std::size_t size : {std::size_t{0}, std::size_t{100'000}}) {
    std::vector<std::uint32_t> numbers(size);
    for (std::size_t i = 0; i < size; ++i) numbers[i] = static_cast<std::uint32_t>(i * 2654435761U);
    write_npy(path, numbers);
    CHECK(read_npy(path, size) == numbers);
  }
}

TEST_CASE("other bytes are refused with the reason") {
  const TemporaryFolder folder;
  const std::string path = folder / "bad.npy";
  const auto read = [&](const std::string& text) {
    write_file(path, text);
    return read_npy(path, 4);
  };
  CHECK_FAILURE(read(""), "bad.npy");
  CHECK_FAILURE(read("PK\x03\x04 a zip"), "bad.npy");
  CHECK_FAILURE(read(std::string("\x93NUMPY\x01\x00\xff\xff", 10)), "bad.npy");
  CHECK_FAILURE(read(header_for("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n")), "bad.npy");
  CHECK_FAILURE(read(header_for("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n")), "bad.npy");
  CHECK_FAILURE(read(header_for("{'descr': '<u4', 'fortran_order': False, 'shape': (1, 1), }\n")), "bad.npy");
  const std::string claims = "{'descr': '<u4', 'fortran_order': False, 'shape': (";
  CHECK_FAILURE(read(header_for(claims + "99999999999999999999,), }\n")), "bad.npy");
  CHECK_FAILURE(read(header_for(claims + "4611686018427387904,), }\n")), "4611686018427387904", "0");
  CHECK_FAILURE(read(header_for(claims + "2,), }\n") + "1234"), "2", "4");
  CHECK(read(header_for(claims + "1,), }\n") + "1234").size() == 1);
}

}  // namespace fedstride::test::npy_test
