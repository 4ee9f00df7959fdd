#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "core/text.hpp"
#include "tests/sim/net/golden_frames.hpp"

// docs/reference/WIRE.md is read as a reader reads it: what its tables say is compared with what the program does.

namespace fedstride::test::wire_document_test {
namespace {

using Row = std::vector<std::string>;

std::string document() { return read_file(FEDSTRIDE_SOURCE_DIR "/docs/reference/WIRE.md"); }

/// The cells of the first table behind a line, without the backquotes around them and without its two head lines.
std::vector<Row> table_behind(const std::string& heading) {
  const std::string text = document();
  std::vector<Row> rows;
  bool found = false;
  for (const auto line : split(text, '\n')) {
    if (!found) {
      found = line == heading;
    } else if (line.starts_with('|')) {
      Row row;
      for (const auto cell : split(line.substr(1, line.size() - 2), '|')) {
        std::string_view value = trimmed(cell);
        if (value.size() > 1 && value.front() == '`' && value.back() == '`') value = value.substr(1, value.size() - 2);
        row.emplace_back(value);
      }
      rows.push_back(row);
    } else if (!rows.empty()) {
      break;
    }
  }
  REQUIRE_MESSAGE(rows.size() > 2, heading);
  return {rows.begin() + 2, rows.end()};
}

/// "8192 + 4 P + 10": the sum, P being `symbol`.
std::uint64_t sum(const std::string& text, std::uint64_t symbol) {
  std::uint64_t all = 0;
  for (const auto part : split(text, '+')) {
    const std::uint64_t number = std::strtoull(std::string(part).c_str(), nullptr, 10);
    const char last = trimmed(part).back();
    all += last == 'P' || last == 'n' ? number * symbol : number;
  }
  return all;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}
std::string little_endian(std::uint64_t number, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

/// One field of the golden body, where the document's types put it.
struct Field {
  Row row;
  std::size_t begin = 0;
  std::size_t prefix = 0;           // bytes of the number itself, or of the n in front
  std::optional<std::size_t> each;  // bytes of one of n
  std::size_t size = 0;
  std::string value;
};

std::vector<Field> fields_of(FrameKind kind) {
  std::map<std::string, std::string> bytes_of_type;
  for (const Row& row : table_behind("## Bodies")) bytes_of_type[row[0]] = row[1];
  const std::string body = test::body_of(golden_frame(kind));
  CHECK(body[0] == 1);
  std::vector<Field> fields;
  std::size_t at = 1;
  for (const Row& row : table_behind("### `" + std::string(frame_name(kind)) + "`")) {
    CAPTURE(row[0]);
    REQUIRE(bytes_of_type.contains(row[1]));
    const std::string& bytes = bytes_of_type[row[1]];
    Field field{.row = row, .begin = at, .prefix = sum(bytes, 0), .each = {}, .size = sum(bytes, 0), .value = {}};
    REQUIRE(at + field.prefix <= body.size());
    if (bytes.ends_with('n')) {
      field.each = sum(bytes, 1) - field.prefix;
      field.size += *field.each * little_endian(std::string_view(body).substr(at, field.prefix));
    }
    REQUIRE(at + field.size <= body.size());
    field.value = body.substr(at, field.size);
    at += field.size;
    fields.push_back(field);
  }
  CHECK(at == body.size());
  return fields;
}

/// True if the field holds the value in the column `golden`.
bool holds(const Field& field) {
  const std::string& said = field.row[3];
  const std::uint64_t number = little_endian(std::string_view(field.value).substr(0, field.prefix));
  if (said.starts_with('"')) return '"' + field.value.substr(field.prefix) + '"' == said;
  if (field.row[1] == "f64") {
    double value = 0;
    std::memcpy(&value, field.value.data(), sizeof value);
    return said == "NaN" ? value != value : std::strtod(said.c_str(), nullptr) == value;
  }
  return std::to_string(number) == split(said, ' ').front();
}

}  // namespace

TEST_CASE("The document's header is the header") {
  const std::string frame = golden_frame(FrameKind::train);
  std::size_t at = 0;
  std::map<std::string, std::string> values;
  for (const Row& row : table_behind("## Header")) {
    CHECK(sum(row[0], 0) == at);
    values[row[2]] = frame.substr(at, sum(row[1], 0));
    at += sum(row[1], 0);
    if (row[2] == "magic") CHECK(row[3] == "`" + std::string(kFrameMagic) + "` in ASCII");
    if (row[2] == "version") CHECK(row[3] == std::to_string(kProtocolVersion));
  }
  CHECK(at == kHeaderBytes);
  CHECK(document().find("Each frame begins with " + std::to_string(kHeaderBytes) + " bytes") != std::string::npos);
  CHECK(document().find("This is version " + std::to_string(kProtocolVersion) + ".") != std::string::npos);
  CHECK(values["magic"] == kFrameMagic);
  CHECK(little_endian(values["version"]) == kProtocolVersion);
  CHECK(little_endian(values["kind"]) == static_cast<std::uint64_t>(FrameKind::train));
  CHECK(little_endian(values["length"]) == frame.size() - at);
  const auto whole = Hash().text(frame.substr(0, 16)).text(frame.substr(32)).digest();
  CHECK(values["digest"] == std::string(whole.begin(), whole.begin() + 16));
}

TEST_CASE("The document's kinds have the numbers, names and largest bodies of the program") {
  const auto rows = table_behind("## Kinds");
  REQUIRE(rows.size() == kLastFrameKind);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto kind = static_cast<FrameKind>(i + 1);
    CAPTURE(frame_name(kind));
    CHECK(rows[i][0] == std::to_string(i + 1));
    CHECK(rows[i][1] == frame_name(kind));
    for (const std::uint64_t parameters : {0, 1, 1000, 26010})
      CHECK(largest_body(kind, parameters) == sum(rows[i][4], parameters));
  }
}

TEST_CASE("Read by the document's tables, every golden body ends where it ends and holds what they say") {
  test::for_each_golden([]<class Message>(const Message&) {
    CAPTURE(frame_name(Message::kKind));
    for (const Field& field : fields_of(Message::kKind)) {
      CAPTURE(field.row[0]);
      CHECK(holds(field));
    }
  });
}

// `golden` is checked above.
TEST_CASE("The document's numbers of a report are those of the list, with its words") {
  std::vector<Row> rows = table_behind("### `update`");
  std::erase_if(rows, [](const Row& row) { return !row[0].starts_with("report."); });
  auto row = rows.begin();
  for_each_report_field([&]<class Value>(const ReportField<Value>& field) {
    if (field.is(ReportRule::measured)) return;
    const std::string type = std::is_same_v<Value, ClientId> ? "u32"
                             : std::is_integral_v<Value>     ? "u64"
                             : field.kIsNumber               ? "f64"
                                                             : "releases";
    REQUIRE_MESSAGE(row != rows.end(), field.name);
    CHECK(row->at(0) == "report." + std::string(field.name));
    CHECK(row->at(1) == type);
    CHECK(row->at(4) == field.text);
    ++row;
  });
  CHECK(row == rows.end());
}

TEST_CASE("What the document says a field is at most is read, and one more is refused") {
  int bounds = 0;
  test::for_each_golden([&]<class Message>(const Message&) {
    const std::string body = test::body_of(golden_frame(Message::kKind));
    for (const Field& field : fields_of(Message::kKind)) {
      CAPTURE(frame_name(Message::kKind));
      CAPTURE(field.row[0]);
      CHECK(field.row[2].empty() ==
            (field.row[1] != "text" && field.row[1] != "file" && field.row[1] != "flag" && field.row[1] != "releases" &&
             field.row[1] != "columns" && field.row[1] != "counts" && field.row[1] != "rows" && field.row[1] != "numbers"));
      if (field.row[2].empty()) continue;
      const std::uint64_t most = sum(field.row[2], 0);
      const auto with = [&](std::uint64_t n) {
        return body.substr(0, field.begin) + little_endian(n, field.prefix) + std::string(field.each.value_or(0) * n, 'x') +
               body.substr(field.begin + field.size);
      };
      CHECK(decode<Message>(with(most)));
      CHECK_FALSE(decode<Message>(with(most + 1)));
      ++bounds;
    }
  });
  CHECK(bounds > 20);
}

TEST_CASE("The worked example is the golden train frame") {
  const std::string text = document();
  const std::string begin = "```frame\n";
  const auto from = text.find(begin);
  REQUIRE(from != text.npos);
  const auto block = std::string_view(text).substr(from + begin.size(), text.find("```", from + 3) - from - begin.size());
  std::string bytes;
  for (const auto line : split(block, '\n')) bytes += test::from_hex(line.substr(0, 48));
  CHECK(test::to_hex(bytes) == test::to_hex(golden_frame(FrameKind::train)));
  CHECK(text.find("The golden `train` frame, " + std::to_string(bytes.size()) + " bytes:") != text.npos);
  CHECK(block.find("length: " + std::to_string(bytes.size() - kHeaderBytes) + " bytes of body") != block.npos);
}

TEST_CASE("Each of the document's limits stands in the sources of the protocol") {
  std::string sources;
  for (const auto& file : std::filesystem::directory_iterator(FEDSTRIDE_SOURCE_DIR "/sim/net"))
    sources += read_file(file.path().string());
  for (const Row& row : table_behind("## Limits")) {
    REQUIRE(row.size() == 2);
    CAPTURE(row[0]);
    int limits = 0;
    for (const auto code : split(row[1], '`')) {
      if (trimmed(code).empty()) continue;
      CAPTURE(code);
      CHECK(sources.find(code) != std::string::npos);
      ++limits;
    }
    CHECK(limits > 0);
  }
}

}  // namespace fedstride::test::wire_document_test
