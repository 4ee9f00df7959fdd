#include "core/event_file.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/support/events.hpp"

namespace fedstride::test::event_file_test {

TEST_CASE("the checksum is Castagnoli's") {
  // RFC 3720, B.4, and the usual check value.
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c("") == 0);
}

TEST_CASE("a file begins with the bytes that TensorFlow's own files begin with") {
  const std::string bytes = first_event(1.6e9);
  // The length 24 with its masked checksum, the field wall_time, the version.
  CHECK(bytes.substr(0, 13) == std::string("\x18\0\0\0\0\0\0\0\xa3\x7fK\"\t", 13));
  CHECK(bytes.substr(21, 15) == "\x1a\rbrain.Event:2");
  CHECK(bytes.size() == 8 + 4 + 24 + 4);
}

TEST_CASE("a reader of its own finds every number again, and a changed bit") {
  const Scalar scalars[] = {
      {"accuracy/test", 0.4421}, {"loss/test", 1e30}, {"clients/loss/3", -0.0}, {"privacy/epsilon", std::nan("")}};
  std::string file = first_event(100);
  file += scalar_event(101.25, 1, scalars) + scalar_event(103.5, 3000000000, {scalars, 1});
  const auto events = EventReader::read(file);
  REQUIRE(events.size() == 3);
  CHECK(events[0].file_version == "brain.Event:2");
  CHECK(events[1].wall_time == 101.25);
  CHECK(events[1].step == 1);
  CHECK(events[1].scalars.at("accuracy/test") == 0.4421f);
  CHECK(events[1].scalars.at("loss/test") == 1e30f);
  CHECK(std::signbit(events[1].scalars.at("clients/loss/3")));
  CHECK(std::isnan(events[1].scalars.at("privacy/epsilon")));
  CHECK(events[2].step == 3000000000);
  for (std::size_t i = 0; i < file.size(); i += 3) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 16);
    CHECK_THROWS(EventReader::read(changed));
  }
}

TEST_CASE("what a writer can go on with is whole records in the order of their steps") {
  const Scalar scalars[] = {{"accuracy/test", 0.5}};
  std::string file = first_event(1);
  std::vector<std::size_t> ends{file.size()};
  for (std::int64_t step = 1; step <= 300; ++step) {  // steps of one byte and of two
    file += scalar_event(2, step, scalars);
    ends.push_back(file.size());
  }
  for (const std::int64_t last : {0, 1, 127, 128, 300}) {
    const EventsRead read = events_up_to(file, last);
    CHECK(read.last_step == last);
    CHECK(read.bytes == ends[static_cast<std::size_t>(last)]);
  }
  CHECK(events_up_to(file, 1000).bytes == file.size());
  for (std::size_t cut = 0; cut < ends[2]; ++cut) {
    const std::size_t expected = cut < ends[0] ? 0 : cut < ends[1] ? ends[0] : ends[1];
    CHECK(events_up_to(std::string_view(file).substr(0, cut), 300).bytes == expected);
    std::string changed = file;
    changed[cut] = static_cast<char>(changed[cut] ^ 1);
    CHECK(events_up_to(changed, 300).bytes == (cut < ends[0] ? 0 : cut < ends[1] ? ends[0] : ends[1]));
  }
  CHECK(events_up_to(file.substr(ends[0]), 300).bytes == 0);                              // without its beginning
  CHECK(events_up_to(first_event(1) + scalar_event(2, 2, scalars), 300).last_step == 0);  // without step 1
  CHECK(events_up_to(std::string(16, '\xff'), 300).bytes == 0);
  CHECK(begins_with_event(scalar_event(2, 1, scalars) + "x", scalar_event(1, 1, scalars)));
  CHECK_FALSE(begins_with_event(scalar_event(1, 2, scalars), scalar_event(1, 1, scalars)));
  CHECK_FALSE(begins_with_event(scalar_event(1, 1, {}), scalar_event(1, 1, scalars)));
  CHECK_FALSE(begins_with_event("", ""));
}

}  // namespace fedstride::test::event_file_test
