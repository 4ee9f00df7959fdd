#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "core/text.hpp"
#include "tests/sim/net/golden_frames.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/reports.hpp"

namespace fedstride::test::frames_test {
namespace {

FrameHeader header_of(const std::string& frame) {
  auto header = parse_header(std::span<const char, kHeaderBytes>(frame.data(), kHeaderBytes));
  REQUIRE_MESSAGE(header, frame_name(FrameKind::hello));
  return *header;
}

std::string refusal_of(const std::string& frame) {
  const auto header = parse_header(std::span<const char, kHeaderBytes>(frame.data(), kHeaderBytes));
  return header ? "" : header.reason();
}

/// Equal numbers, with NaN equal to NaN.
bool alike(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool alike(const Vector& a, const Vector& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(float)) == 0;
}

bool same(const BuildIdentity& a, const BuildIdentity& b) {
  return a.version == b.version && a.arithmetic == b.arithmetic && a.numerics == b.numerics;
}
bool same(const Hello& a, const Hello& b) { return a.client == b.client && same(a.build, b.build); }
bool same(const Welcome& a, const Welcome& b) {
  return same(a.build, b.build) && a.settings == b.settings && a.experiment == b.experiment && a.heartbeat_ms == b.heartbeat_ms &&
         a.schema == b.schema && a.model == b.model && a.partition_hash == b.partition_hash && a.row_counts == b.row_counts &&
         a.rows == b.rows;
}
bool same(const Ready& a, const Ready& b) {
  return a.data_hash == b.data_hash && a.rows_hash == b.rows_hash && a.rows == b.rows && a.last_round == b.last_round &&
         a.evaluates == b.evaluates && a.holds == b.holds && a.signing_key == b.signing_key && a.key_proof == b.key_proof;
}
bool same(const ModelMessage& a, const ModelMessage& b) {
  return a.round == b.round && a.model_hash == b.model_hash && a.base == b.base && a.changes == b.changes &&
         alike(a.model, b.model);
}
bool same(const Train& a, const Train& b) {
  return a.round == b.round && a.model_hash == b.model_hash && a.is_private == b.is_private && a.releases == b.releases &&
         a.told == b.told && a.tests == b.tests;
}
bool same(const UpdateMessage& a, const UpdateMessage& b) {
  return a.round == b.round && a.model_hash == b.model_hash && differences(a.report, b.report).empty() &&
         a.diverged == b.diverged && alike(a.change, b.change) && a.code == b.code;
}
bool same(const Received& a, const Received& b) { return a.round == b.round; }
bool same(const Heartbeat& a, const Heartbeat& b) { return a.examples == b.examples; }
bool same(const Refused& a, const Refused& b) { return a.reason == b.reason && a.for_good == b.for_good; }
bool same(const Evaluate& a, const Evaluate& b) { return a.round == b.round && a.model_hash == b.model_hash; }
bool same(const EvaluationMessage& a, const EvaluationMessage& b) {
  return a.round == b.round && a.model_hash == b.model_hash && a.examples == b.examples && alike(a.loss, b.loss) &&
         alike(a.accuracy, b.accuracy);
}
bool same(const SecureMessage& a, const SecureMessage& b) {
  return a.round == b.round && a.attempt == b.attempt && a.stage == b.stage && a.message == b.message;
}
bool same(const SecuredMessage& a, const SecuredMessage& b) {
  return a.round == b.round && a.attempt == b.attempt && a.stage == b.stage && a.message == b.message;
}
bool same(const MaskedMessage& a, const MaskedMessage& b) {
  return a.round == b.round && a.attempt == b.attempt && a.message == b.message;
}
bool same(const Finished& a, const Finished& b) { return a.rounds == b.rounds && a.model_hash == b.model_hash; }

/// The value of a line of /proc/self/status, in kB.
std::uint64_t memory_kb(std::string_view name) {
  const std::string status = read_file("/proc/self/status");
  for (const auto line : split(status, '\n'))
    if (line.starts_with(name)) return std::strtoull(line.data() + name.size() + 1, nullptr, 10);
  return 0;
}

void put(std::string& bytes, std::size_t at, std::uint64_t number, std::size_t size) {
  REQUIRE(at + size <= bytes.size());
  for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(number >> (8 * i));
}

}  // namespace

TEST_CASE("A message of each kind encodes to the golden bytes, which decode to that message") {
  int kinds = 0;
  for_each_golden([&]<class Message>(const Message& message) {
    CAPTURE(frame_name(Message::kKind));
    const std::string golden = golden_frame(Message::kKind);
    CHECK(test::to_hex(*encode(message)) == test::to_hex(golden));
    const FrameHeader header = header_of(golden);
    CHECK(header.kind == Message::kKind);
    CHECK(header.length == golden.size() - kHeaderBytes);
    CHECK(is_whole(header, body_of(golden)));
    auto back = decode<Message>(body_of(golden));
    REQUIRE(back);
    CHECK(same(*back, message));
    ++kinds;
  });
  CHECK(kinds == kLastFrameKind);
}

TEST_CASE("Every number of a report that clients send survives, and no other") {
  UpdateMessage message;
  message.report = full_report();
  auto back = decode<UpdateMessage>(body_of(*encode(message)));
  REQUIRE(back);
  std::string measured;
  for_each_report_field([&](const auto& field) {
    if (field.is(ReportRule::measured)) measured += std::string(field.name) + " ";
  });
  CHECK(measured == "update_norm change_norm payload failure ");
  CHECK(differences(back->report, message.report) == measured);
  CHECK(differences(back->report, ClientReport()).size() > 200);
}

TEST_CASE("The fuzz target's seeds are the golden frames") {
  for_each_golden([]<class Message>(const Message&) {
    const std::string name(frame_name(Message::kKind));
    CAPTURE(name);
    CHECK(read_file(FEDSTRIDE_SOURCE_DIR "/tests/fuzz/corpus/" + name) == golden_frame(Message::kKind));
  });
}

TEST_CASE("A header with another magic, version or kind is refused by name") {
  const std::string good = golden_frame(FrameKind::heartbeat);
  CHECK(refusal_of(good).empty());
  std::string frame = good;
  frame[0] = 'f';
  CHECK(names(refusal_of(frame), {"fedstride"}));
  CHECK(refusal_of("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") == refusal_of(frame));
  frame = good;
  put(frame, 4, 258, 2);
  CHECK(names(refusal_of(frame), {"version", "258", std::to_string(kProtocolVersion)}));
  for (const std::uint64_t kind : {0, 16, 0x0101}) {
    frame = good;
    put(frame, 6, kind, 2);
    CHECK(names(refusal_of(frame), {"kind", std::to_string(kind), "1", "15"}));
  }
}

TEST_CASE("Damage to any bit of a frame is detected") {
  const std::string good = golden_frame(FrameKind::update);
  for (std::size_t i = 0; i < good.size(); ++i) {
    CAPTURE(i);
    std::string frame = good;
    frame[i] = static_cast<char>(frame[i] ^ (1 << (i % 8)));
    auto header = parse_header(std::span<const char, kHeaderBytes>(frame.data(), kHeaderBytes));
    CHECK_FALSE((header && is_whole(*header, body_of(frame))));
  }
  const FrameHeader header = header_of(good);
  CHECK_FALSE(is_whole(header, body_of(good).substr(1)));
  CHECK_FALSE(is_whole(header, body_of(good) + '\0'));
}

TEST_CASE("A body cut at any byte, or one byte too long, is refused") {
  for_each_golden([]<class Message>(const Message&) {
    const std::string body = body_of(golden_frame(Message::kKind));
    const std::string kind = "'" + std::string(frame_name(Message::kKind)) + "'";
    for (std::size_t size = 0; size < body.size(); ++size) {
      // Allocated at its exact size, so that the address sanitizer detects reading past its end.
      const auto result = decode<Message>(std::string(body.data(), size));
      CAPTURE(size);
      REQUIRE_FALSE(result);
      CHECK(names(result.reason(), {kind}));
    }
    CHECK_FALSE(decode<Message>(body + '\0'));
    CHECK_FALSE(decode<Message>(body + body));
  });
}

TEST_CASE("A body in another byte order is refused: a message has one encoding") {
  for_each_golden([]<class Message>(const Message&) {
    std::string body = body_of(golden_frame(Message::kKind));
    for (const char order : {'\0', '\2', '\377'}) {
      body[0] = order;
      CHECK_FALSE(decode<Message>(body));
    }
  });
}

TEST_CASE("A flag is 0 or 1") {
  // for_good is the last byte of its body; is_private is followed by the releases, three numbers in told and another flag;
  // diverged by the change of five numbers and a code of four bytes.
  std::string refused = body_of(golden_frame(FrameKind::refused));
  std::string train = body_of(golden_frame(FrameKind::train));
  std::string update = body_of(golden_frame(FrameKind::update));
  const std::size_t in_train = train.size() - 1 - 3 * sizeof(double) - 4 - 8 - 1;
  const std::size_t in_update = update.size() - 5 * sizeof(float) - 8 - 8 - 4 - 1;
  CHECK(refused.back() == 1);
  CHECK(train[in_train] == 1);
  CHECK(train.back() == 1);
  CHECK(update[in_update] == 0);
  for (const char flag : {'\2', '\3', '\177', '\377'}) {
    refused.back() = train[in_train] = update[in_update] = flag;
    CHECK_FALSE(decode<Refused>(refused));
    CHECK_FALSE(decode<Train>(train));
    CHECK_FALSE(decode<UpdateMessage>(update));
  }
  train[in_train] = train.back() = 0;
  auto plain = decode<Train>(train);
  REQUIRE(plain);
  CHECK_FALSE(plain->is_private);
  CHECK_FALSE(plain->tests);
}

TEST_CASE("A length beyond the body is refused immediately, and no memory is allocated for it") {
  std::string model = body_of(golden_frame(FrameKind::model));
  std::string update = body_of(golden_frame(FrameKind::update));
  std::string hello = body_of(golden_frame(FrameKind::hello));
  std::string runs = update, code = update, changes = model;
  const std::uint64_t before = memory_kb("VmPeak");
  REQUIRE(before > 0);
  const auto begun = std::chrono::steady_clock::now();
  for (const int bits : {3, 20, 29, 30, 31, 32, 60, 62, 63}) {
    CAPTURE(bits);
    const std::uint64_t many = std::uint64_t{1} << bits;
    for (const std::uint64_t count : {many - 1, many, many + 1}) {
      put(model, model.size() - 5 * sizeof(float) - 8, count, 8);
      CHECK_FALSE(decode<ModelMessage>(model));
      put(update, update.size() - 5 * sizeof(float) - 8 - 8 - 4, count, 8);
      CHECK_FALSE(decode<UpdateMessage>(update));
      put(code, code.size() - 4 - 8, count, 8);
      CHECK_FALSE(decode<UpdateMessage>(code));
      put(changes, 1 + 4 + 4 + 64 + 4, count, 8);
      CHECK_FALSE(decode<ModelMessage>(changes));
    }
    if (bits > 31) continue;
    put(hello, 5, many, 4);  // of the text after the byte order and the client
    CHECK_FALSE(decode<Hello>(hello));
    put(runs, 1 + 4 + 4 + 64 + 4 + 6 * 8, many, 4);  // of the release runs
    CHECK_FALSE(decode<UpdateMessage>(runs));
  }
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(5));
  CHECK(memory_kb("VmPeak") - before < 64 * 1024);
}

