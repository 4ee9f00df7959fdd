#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/draws.hpp"
#include "client/compression/halves.hpp"

namespace fedstride {

/// TernGrad (Wen et al. 2017) sends s sign(x_i) with probability |x_i| / s, otherwise 0; s is the bucket's largest |x_i|.
/// Unbiased; E error^2 = sum |x_i| (s - |x_i|). Takes 32 bits per bucket; five numbers share a byte.
template <class Way>
struct TernGrad final : PartBase<Way, TernGrad<Way>, BucketSettings<Way>> {
  using PartBase<Way, TernGrad<Way>, BucketSettings<Way>>::PartBase;
  static constexpr std::string_view kName = "terngrad";
  static constexpr std::string_view kSummary =
      "-s, 0 or s at random, with s the largest magnitude in a bucket (Wen et al. 2017); 1.6 bits per entry";

  bool suits_feedback() const override { return false; }
  std::uint64_t most_bytes(std::size_t d) const override {
    return 4 * std::uint64_t{buckets_in(d, this->bucket)} + (std::uint64_t{d} + 4) / 5;
  }

  void encode(std::span<const float> numbers, const CodeAddress& address, std::string& code) const override {
    Draws draws(address.own());
    std::vector<float> scales;
    for_each_bucket(numbers.size(), this->bucket, [&](std::size_t first, std::size_t count) {
      float scale = 0;
      for (const float number : numbers.subspan(first, count)) scale = std::max(scale, std::fabs(number));
      scales.push_back(scale);
      put_number(code, scale);
    });
    const std::uint32_t* words = nullptr;
    std::size_t begun = 0, left = 0;  // buckets begun; numbers left in the last one
    unsigned byte = 0, power = 1;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (i % Draws::kAtOnce == 0) words = draws.next().data();
      if (left == 0) left = static_cast<std::size_t>(this->bucket), ++begun;
      --left;
      const bool there = uniform_of(words[i % Draws::kAtOnce]) * scales[begun - 1] < std::fabs(numbers[i]);
      byte += power * (there ? (numbers[i] < 0 ? 2U : 1U) : 0U);
      power *= 3;
      if (power < 243 && i + 1 < numbers.size()) continue;
      code.push_back(static_cast<char>(byte));
      byte = 0;
      power = 1;
    }
  }

  bool decode(std::string_view code, const CodeAddress&, std::span<float> numbers) const override {
    if (code.size() != most_bytes(numbers.size())) return false;
    std::string_view scales = code.substr(0, 4 * buckets_in(numbers.size(), this->bucket));
    code.remove_prefix(scales.size());
    bool good = true;
    std::size_t next = 0;
    unsigned byte = 0, power = 0;  // remaining digits of the current byte; their number
    for_each_bucket(numbers.size(), this->bucket, [&](std::size_t first, std::size_t count) {
      const auto scale = take_number<float>(scales);
      good &= scale >= 0;
      for (float& number : numbers.subspan(first, count)) {
        if (power == 0) {
          good &= byte == 0;
          byte = static_cast<unsigned char>(code[next++]);
          power = 5;
        }
        const unsigned digit = byte % 3;
        byte /= 3;
        --power;
        number = digit == 0 ? 0 : digit == 1 ? scale : -scale;
      }
    });
    return good && byte == 0 && all_finite(numbers);
  }
};

}  // namespace fedstride
