#include "sim/net/messages.hpp"

#include <algorithm>
#include <cereal/archives/portable_binary.hpp>
#include <functional>
#include <sstream>

#include "core/build_info.hpp"
#include "core/pooled_statistic.hpp"
#include "core/serialize.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr char kLittleEndian = 1;                     // first byte of every body, so that a message has exactly one encoding
constexpr std::uint32_t kMaxShortTextBytes = 1024;    // a digest, a version, a reason
constexpr std::uint32_t kMaxLongTextBytes = 1 << 20;  // an experiment
constexpr std::uint32_t kMaxSchemaBytes = 1 << 23;    // enough for some 100,000 columns

/// Text: its length in 32 bits, then its bytes, at most `most` of them. In one-line text, which may be logged, characters other
/// than printable ASCII are sent as question marks.
struct Text {
  std::string& text;
  std::uint32_t most;
  bool is_line = false;
};
Text line(std::string& value) { return {value, kMaxShortTextBytes, true}; }
Text lines(std::string& value, std::uint32_t most = kMaxLongTextBytes) { return {value, most}; }

bool printable(char c) { return c >= ' ' && c <= '~'; }

/// A bool as one byte.
struct Flag {
  bool& value;
};

struct Malformed : std::exception {};

void save(auto& archive, const Text& field) {
  std::string sent = field.text.substr(0, field.most);
  if (field.is_line) std::ranges::replace_if(sent, std::not_fn(printable), '?');
  archive(static_cast<std::uint32_t>(sent.size()), cereal::binary_data(sent.data(), sent.size()));
}
void load(auto& archive, Text& field) {
  std::uint32_t size = 0;
  archive(size);
  if (size > field.most) throw Malformed{};
  field.text.resize(size);
  archive(cereal::binary_data(field.text.data(), field.text.size()));
  if (field.is_line && !std::ranges::all_of(field.text, printable)) throw Malformed{};
}
void save(auto& archive, const Flag& field) { archive(static_cast<std::uint8_t>(field.value)); }
void load(auto& archive, Flag& field) {
  std::uint8_t byte = 0;
  archive(byte);
  if (byte > 1) throw Malformed{};
  field.value = byte == 1;
}

/// Numbers: their count in 32 bits, then each number.
template <class Number, std::uint32_t kMax>
struct Numbers {
  std::vector<Number>& numbers;
};
template <class Number, std::uint32_t kMax>
void save(auto& archive, const Numbers<Number, kMax>& field) {
  const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(field.numbers.size(), kMax));
  archive(size, cereal::binary_data(field.numbers.data(), size * sizeof(Number)));
}
template <class Number, std::uint32_t kMax>
void load(auto& archive, Numbers<Number, kMax>& field) {
  constexpr std::size_t kAtOnce = 1 << 16;  // memory grows only with the bytes received
  std::uint32_t size = 0;
  archive(size);
  if (size > kMax) throw Malformed{};
  while (field.numbers.size() < size) {
    const std::size_t at = field.numbers.size();
    field.numbers.resize(std::min<std::size_t>(size, at + kAtOnce));
    archive(cereal::binary_data(field.numbers.data() + at, (field.numbers.size() - at) * sizeof(Number)));
  }
}

/// Bytes: their count in 64 bits, then the bytes.
struct Bytes {
  std::string& bytes;
};
void save(auto& archive, const Bytes& field) {
  archive(static_cast<std::uint64_t>(field.bytes.size()), cereal::binary_data(field.bytes.data(), field.bytes.size()));
}
void load(auto& archive, Bytes& field) {
  constexpr std::uint64_t kAtOnce = 1 << 18;  // memory grows only with the bytes received
  std::uint64_t size = 0;
  archive(size);
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t piece = std::min(size - done, std::max(done, kAtOnce));
    field.bytes.resize(done + piece);
    archive(cereal::binary_data(field.bytes.data() + done, piece));
    done += piece;
  }
}

