#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fedstride::test {

/// An event as a reader has it that shares nothing with the writer.
struct ReadEvent {
  double wall_time = 0;
  std::uint64_t step = 0;
  std::string file_version;
  std::map<std::string, float> scalars;
};

/// CRC-32C bit by bit.
inline std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint32_t sum = 0xffffffff;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? sum >> 1 ^ 0x82f63b78 : sum >> 1;
  }
  return ~sum;
}

class EventReader {
 public:
  /// Throws std::runtime_error for anything that TensorBoard would not read.
  static std::vector<ReadEvent> read(std::string_view file) {
    std::vector<ReadEvent> events;
    while (!file.empty()) {
      const auto head = take(file, 8);
      if (masked(head) != whole(take(file, 4))) throw std::runtime_error("checksum of a length");
      const auto body = take(file, whole(head));
      if (masked(body) != whole(take(file, 4))) throw std::runtime_error("checksum of a record");
      events.push_back(event(body));
    }
    return events;
  }

 private:
  static std::string_view take(std::string_view& from, std::uint64_t size) {
    if (from.size() < size) throw std::runtime_error("too short");
    const auto part = from.substr(0, size);
    from.remove_prefix(size);
    return part;
  }
  static std::uint64_t whole(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }
  static std::uint64_t masked(std::string_view bytes) {
    const std::uint32_t sum = slow_crc32c(bytes);
    return static_cast<std::uint32_t>((sum >> 15 | sum << 17) + 0xa282ead8);
  }
  static std::uint64_t varint(std::string_view& from) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(from, 1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("a varint without an end");
  }
  static std::pair<std::uint64_t, std::string_view> field(std::string_view& from, std::uint64_t& number) {
    const std::uint64_t key = varint(from);
    number = key >> 3;
    switch (key & 7) {
      case 0:
        return {varint(from), {}};
      case 1:
        return {whole(take(from, 8)), {}};
      case 2:
        return {0, take(from, varint(from))};
      case 5:
        return {whole(take(from, 4)), {}};
      default:
        throw std::runtime_error("an unknown kind of field");
    }
  }
  static ReadEvent event(std::string_view body) {
    ReadEvent result;
    for (std::uint64_t number = 0; !body.empty();) {
      auto [value, bytes] = field(body, number);
      if (number == 1) result.wall_time = std::bit_cast<double>(value);
      if (number == 2) result.step = value;
      if (number == 3) result.file_version = bytes;
      while (number == 5 && !bytes.empty()) {
        std::uint64_t inner = 0;
        auto scalar = field(bytes, inner).second;
        std::string tag;
        float number_of_it = 0;
        while (!scalar.empty()) {
          const auto [bits, text] = field(scalar, inner);
          if (inner == 1) tag = text;
          if (inner == 2) number_of_it = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        }
        if (!result.scalars.emplace(tag, number_of_it).second) throw std::runtime_error("a tag twice: " + tag);
      }
    }
    return result;
  }
};

}  // namespace fedstride::test
