#pragma once

#include <cmath>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/hadamard.hpp"

namespace fedstride {

template <class Way>
struct ScaledSignSettings : BucketSettings<Way> {
  double magnitude = 0;
  static constexpr auto kFields =
      fields(BucketSettings<Way>::kFields, Field{Way::kIsUp ? "up-magnitude" : "down-magnitude", &ScaledSignSettings::magnitude,
                                                 "factor on each sign, for votes of equal weight; 0: the bucket's mean magnitude",
                                                 Valid{.low = 0, .high = 1e4}});
};

/// Sends (|x|_1 / d) sign(x) for each bucket of d numbers (Karimireddy, Rebjock, Stich & Jaggi 2019). Biased: error^2 = |x|^2 -
/// |x|_1^2 / d, so it needs error feedback. Takes 32 bits per bucket and one per number. If a magnitude is set, each number
/// becomes magnitude x sign(x), a one-bit vote; the server optimizer `sign` takes the majority.
template <class Way>
struct ScaledSign final : PartBase<Way, ScaledSign<Way>, ScaledSignSettings<Way>> {
  static constexpr std::string_view kName = "sign";
  static constexpr std::string_view kSummary =
      "signs times the bucket's mean magnitude (Karimireddy et al. 2019); 1 bit per entry, biased";

  bool votes() const { return this->magnitude > 0; }
  bool suits_feedback() const override { return !votes(); }
  std::uint64_t most_bytes(std::size_t d) const override {
    return (votes() ? 0 : 4 * std::uint64_t{buckets_in(d, this->bucket)}) + bytes_of_bits(d);
  }
  void encode(std::span<const float> numbers, const CodeAddress&, std::string& code) const override {
    if (votes()) return put_signs(numbers.data(), numbers.size(), code);
    for_each_bucket(numbers.size(), this->bucket, [&](std::size_t first, std::size_t count) {
      double sum = 0;
      for (const float number : numbers.subspan(first, count)) sum += std::fabs(number);
      put_number(code, static_cast<float>(sum / static_cast<double>(count)));
    });
    put_signs(numbers.data(), numbers.size(), code);
  }
  bool decode(std::string_view code, const CodeAddress&, std::span<float> numbers) const override {
    if (code.size() != most_bytes(numbers.size())) return false;
    if (votes()) return take_signs(code, static_cast<float>(this->magnitude), numbers.data(), numbers.size());
    std::string_view scales = code.substr(0, 4 * buckets_in(numbers.size(), this->bucket));
    bool good = take_signs(code.substr(scales.size()), 1, numbers.data(), numbers.size());
    for_each_bucket(numbers.size(), this->bucket, [&](std::size_t first, std::size_t count) {
      const auto scale = take_number<float>(scales);
      good &= scale >= 0 && std::isfinite(scale);
      for (float& number : numbers.subspan(first, count)) number *= scale;
    });
    return good;
  }
};

}  // namespace fedstride
