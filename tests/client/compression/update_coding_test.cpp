#include "client/update_coding.hpp"

#include <doctest/doctest.h>

#include "client/model_coding.hpp"
#include "core/exact_sum.hpp"
#include "tests/client/compression/compressors.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::update_coding_test {
namespace {

// Two tensors with padding between and behind them.
UpdateCoding coding_of(UpCompression how, ErrorFeedback feedback, int copies = 1) {
  return {.compression = std::move(how),
          .feedback = feedback,
          .sent = {{0, 50}, {64, 30}},
          .spread = 96,
          .copies = copies,
          .seed = 4};
}
Vector some_update(std::uint64_t seed, int copies = 1) {
  Vector update = some_numbers(96 * static_cast<std::size_t>(copies), seed);
  for (int copy = 0; copy < copies; ++copy)
    for (std::size_t i = 0; i < 96; ++i)
      if ((i >= 50 && i < 64) || i >= 94) update[96 * static_cast<std::size_t>(copy) + i] = 0;
  return update;
}
std::int64_t units(float value) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(value) * ExactSum::kScale));
}

}  // namespace

TEST_CASE("what was sent and what is kept back are the changes, as integers, for every compressor that suits feedback") {
  for (const std::string& name : UpCompression::registry().names()) {
    UpCompression how = compression(name);
    if (!how->codes() || !how->suits_feedback()) continue;
    if (const SettingInfo* keep = how.part().find("up-keep")) how.part().set(*keep, 0.1);
    CAPTURE(name);
    const UpdateCoding coding = coding_of(std::move(how), ErrorFeedback::ef, 2);
    REQUIRE(coding.keeps());
    KeptBack kept;
    std::vector<__int128> left(160);
    for (std::uint32_t round = 1; round <= 50; ++round) {
      Vector update = some_update(round, 2);
      const auto for_each_sent = [&](auto&& use) {
        std::size_t at = 0;
        for (std::size_t copy = 0; copy < 2; ++copy)
          for (const ParameterRange& range : coding.sent)
            for (std::size_t i = 0; i < range.size; ++i) use(at++, update[96 * copy + range.offset + i]);
      };
      for_each_sent([&](std::size_t at, float x) { left[at] += units(x); });
      const std::string code = coding.code(round, 3, kept, update);
      REQUIRE_FALSE(code.empty());
      CHECK(code.size() <= coding.most_bytes());
      for_each_sent([&](std::size_t at, float x) { left[at] -= units(x); });
      REQUIRE(kept.size() == 160);
      for (std::size_t i = 0; i < 160; ++i) REQUIRE(left[i] == kept[i]);
      Vector there;
      REQUIRE(coding.decode(code, round, 3, there));
      CHECK(std::memcmp(there.data(), update.data(), update.size() * sizeof(float)) == 0);
      CHECK_FALSE(coding.decode(code.substr(0, code.size() - 1), round, 3, there));
      CHECK_FALSE(coding.decode(code + '\0', round, 3, there));
    }
  }
}

TEST_CASE("EF21: what was sent adds up to what is summed, which comes to a change that stays the same") {
  for (const std::string_view name : {"top-k", "sign", "drive", "qsgd"}) {
    CAPTURE(name);
    UpCompression how = compression(name);
    if (const SettingInfo* keep = how.part().find("up-keep")) how.part().set(*keep, 0.1);
    const UpdateCoding coding = coding_of(how, ErrorFeedback::ef21);
    const UpdateCoding alone = coding_of(how, ErrorFeedback::none);
    KeptBack kept;
    Vector update;
    std::vector<std::int64_t> sent(96);
    for (std::uint32_t round = 1; round <= 100; ++round) {
      update = some_update(1);
      const std::string code = coding.code(round, 3, kept, update);
      Vector there;
      REQUIRE(alone.decode(code, round, 3, there));
      for (std::size_t i = 0; i < 96; ++i) {
        sent[i] += units(there[i]);
        CHECK(update[i] == static_cast<float>(static_cast<double>(sent[i]) / ExactSum::kScale));
      }
    }
    CHECK(squared_error(update, some_update(1)) < 1e-3 * squared(some_update(1)));
  }
}

TEST_CASE("nothing but what the federation trains is sent: what lies between is 0") {
  for (const std::string_view name : {"sign", "drive", "qsgd"}) {
    const UpdateCoding coding = coding_of(compression(name), ErrorFeedback::none);
    Vector update = some_update(1);
    update[90] = 5;  // frozen: of no range
    KeptBack kept;
    coding.code(1, 0, kept, update);
    CHECK(kept.empty());
    for (std::size_t i = 0; i < 96; ++i)
      if ((i >= 50 && i < 64) || i >= 94) CHECK(update[i] == 0);
  }
}

TEST_CASE("updates that sums do not admit are left as they are, and what becomes so is infinite and forgotten") {
  const UpdateCoding coding = coding_of(compression("top-k"), ErrorFeedback::ef);
  KeptBack kept;
  Vector update(96, std::nanf(""));
  CHECK(coding.code(1, 0, kept, update).empty());
  CHECK(kept.empty());
  for (std::uint32_t round = 1; round <= 3; ++round) {  // one of 80 is sent; the others add up
    update = Vector(96, 0x1.8p21F);
    const std::string code = coding.code(round, 0, kept, update);
    CHECK(code.empty() == (round == 2));
    CHECK(kept.empty() == (round == 2));
    if (round == 2) CHECK(std::isinf(update[0]));
  }
  update = Vector(96, 0x1p21F);
  KeptBack none;
  CHECK(coding_of(compression("random-k"), ErrorFeedback::none).code(1, 0, none, update).empty());  // times 80
  CHECK(std::isinf(update[0]));
}

TEST_CASE("without compression an update is left as it is") {
  const UpdateCoding coding = coding_of(UpCompression(), ErrorFeedback::none);
  Vector update = some_update(1);
  KeptBack kept;
  CHECK_FALSE(coding.on());
  CHECK(coding.code(1, 0, kept, update).empty());
  CHECK(update == some_update(1));
  CHECK(coding.most_bytes() == 320);
}

TEST_CASE("clients that apply the server's codes hold the server's bits, and come near its model") {
  for (const std::string& name : DownCompression::registry().names()) {
    DownCompression how;
    how.choose(name);
    if (!how->codes() || !how->suits_feedback()) continue;
    CAPTURE(name);
    const ModelCoding coding{how, {{0, 50}, {64, 30}}, 4};
    const Vector model = some_update(1);
    Vector held(96), at_client(96);
    const double first = squared_error(model, held);
    for (std::uint32_t round = 1; round <= 200; ++round) {
      const std::string code = coding.advance(round, model, held);
      REQUIRE(coding.apply(code, round, at_client));
      CHECK(std::memcmp(held.data(), at_client.data(), 96 * sizeof(float)) == 0);
      CHECK_FALSE(coding.apply(code.substr(0, code.size() - 1), round, at_client));
      at_client = held;
    }
    CHECK(squared_error(model, held) < 0.05 * first);
  }
}

}  // namespace fedstride::test::update_coding_test
