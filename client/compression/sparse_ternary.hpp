#pragma once

#include <algorithm>
#include <cmath>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/sparse.hpp"

namespace fedstride {

/// Sparse ternary compression (Sattler, Wiedemann, Mueller & Samek 2019): the k numbers of largest magnitude become their signs
/// times their mean magnitude. Biased: the authors use error feedback in both directions. Takes 32 bits, plus a sign bit
/// per number sent and the indices in Golomb's code: 9.1 bits per number sent if k/d = 0.01.
template <class Way>
struct SparseTernary final : PartBase<Way, SparseTernary<Way>, KeepSettings<Way>> {
  static constexpr std::string_view kName = "stc";
  static constexpr std::string_view kSummary =
      "signs of the entries of largest magnitude, their mean magnitude, and their indices (Sattler et al. 2019); biased";

  std::uint64_t most_bytes(std::size_t d) const override {
    const std::uint64_t k = kept_of(this->keep, d);
    return 4 + bytes_of_bits(k + most_bits_of_places(k, d));
  }
  void encode(std::span<const float> numbers, const CodeAddress&, std::string& code) const override {
    const auto places = largest_places(numbers, kept_of(this->keep, numbers.size()));
    double sum = 0;
    for (const std::uint32_t place : places) sum += std::fabs(numbers[place]);
    put_number(code, places.empty() ? 0.0F : static_cast<float>(sum / static_cast<double>(places.size())));
    BitWriter bits(code, bytes_of_bits(places.size() + most_bits_of_places(places.size(), numbers.size())));
    for (const std::uint32_t place : places) bits.put(numbers[place] < 0, 1);
    put_places(bits, places, numbers.size());
  }
  bool decode(std::string_view code, const CodeAddress&, std::span<float> numbers) const override {
    const std::size_t k = kept_of(this->keep, numbers.size());
    if (code.size() < 4 + bytes_of_bits(k)) return false;
    const auto mean = take_number<float>(code);
    if (!(mean >= 0 && std::isfinite(mean))) return false;
    BitReader signs(code), bits(code);
    for (std::size_t i = 0; i < k; ++i) bits.take(1);
    const auto places = take_places(bits, k, numbers.size());
    if (!places || !bits.ended()) return false;
    std::ranges::fill(numbers, 0.0F);
    for (const std::uint32_t place : *places) numbers[place] = signs.take(1) != 0 ? -mean : mean;
    return true;
  }
};

}  // namespace fedstride
