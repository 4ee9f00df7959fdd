#pragma once

#include <algorithm>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/halves.hpp"
#include "client/compression/sparse.hpp"

namespace fedstride {

/// Keeps the k numbers of largest magnitude (Stich, Cordonnier & Jaggi 2018; Aji & Heafield 2017). Biased: error^2 is the sum of
/// the other numbers' squares, at most (1 - k/d) |x|^2. Sends the k floats and their indices in Golomb's code, or d floats if
/// that is shorter.
template <class Way>
struct TopK final : PartBase<Way, TopK<Way>, KeepSettings<Way>> {
  using PartBase<Way, TopK<Way>, KeepSettings<Way>>::PartBase;
  static constexpr std::string_view kName = "top-k";
  static constexpr std::string_view kSummary = "the entries of largest magnitude and their indices (Stich et al. 2018); biased";

  std::uint64_t most_bytes(std::size_t d) const override {
    const std::uint64_t k = kept_of(this->keep, d);
    return std::min(4 * std::uint64_t{d}, 4 * k + bytes_of_bits(most_bits_of_places(k, d)));
  }
  void encode(std::span<const float> numbers, const CodeAddress&, std::string& code) const override {
    const auto places = largest_places(numbers, kept_of(this->keep, numbers.size()));
    if (is_dense(numbers.size())) {
      const std::size_t at = code.size();
      code.resize(at + numbers.size_bytes());
      for (const std::uint32_t place : places) std::memcpy(code.data() + at + 4 * std::size_t{place}, &numbers[place], 4);
      return;
    }
    for (const std::uint32_t place : places) put_number(code, numbers[place]);
    BitWriter bits(code, bytes_of_bits(most_bits_of_places(places.size(), numbers.size())));
    put_places(bits, places, numbers.size());
  }
  bool decode(std::string_view code, const CodeAddress&, std::span<float> numbers) const override {
    const std::size_t k = kept_of(this->keep, numbers.size());
    if (is_dense(numbers.size())) {
      if (code.size() != numbers.size_bytes()) return false;
      std::memcpy(numbers.data(), code.data(), code.size());
      return all_finite(numbers) && static_cast<std::size_t>(std::ranges::count_if(numbers, [](float x) { return x != 0; })) <= k;
    }
    if (code.size() < 4 * k) return false;
    BitReader bits(code.substr(4 * k));
    const auto places = take_places(bits, k, numbers.size());
    if (!places || !bits.ended()) return false;
    std::ranges::fill(numbers, 0.0F);
    for (const std::uint32_t place : *places) numbers[place] = take_number<float>(code);
    return all_finite(numbers);
  }

 private:
  bool is_dense(std::size_t d) const { return most_bytes(d) == 4 * std::uint64_t{d}; }
};

}  // namespace fedstride
