#include "client/update_coding.hpp"

#include <cmath>
#include <limits>

#include "client/compression/bits.hpp"
#include "client/personal_at_client.hpp"
#include "core/exact_sum.hpp"

namespace fedstride {
namespace {

std::int64_t units(float value) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(value) * ExactSum::kScale));
}

float value(std::int64_t units) { return static_cast<float>(static_cast<double>(units) / ExactSum::kScale); }

std::vector<ParameterRange> shifted(std::vector<ParameterRange> ranges, std::size_t by) {
  for (ParameterRange& range : ranges) range.offset += by;
  return ranges;
}

}  // namespace

std::size_t UpdateCoding::size() const {
  std::size_t size = 0;
  for (const ParameterRange& range : sent) size += range.size;
  return size;
}

std::uint64_t UpdateCoding::most_bytes() const {
  const auto vectors = static_cast<std::uint64_t>(copies);
  return vectors * compression->most_bytes_with(matrices, size()) + (vectors - 1) * sizeof(std::uint64_t);
}

std::string UpdateCoding::code(std::uint32_t round, ClientId client, KeptBack& kept, Vector& update) const {
  if (!on() || !ExactSum::admits(view(std::as_const(update)))) return {};
  const std::size_t d = size();
  const bool is_sum = feedback == ErrorFeedback::ef21;
  if (keeps()) kept.resize(d * static_cast<std::size_t>(copies));
  std::string all;
  Vector coded(update.size());
  Vector numbers;
  std::vector<std::int64_t> wanted;
  const auto diverged = [&] {
    kept.clear();
    update.fill(std::numeric_limits<float>::infinity());
    return std::string();
  };
  for (std::uint32_t copy = 0; copy < static_cast<std::uint32_t>(copies); ++copy) {
    const auto ranges = shifted(sent, copy * spread);
    gather(ranges, update, numbers);
    std::int64_t* back = keeps() ? kept.data() + copy * d : nullptr;
    if (back != nullptr) {
      wanted.resize(d);
      for (std::size_t i = 0; i < d; ++i) {
        wanted[i] = units(numbers[i]) + (is_sum ? -back[i] : back[i]);  // both below 2^62
        numbers[i] = value(wanted[i]);
      }
      if (!ExactSum::admits(view(std::as_const(numbers)))) return diverged();
    }
    std::string one;
    compression->encode(view(std::as_const(numbers)), {seed, round, client, copy, matrices}, one);
    if (!compression->decode(one, {seed, round, client, copy, matrices}, view(numbers)) ||
        !ExactSum::admits(view(std::as_const(numbers))))
      return diverged();
    if (back != nullptr)
      for (std::size_t i = 0; i < d; ++i) {
        back[i] = is_sum ? back[i] + units(numbers[i]) : wanted[i] - units(numbers[i]);
        if (std::abs(back[i]) >= std::int64_t{1} << 62) return diverged();
        if (is_sum) numbers[i] = value(back[i]);
      }
    if (is_sum && !ExactSum::admits(view(std::as_const(numbers)))) return diverged();
    scatter(ranges, numbers, coded);
    if (copy + 1 < static_cast<std::uint32_t>(copies)) {
      const std::uint64_t length = one.size();
      all.append(reinterpret_cast<const char*>(&length), sizeof length);
    }
    all += one;
  }
  update.swap(coded);
  return all;
}

bool UpdateCoding::decode(std::string_view code, std::uint32_t round, ClientId client, Vector& update) const {
  update.assign(spread * static_cast<std::size_t>(copies), 0);
  Vector numbers(size());
  for (std::uint32_t copy = 0; copy < static_cast<std::uint32_t>(copies); ++copy) {
    std::uint64_t length = code.size();
    if (copy + 1 < static_cast<std::uint32_t>(copies)) {
      if (code.size() < sizeof length) return false;
      length = take_number<std::uint64_t>(code);
      if (length > code.size()) return false;
    }
    if (!compression->decode(code.substr(0, length), {seed, round, client, copy, matrices}, view(numbers))) return false;
    code.remove_prefix(length);
    scatter(shifted(sent, copy * spread), numbers, update);
  }
  return code.empty();
}

}  // namespace fedstride
