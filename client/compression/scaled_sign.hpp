#pragma once

#include <cmath>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/hadamard.hpp"

namespace fedstride {

/// (|x|_1 / d) sign(x) (Karimireddy, Rebjock, Stich & Jaggi 2019), in buckets. Biased: error^2 = |x|^2 - |x|_1^2 / d, so it needs
/// error feedback. 32 bits a bucket and one a number.
template <class Way>
struct ScaledSign final : PartBase<Way, ScaledSign<Way>, BucketSettings<Way>> {
  using PartBase<Way, ScaledSign<Way>, BucketSettings<Way>>::PartBase;
  static constexpr std::string_view kName = "sign";
  static constexpr std::string_view kSummary =
      "signs, times a bucket's mean magnitude (Karimireddy et al. 2019); 1 bit each, biased";

  std::uint64_t most_bytes(std::size_t d) const override {
    return 4 * std::uint64_t{buckets_in(d, this->bucket)} + bytes_of_bits(d);
  }
  void encode(std::span<const float> numbers, const CodeAddress&, std::string& code) const override {
    for_each_bucket(numbers.size(), this->bucket, [&](std::size_t first, std::size_t count) {
      double sum = 0;
      for (const float number : numbers.subspan(first, count)) sum += std::fabs(number);
      put_number(code, static_cast<float>(sum / static_cast<double>(count)));
    });
    put_signs(numbers.data(), numbers.size(), code);
  }
  bool decode(std::string_view code, const CodeAddress&, std::span<float> numbers) const override {
    if (code.size() != most_bytes(numbers.size())) return false;
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