/// Release runs: their count in 32 bits, then the noise multiplier, clip and count of each.
struct Releases {
  std::vector<ReleaseRun>& runs;
};
void save(auto& archive, const Releases& field) {
  archive(static_cast<std::uint32_t>(field.runs.size()));
  for (const ReleaseRun& run : field.runs) archive(run.noise_multiplier, run.clip, run.count);
}
void load(auto& archive, Releases& field) {
  std::uint32_t size = 0;
  archive(size);
  if (size > kMaxReleaseRuns) throw Malformed{};
  for (std::uint32_t i = 0; i < size; ++i) {
    ReleaseRun& run = field.runs.emplace_back();
    archive(run.noise_multiplier, run.clip, run.count);
  }
}

/// Returns a member of a report in the form in which it is sent.
template <class Number>
Number& as_sent(Number& number) {
  return number;
}
Releases as_sent(std::vector<ReleaseRun>& runs) { return {runs}; }
Text as_sent(std::string& text) { return line(text); }

void fields(auto& archive, BuildIdentity& build) { archive(line(build.version), line(build.arithmetic), build.numerics); }
void fields(auto& archive, Hello& message) {
  archive(message.client);
  fields(archive, message.build);
}
void fields(auto& archive, Welcome& message) {
  fields(archive, message.build);
  archive(lines(message.settings), line(message.experiment), message.heartbeat_ms, lines(message.model),
          lines(message.schema, kMaxSchemaBytes), line(message.partition_hash),
          Numbers<std::uint64_t, kMaxDealtClients>{message.row_counts}, Numbers<std::uint32_t, kMaxDealtRows>{message.rows});
}
void fields(auto& archive, Ready& message) {
  archive(line(message.data_hash), line(message.rows_hash), message.rows, message.last_round, Flag{message.evaluates},
          message.holds, line(message.signing_key), Bytes{message.key_proof});
}
void fields(auto& archive, Evaluate& message) { archive(message.round, line(message.model_hash)); }
void fields(auto& archive, EvaluationMessage& message) {
  archive(message.round, line(message.model_hash), message.examples, message.loss, message.accuracy);
}
void fields(auto& archive, ModelMessage& message) {
  archive(message.round, line(message.model_hash), message.base, Bytes{message.changes}, message.model);
}
void fields(auto& archive, Train& message) {
  archive(message.round, line(message.model_hash), Flag{message.is_private}, message.releases,
          Numbers<double, kMaxTold>{message.told}, Flag{message.tests});
}
void fields(auto& archive, UpdateMessage& message) {
  archive(message.round, line(message.model_hash));
  for_each_report_field([&](const auto& field) {
    if (!field.is(ReportRule::measured)) archive(as_sent(message.report.*field.member));
  });
  archive(Flag{message.diverged}, message.change, Bytes{message.code});
}
void fields(auto& archive, Received& message) { archive(message.round); }
void fields(auto& archive, Heartbeat& message) { archive(message.examples); }
void fields(auto& archive, SecureMessage& message) {
  archive(message.round, message.attempt, message.stage, Bytes{message.message});
}
void fields(auto& archive, SecuredMessage& message) {
  archive(message.round, message.attempt, message.stage, Bytes{message.message});
}
void fields(auto& archive, MaskedMessage& message) { archive(message.round, message.attempt, Bytes{message.message}); }
void fields(auto& archive, Refused& message) { archive(line(message.reason), Flag{message.for_good}); }
void fields(auto& archive, Finished& message) { archive(message.rounds, line(message.model_hash)); }

/// Reads a body without copying it.
class BodyBuffer : public std::streambuf {
 public:
  explicit BodyBuffer(std::string_view body) {
    char* begin = const_cast<char*>(body.data());  // the get area is never written to
    setg(begin, begin, begin + body.size());
  }
  bool at_end() const { return gptr() == egptr(); }
};

}  // namespace

BuildIdentity build_identity() {
  const BuildInfo info = build_info();
  return {info.version, info.arithmetic, kNumericsVersion};
}

std::string difference(const BuildIdentity& here, const BuildIdentity& there) {
  const auto differ = [](const std::string& what, const std::string& a, const std::string& b) {
    return what + " '" + a + "' here, '" + b + "' there";
  };
  if (here.version != there.version) return differ("version", here.version, there.version);
  if (here.numerics != there.numerics)
    return differ("numerics version", std::to_string(here.numerics), std::to_string(there.numerics));
  if (here.arithmetic != there.arithmetic) return differ("arithmetic", here.arithmetic, there.arithmetic);
  return {};
}