TEST_CASE("NaN, infinities and every bit of a number survive in reports and vectors") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  UpdateMessage message;
  message.report.loss = -std::numeric_limits<double>::quiet_NaN();
  message.report.learning_rate = kInfinity;
  message.report.gradient_norm = -kInfinity;
  message.report.clipped_share = -0.0;
  message.change = test::golden_vector();
  message.change[0] = std::numeric_limits<float>::quiet_NaN();
  message.change[1] = -std::numeric_limits<float>::infinity();
  const Frame frame = encode(message);
  auto back = decode<UpdateMessage>(body_of(*frame));
  REQUIRE(back);
  CHECK(std::isnan(back->report.loss));
  CHECK(std::signbit(back->report.loss));
  CHECK(back->report.learning_rate == kInfinity);
  CHECK(back->report.gradient_norm == -kInfinity);
  CHECK(std::signbit(back->report.clipped_share));
  CHECK(alike(back->change, message.change));
  CHECK(*encode(*back) == *frame);
}

TEST_CASE("Texts that may be logged are printable: others are refused when received and never sent") {
  const std::string good = body_of(golden_frame(FrameKind::refused));
  for (const char c : {'\0', '\n', '\r', '\033', '\037', '\177', '\200', '\377'}) {
    CAPTURE(static_cast<int>(c));
    std::string body = good;
    body[10] = c;
    CHECK_FALSE(decode<Refused>(body));
    auto sent = decode<Refused>(body_of(*encode(Refused{std::string("a") + c + "b", false})));
    REQUIRE(sent);
    CHECK(sent->reason == "a?b");
  }
  auto settings = decode<Welcome>(body_of(*encode(Welcome{{}, "a = 1\n# \u00e9\n", "e", 1})));
  REQUIRE(settings);
  CHECK(settings->settings == "a = 1\n# \u00e9\n");
}

