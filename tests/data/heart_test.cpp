#include "data/heart.hpp"

#include <doctest/doctest.h>

#include <map>

#include "tests/data/files.hpp"

namespace fedstride::test::heart_test {
namespace {

/// Files of the published form and length: a patient's age counts the complete records of a hospital, and every third line has a
/// gap.
void write_hospitals(const TemporaryFolder& folder, std::size_t more = 0) {
  for (const HeartHospital& hospital : kHeartHospitals) {
    std::string text;
    for (std::size_t i = 0; i < hospital.patients + more; ++i) {
      text += std::to_string(i) + ",1," + std::to_string(1 + i % 4) + ",145,233,0," + std::to_string(i % 3) +
              ",150,0,2.3,3,0,?," + std::to_string(i % 5) + "\n";
      if (i % 3 == 0) text += "63,1,1,?,233,1,2,150,0,2.3,3,0,6,0\n";
    }
    write(folder / ("processed." + std::string(hospital.name) + ".data"), text);
  }
}

}  // namespace

TEST_CASE("a hospital's incomplete records do not count, its fixed rows are tested, two columns become five of 0 and 1") {
  const TemporaryFolder folder;
  write_hospitals(folder);
  const DataPair pair = load_heart(folder.path());
  CHECK(pair.train.size() == 486);
  CHECK(pair.test.size() == 254);
  CHECK(pair.train.client_names == std::vector<std::string>{"cleveland", "hungarian", "switzerland", "va"});
  std::map<std::uint32_t, std::size_t> tested;
  for (const Dataset* part : {&pair.train, &pair.test})
    for (std::size_t row = 0; row < part->size(); ++row) {
      const float* x = &part->features[row * 13];
      const auto record = static_cast<std::size_t>(x[0]);
      CHECK(kHeartHospitals[part->clients[row]].is_test(record) == (part == &pair.test));
      CHECK(part->values[row] == (record % 5 > 0 ? 1 : 0));
      for (std::size_t value = 1; value < 4; ++value) CHECK(x[7 + value] == (record % 4 == value ? 1 : 0));
      for (std::size_t value = 1; value < 3; ++value) CHECK(x[10 + value] == (record % 3 == value ? 1 : 0));
      if (part == &pair.test) ++tested[part->clients[row]];
    }
  CHECK(tested == std::map<std::uint32_t, std::size_t>{{0, 104}, {1, 89}, {2, 16}, {3, 45}});
}

TEST_CASE("other files than the published ones are refused by file and line") {
  const TemporaryFolder folder;
  write_hospitals(folder, 1);
  CHECK_FAILURE(load_heart(folder.path()), "processed.cleveland.data", "304 complete records", "303");
  write_hospitals(folder);
  write(folder / "processed.va.data", "63,1,1,145,233,1,2,150,0,2.3,3,0,6\n");
  CHECK_FAILURE(load_heart(folder.path()), "processed.va.data', line 1", "13 fields");
  write(folder / "processed.va.data", "63,1,1,145,cholesterol,1,2,150,0,2.3,3,0,6,0\n");
  CHECK_FAILURE(load_heart(folder.path()), "processed.va.data', line 1", "'cholesterol'");
}

}  // namespace fedstride::test::heart_test
