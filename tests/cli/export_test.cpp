#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "tests/cli/refusal.hpp"
#include "tests/support/events.hpp"

namespace fedstride::test::export_test {
namespace {

constexpr const char* kFile = "events.out.tfevents.fedstride";

// A second reader: Google's protobuf with the fields of TensorFlow's event.proto and summary.proto.
constexpr const char* kReader = R"(
import struct, sys
try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    sys.exit(77)
file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="t", syntax="proto3")
F = descriptor_pb2.FieldDescriptorProto
def message(into, name, fields):
    m = into.add(name=name)
    for field, number, kind, label, of in fields:
        f = m.field.add(name=field, number=number, type=kind, label=label, type_name=of)
        if field == "simple_value":  # of a oneof, so that a zero is written
            m.oneof_decl.add(name="kind")
            f.oneof_index = 0
message(file.message_type, "Value", [("tag", 1, F.TYPE_STRING, 1, None), ("simple_value", 2, F.TYPE_FLOAT, 1, None)])
message(file.message_type, "Summary", [("value", 1, F.TYPE_MESSAGE, 3, ".t.Value")])
message(file.message_type, "Event", [("wall_time", 1, F.TYPE_DOUBLE, 1, None), ("step", 2, F.TYPE_INT64, 1, None),
                                     ("file_version", 3, F.TYPE_STRING, 1, None), ("summary", 5, F.TYPE_MESSAGE, 1, ".t.Summary")])
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
kind = pool.FindMessageTypeByName("t.Event")
Event = message_factory.GetMessageClass(kind) if hasattr(message_factory, "GetMessageClass") else message_factory.MessageFactory(pool).GetPrototype(kind)
data = open(sys.argv[1], "rb").read()
while data:
    size = struct.unpack("<Q", data[:8])[0]
    event = Event.FromString(data[12:12 + size])
    unknown = event.SerializeToString(deterministic=True) != data[12:12 + size]
    if unknown:
        sys.exit("protobuf would write other bytes")
    for value in event.summary.value:
        print(event.step, value.tag, "%.9g" % value.simple_value)
    data = data[16 + size:]
)";

}  // namespace

TEST_CASE("a run and a sweep become folders with event files, and what rounds.jsonl says stands in them") {
  const TemporaryFolder folder;
  write_table(folder.path() / "data");
  REQUIRE(run_program(federation(folder, {"--out", folder / "first"})).code == 0);
  const Outcome outcome = run_program({"export", folder / "first", "--tensorboard", folder / "board"});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(line_count(outcome.out) == 2);
  CHECK(outcome.out.ends_with("tensorboard --logdir " + (folder / "board") + "\n"));
  const auto events = EventReader::read(read_file(folder.path() / "board/first" / kFile));
  REQUIRE(events.size() == 3);
  const std::string rounds = read_file(folder / "first/rounds.jsonl");
  for (std::size_t i = 1; i < events.size(); ++i) {
    CHECK(events[i].step == i);
    for (const char* tag : {"accuracy/test", "loss/test", "training/steps", "clients/accuracy/2", "time/seconds"}) {
      CAPTURE(tag);
      CHECK(events[i].scalars.contains(tag));
    }
  }
  const auto at = rounds.find("\"test_accuracy\":");
  REQUIRE(at != std::string::npos);
  CHECK(events[1].scalars.at("accuracy/test") == std::strtof(rounds.c_str() + at + 16, nullptr));
}

TEST_CASE("Google's protobuf reads the same numbers") {
  const TemporaryFolder folder;
  write_table(folder.path() / "data");
  REQUIRE(run_program(federation(folder, {"--out", folder / "first"})).code == 0);
  REQUIRE(run_program({"export", folder / "first", "--tensorboard", folder / "board"}).code == 0);
  write_file(folder / "read.py", kReader);
  const std::string file = (folder.path() / "board/first" / kFile).string();
  const int status = std::system(
      ("PATH=/usr/bin:$PATH python3 '" + (folder / "read.py") + "' '" + file + "' > '" + (folder / "said") + "' 2>&1").c_str());
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
    MESSAGE("python3-protobuf is not installed");
    return;
  }
  const std::string said = read_file(folder / "said");
  CHECK_MESSAGE(status == 0, said);
  std::size_t count = 0;
  for (const auto& event : EventReader::read(read_file(file)))
    for (const auto& [tag, value] : event.scalars) {
      char line[200];
      std::snprintf(line, sizeof line, "%d %s %.9g\n", static_cast<int>(event.step), tag.c_str(), static_cast<double>(value));
      CHECK_MESSAGE(said.find(line) != std::string::npos, line);
      ++count;
    }
  CHECK(count == line_count(said));
}

TEST_CASE("what cannot be exported is refused in one line") {
  const TemporaryFolder folder;
  write_table(folder.path() / "data");
  REQUIRE(run_program(federation(folder, {"--out", folder / "run"})).code == 0);
  const Refusal rows[] = {
      {{"export"}, 2, {"DIR"}},
      {{"export", "@/run"}, 2, {"--tensorboard"}},
      {{"export", "@/run", "--tensorboard", ""}, 2, {"tensorboard", "''"}},
      {{"export", "@/none", "--tensorboard", "@/board"}, 2, {"@/none"}},
      {{"export", "@/run", "--tensorboard", "@/data/train.csv"}, 1, {"@/data/train.csv"}},
  };
  for (const auto& row : rows) check_refused(row, folder);
}

}  // namespace fedstride::test::export_test