std::uint64_t largest_body(FrameKind kind, std::uint64_t parameters) {
  constexpr std::uint64_t kSmall = 8 * 1024;
  switch (kind) {
    case FrameKind::welcome:
      return kSmall + 2 * std::uint64_t{kMaxLongTextBytes} + kMaxSchemaBytes +
             std::uint64_t{kMaxDealtClients} * sizeof(std::uint64_t) + std::uint64_t{kMaxDealtRows} * sizeof(std::uint32_t);
    case FrameKind::model:
      return kSmall + parameters * sizeof(float);
    case FrameKind::update:
      return kSmall + parameters * sizeof(float) + kMaxReleaseRuns * 3 * sizeof(double);
    case FrameKind::secure:
      return std::uint64_t{1} << 26;  // a cohort's adverts or certificates
    case FrameKind::secured:
      return 8 * kSmall;  // the shares of 254 neighbors
    case FrameKind::masked:
      return kSmall + parameters * sizeof(__int128);
    default:
      return kSmall;
  }
}

std::string too_long(const Welcome& welcome) {
  if (welcome.settings.size() > kMaxLongTextBytes)
    return "the settings have " + std::to_string(welcome.settings.size()) + " bytes as a file; at most " +
           std::to_string(kMaxLongTextBytes) + " can be sent to clients";
  if (welcome.schema.size() > kMaxSchemaBytes)
    return "the data set's schema (names of columns and classes, words, means and standard deviations) has " +
           std::to_string(welcome.schema.size()) + " bytes; at most " + std::to_string(kMaxSchemaBytes) +
           " can be sent to clients";
  if (welcome.row_counts.size() > kMaxDealtClients)
    return "the partition file has " + std::to_string(welcome.row_counts.size()) + " clients; at most " +
           std::to_string(kMaxDealtClients) + " can be sent their rows";
  if (welcome.rows.size() > kMaxDealtRows)
    return "a client in the partition file has " + std::to_string(welcome.rows.size()) + " rows; at most " +
           std::to_string(kMaxDealtRows) + " can be sent to a client";
  return {};
}

template <class Message>
Frame encode(const Message& message) {
  std::ostringstream stream;
  stream << std::string(kHeaderBytes, '\0');
  {
    cereal::PortableBinaryOutputArchive archive(stream, cereal::PortableBinaryOutputArchive::Options::LittleEndian());
    fields(archive, const_cast<Message&>(message));  // cereal uses one function for both directions
  }
  return make_frame(Message::kKind, std::move(stream).str());
}

template <class Message>
Result<Message> decode(std::string_view body) {
  Message message;
  BodyBuffer buffer(body);
  std::istream stream(&buffer);
  const auto malformed = [] {
    return Result<Message>::refused("its '" + std::string(frame_name(Message::kKind)) + "' frame is malformed");
  };
  if (body.empty() || body.front() != kLittleEndian) return malformed();
  try {
    cereal::PortableBinaryInputArchive archive(stream);
    fields(archive, message);
  } catch (const std::exception&) {
    return malformed();
  }
  if (!buffer.at_end()) return malformed();
  return message;
}

#define FEDSTRIDE_MESSAGE(Message)       \
  template Frame encode(const Message&); \
  template Result<Message> decode(std::string_view)
FEDSTRIDE_MESSAGE(Hello);
FEDSTRIDE_MESSAGE(Welcome);
FEDSTRIDE_MESSAGE(Ready);
FEDSTRIDE_MESSAGE(ModelMessage);
FEDSTRIDE_MESSAGE(Train);
FEDSTRIDE_MESSAGE(UpdateMessage);
FEDSTRIDE_MESSAGE(Evaluate);
FEDSTRIDE_MESSAGE(EvaluationMessage);
FEDSTRIDE_MESSAGE(Received);
FEDSTRIDE_MESSAGE(Heartbeat);
FEDSTRIDE_MESSAGE(SecureMessage);
FEDSTRIDE_MESSAGE(SecuredMessage);
FEDSTRIDE_MESSAGE(MaskedMessage);
FEDSTRIDE_MESSAGE(Refused);
FEDSTRIDE_MESSAGE(Finished);
#undef FEDSTRIDE_MESSAGE

}  // namespace fedstride
