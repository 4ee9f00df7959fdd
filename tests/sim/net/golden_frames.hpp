#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>

#include "core/files.hpp"
#include "core/hash.hpp"
#include "sim/net/messages.hpp"

namespace fedstride::test {

// One message of each kind with fixed contents; tests/golden/frames/NAME.hex has its frame. The bytes change only
// together with kProtocolVersion.

inline Vector golden_vector() {
  const float numbers[] = {0.5F, -1.0F, 3.25F, -0.0F, std::numeric_limits<float>::denorm_min()};
  return Vector(numbers);
}
inline std::string golden_model_hash() { return model_hash(golden_vector()); }
inline BuildIdentity golden_build() { return {"0.1.0", "fused", 7}; }

inline auto golden_messages() {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const ClientReport report{.client = 3,
                            .rows = 1234,
                            .examples = 2468,
                            .loss = 0.6931471805599453,
                            .learning_rate = 0.1,
                            .steps = 20,
                            .rejected = 2,
                            .releases = {{1.5, 0.25, 19}, {1.5, 0.5, 1}},
                            .empty_lots = 1,
                            .nonfinite = 4,
                            .gradient_norm = 2.75,
                            .clipped_share = kNone,
                            .statistic = 12.5,
                            .statistics = 18,
                            .alignment = 0.75,
                            .pairs = 2,
                            .measure = 0.25,
                            .within = -3.5,
                            .expected = 60,
                            .personal_examples = 12,
                            .personal_correct = 9,
                            .personal_loss = 0.375};
  return std::tuple{
      Hello{3, golden_build()},
      Welcome{
          golden_build(),
          "rounds = 2\nmodel = \"logistic\"\n",
          std::string(64, 'e'),
          5000,
          "dense classes",
          R"({"form":{"shape":{"height":1,"width":1,"channels":3},"outputs":10,"targets":"classes"},"mean":[0.5,-0.25,4],"deviation":[1,2,0.125]})",
          std::string(64, 'a'),
          {2, 1234, 7},
          {5, 4000000000}},
      Ready{std::string(64, 'd'), std::string(64, 'b'), 1234, 1, true, 1, std::string(64, 'c'), "proof"},
      ModelMessage{2, golden_model_hash(), 1, "codes", golden_vector()},
      Train{2, golden_model_hash(), true, 20, {0.5, 0.25, 1e-3}, true},
      UpdateMessage{2, golden_model_hash(), report, false, golden_vector(), "code"},
      Received{2},
      Heartbeat{70000},
      Refused{"client 3 is connected already", true},
      Finished{2, golden_model_hash()},
      Evaluate{2, golden_model_hash()},
      EvaluationMessage{2, golden_model_hash(), 300, 0.75, 0.625},
      SecureMessage{2, 1, 0, "cohort"},
      SecuredMessage{2, 1, 4, "signature"},
      MaskedMessage{2, 1, "input"},
  };
}

template <class Act>
void for_each_golden(Act act) {
  std::apply([&](const auto&... message) { (act(message), ...); }, golden_messages());
}

/// Bytes of hexadecimal digits; white space between them does not count.
inline std::string from_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string bytes;
  int high = -1;
  for (const char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == kDigits.npos) continue;
    if (high >= 0) bytes += static_cast<char>(high * 16 + static_cast<int>(digit));
    high = high >= 0 ? -1 : static_cast<int>(digit);
  }
  return bytes;
}
/// Lines of 16 bytes.
inline std::string to_hex(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    text += hex_of({&byte, 1});
    text += i % 16 == 15 || i + 1 == bytes.size() ? '\n' : ' ';
  }
  return text;
}

inline std::string golden_frame(FrameKind kind) {
  return from_hex(read_file(FEDSTRIDE_SOURCE_DIR "/tests/golden/frames/" + std::string(frame_name(kind)) + ".hex"));
}

inline std::string body_of(std::string_view frame) { return std::string(frame.substr(kHeaderBytes)); }

}  // namespace fedstride::test