TEST_CASE("This build's identity survives encoding and differs only from other builds") {
  auto back = decode<Hello>(body_of(*encode(Hello{0, build_identity()})));
  REQUIRE(back);
  CHECK(difference(build_identity(), back->build).empty());
  CHECK(names(difference(build_identity(), test::golden_build()),
              {"'" + build_identity().version + "'", "'" + test::golden_build().version + "'"}));
}

TEST_CASE("A text that is too long is truncated when sent, and the message is unchanged") {
  const Refused message{std::string(5000, 'x'), false};
  auto back = decode<Refused>(body_of(*encode(message)));
  REQUIRE(back);
  CHECK(back->reason == std::string(1024, 'x'));
  CHECK(message.reason.size() == 5000);
}

TEST_CASE("Settings and schemas too long for a welcome are named") {
  Welcome welcome{{}, std::string(std::size_t{1} << 20, 'x'), "e", 1, "", std::string(std::size_t{1} << 23, 's')};
  CHECK(too_long(welcome).empty());
  welcome.schema += 's';
  CHECK(names(too_long(welcome), {"schema", "8388609 bytes", "8388608"}));
  welcome.settings += 'x';
  CHECK(names(too_long(welcome), {"settings", "1048577 bytes", "1048576"}));
  Welcome rows{{}, "", "e", 1};
  rows.rows.resize(kMaxDealtRows);
  rows.row_counts.resize(kMaxDealtClients);
  CHECK(too_long(rows).empty());
  rows.rows.resize(std::size_t{kMaxDealtRows} + 1);
  CHECK(names(too_long(rows), {"16777217 rows", "16777216"}));
  rows.row_counts.resize(std::size_t{kMaxDealtClients} + 1);
  CHECK(names(too_long(rows), {"1048577 clients", "1048576"}));
}

