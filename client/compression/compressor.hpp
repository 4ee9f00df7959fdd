#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/part.hpp"
#include "core/random.hpp"
#include "core/task.hpp"

namespace fedstride {

/// A tensor within a vector, viewed as a row-major matrix. It has one row per output or per input of a layer.
struct CodedMatrix {
  std::size_t first = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// The address of a code's random draws. All randomness in the code follows from the address, so none of it is sent.
struct CodeAddress {
  std::uint64_t seed = 0;
  std::uint32_t round = 0;
  ClientId client = 0;
  std::uint32_t part = 0;                      ///< which vector of a message: an update's first or second, or the model
  std::span<const CodedMatrix> matrices = {};  ///< the vector's matrices, ascending and disjoint, for codes that use them

  static constexpr ClientId kServer = 0xFFFFFFFE;
  static constexpr ClientId kEverybody = 0xFFFFFFFF;

  /// Draws private to the sender.
  RandomStream own() const { return {seed, {Purpose::compression, round, client, part}}; }
  /// Draws shared by all senders of a round.
  RandomStream common() const { return {seed, {Purpose::compression, round, kEverybody, part}}; }
};

/// Encodes d numbers as bytes. Sums always use decoded numbers, with or without a network. A code has no length field: decoding
/// needs only d, the settings and the bytes.
class Compressor : public Part {
 public:
  /// False for the part that sends uncompressed floats.
  virtual bool codes() const { return true; }
  /// True if the error that error feedback adds to the next update stays bounded: E |C(x) - x|^2 < |x|^2, or |C(x) - x| is
  /// bounded.
  virtual bool suits_feedback() const { return true; }
  /// The maximum number of bytes in a code of d numbers. Must not exceed 4 d + 64, which bounds the frames of
  /// docs/reference/WIRE.md.
  virtual std::uint64_t most_bytes(std::size_t d) const = 0;
  /// The same, for a vector that contains these matrices.
  virtual std::uint64_t most_bytes_with(std::span<const CodedMatrix> /*matrices*/, std::size_t d) const { return most_bytes(d); }
  /// Appends the code of finite numbers below 2^22 in magnitude.
  virtual void encode(std::span<const float> numbers, const CodeAddress& address, std::string& code) const = 0;
  /// Fills `numbers` with finite values. Returns false, leaving arbitrary contents, unless `code` is a possible output of encode
  /// for this many numbers.
  virtual bool decode(std::string_view code, const CodeAddress& address, std::span<float> numbers) const = 0;
};

/// How clients encode their updates, and how the server encodes its model: mostly with the same parts, but separate settings.
/// client/compression/compressors.cpp has the lists.
class UpCompressor : public Compressor {
 public:
  static PartFamily& family();
  static constexpr bool kIsUp = true;
};
class DownCompressor : public Compressor {
 public:
  static PartFamily& family();
  static constexpr bool kIsUp = false;
};
using UpCompression = Chosen<UpCompressor>;
using DownCompression = Chosen<DownCompressor>;

/// The number of values kept out of d: `keep` is a share if it is below 1, otherwise a count.
std::size_t kept_of(double keep, std::size_t d);

template <class Way>
struct KeepSettings {
  double keep = 0.01;
  static constexpr auto kFields = fields(Field{Way::kIsUp ? "up-keep" : "down-keep", &KeepSettings::keep,
                                               "entries sent of a vector: below 1, their share; 1 or more, their number",
                                               Valid{.low = 0, .low_included = false}});
};

template <class Way>
struct BucketSettings {
  int bucket = 512;
  static constexpr auto kFields = fields(Field{Way::kIsUp ? "up-bucket" : "down-bucket", &BucketSettings::bucket,
                                               "entries that share a scale", Valid{.low = 16, .high = 1e9}});
};

/// Calls each(first, count) for every bucket of d numbers.
void for_each_bucket(std::size_t d, int bucket, auto&& each) {
  const auto size = static_cast<std::size_t>(bucket);
  for (std::size_t first = 0; first < d; first += size) each(first, std::min(size, d - first));
}
inline std::size_t buckets_in(std::size_t d, int bucket) {
  return (d + static_cast<std::size_t>(bucket) - 1) / static_cast<std::size_t>(bucket);
}

}  // namespace fedstride
