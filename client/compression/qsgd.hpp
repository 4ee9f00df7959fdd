#pragma once

#include <bit>
#include <cmath>
#include <vector>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/draws.hpp"
#include "client/compression/halves.hpp"

namespace fedstride {

template <class Way>
struct QsgdSettings : BucketSettings<Way> {
  int levels = 127;
  static constexpr auto kFields =
      fields(BucketSettings<Way>::kFields, Field{Way::kIsUp ? "up-levels" : "down-levels", &QsgdSettings::levels,
                                                 "levels between 0 and a bucket's norm", Valid{.low = 1, .high = 1 << 20}});
};

/// QSGD (Alistarh, Grubic, Li, Tomioka & Vojnovic 2017, Section 3.1): |x_i| s / |x| is rounded stochastically to a level 0,
/// ..., s, in buckets, each sent with its norm |x|. Unbiased; E error^2 = |x|^2 / s^2 sum f (1 - f) <= min(d / s^2, sqrt(d) / s)
/// |x|^2. Takes 32 bits per bucket and 1 + ceil(log2(s + 1)) per number.
template <class Way>
struct Qsgd final : PartBase<Way, Qsgd<Way>, QsgdSettings<Way>> {
  static constexpr std::string_view kName = "qsgd";
  static constexpr std::string_view kSummary =
      "entries rounded stochastically to levels of their bucket's norm (Alistarh et al. 2017)";

  /// Bits per level; the sign takes one more.
  int width() const { return std::bit_width(static_cast<unsigned>(this->levels)); }
  bool suits_feedback() const override {
    const double d = this->bucket, s = this->levels;
    return std::min(d / (s * s), std::sqrt(d) / s) < 1;
  }
  std::uint64_t most_bytes(std::size_t d) const override {
    return 4 * std::uint64_t{buckets_in(d, this->bucket)} +
           bytes_of_bits(std::uint64_t{d} * static_cast<std::uint64_t>(1 + width()));
  }

  void encode(std::span<const float> numbers, const CodeAddress& address, std::string& code) const override {
    Draws draws(address.own());
    std::vector<float> norms;
    for_each_bucket(numbers.size(), this->bucket, [&](std::size_t first, std::size_t count) {
      double square = 0;
      for (const float number : numbers.subspan(first, count)) square += static_cast<double>(number) * number;
      norms.push_back(static_cast<float>(std::sqrt(square)));
      put_number(code, norms.back());
    });
    std::vector<std::uint32_t> coded(numbers.size());  // the level, above the sign in the lowest bit
    const std::uint32_t* words = nullptr;
    std::size_t bucket_of_next = 0;
    for_each_bucket(numbers.size(), this->bucket, [&](std::size_t first, std::size_t count) {
      const float norm = norms[bucket_of_next++];
      for (std::size_t i = first; i < first + count;) {
        if (i % Draws::kAtOnce == 0) words = draws.next().data();
        const std::size_t end = std::min(first + count, (i / Draws::kAtOnce + 1) * Draws::kAtOnce);
        round_all(numbers.data() + i, words + i % Draws::kAtOnce, norm > 0 ? norm : 1, static_cast<float>(this->levels),
                  coded.data() + i, end - i);
        i = end;
      }
    });
    pack(coded, 1 + width(), code);
  }

  bool decode(std::string_view code, const CodeAddress&, std::span<float> numbers) const override {
    if (code.size() != most_bytes(numbers.size())) return false;
    std::string_view norms = code.substr(0, 4 * buckets_in(numbers.size(), this->bucket));
    bool good = true;
    std::uint32_t most = 0, zeros = 0;  // the highest level; nonzero if a zero has a sign bit
    good &= unpack(code.substr(norms.size()), numbers.size(), 1 + width(), [&](std::size_t i, std::uint32_t one) {
      most = std::max(most, one >> 1);
      zeros |= static_cast<std::uint32_t>(one == 1);
      numbers[i] = static_cast<float>(one >> 1) * (1 - 2 * static_cast<float>(one & 1));
    });
    good &= zeros == 0 && most <= static_cast<std::uint32_t>(this->levels);
    for_each_bucket(numbers.size(), this->bucket, [&](std::size_t first, std::size_t count) {
      const auto norm = take_number<float>(norms);
      good &= norm >= 0;
      const float unit = norm / static_cast<float>(this->levels);
      for (float& number : numbers.subspan(first, count)) number *= unit;
    });
    return good && all_finite(numbers);
  }

 private:
  static void round_all(const float* __restrict numbers, const std::uint32_t* __restrict words, float norm, float most,
                        std::uint32_t* __restrict coded, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const float scaled = std::min(std::fabs(numbers[i]) / norm * most, most);
      auto level = static_cast<std::int32_t>(scaled);
      level += uniform_of(words[i]) < scaled - static_cast<float>(level);
      coded[i] = static_cast<std::uint32_t>(level << 1 | static_cast<std::int32_t>((numbers[i] < 0) & (level > 0)));
    }
  }
};

}  // namespace fedstride