TEST_CASE("Every message with texts of maximum length fits the largest body of its kind") {
  const std::string full(1024, 'x');
  const BuildIdentity build{full, full, 1};
  Vector numbers(1000);
  UpdateMessage update{1, full, {}, false, numbers};
  update.report.releases.assign(std::size_t{1} << 16, {1, 1, 1});
  const auto fits = []<class Message>(const Message& message) {
    const std::string body = body_of(*encode(message));
    CHECK(body.size() <= largest_body(Message::kKind, 1000));
    CHECK(decode<Message>(body));
  };
  fits(Hello{0, build});
  const std::string settings(std::size_t{1} << 20, 'x');
  fits(Welcome{build, settings, full, 1, settings, std::string(std::size_t{1} << 23, 's'), full,
               std::vector<std::uint64_t>(kMaxDealtClients, 1), std::vector<std::uint32_t>(kMaxDealtRows, 1)});
  fits(Ready{full, full, 1, 1, true, 1});
  fits(Evaluate{1, full});
  fits(EvaluationMessage{1, full, 1, 1, 1});
  fits(ModelMessage{.round = 1, .model_hash = full, .model = numbers});
  fits(Train{1, full, true, 1});
  fits(update);
  fits(Refused{full, true});
  fits(Finished{1, full});
}

}  // namespace fedstride::test::frames_test
