#include "core/program_name.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace fedstride::test::program_name_test {

TEST_CASE("hints call a program of your own as it was called, and fedstride fedstride") {
  const std::vector<std::string> commands{"run", "data"};
  for (const char* called : {"", "fedstride", "/usr/bin/fedstride", "build/release/fedstride-v3"}) {
    set_program_name(called, commands);
    CHECK(program_name() == "fedstride");
    CHECK(in_own_name("see 'fedstride run --help'") == "see 'fedstride run --help'");
  }
  set_program_name("./build/mine", commands);
  CHECK(program_name() == "./build/mine");
  CHECK(in_own_name("see 'fedstride run --help'; fedstride data; fedstride runs; fedstride") ==
        "see './build/mine run --help'; ./build/mine data; fedstride runs; fedstride");
  set_program_name("fedstride", commands);
}

}  // namespace fedstride::test::program_name_test
