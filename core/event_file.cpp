#include "core/event_file.hpp"

#include <bit>
#include <boost/crc.hpp>

namespace fedstride {
namespace {

// Wire types (protobuf.dev/programming-guides/encoding).
constexpr unsigned kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

template <class Whole>
void put_little_endian(std::string& bytes, Whole value) {
  for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

void put_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  bytes += static_cast<char>(value);
}

void put_field(std::string& bytes, unsigned number, unsigned kind) { put_varint(bytes, number << 3 | kind); }

void put_double(std::string& bytes, unsigned number, double value) {
  put_field(bytes, number, kFixed64);
  put_little_endian(bytes, std::bit_cast<std::uint64_t>(value));
}

void put_text(std::string& bytes, unsigned number, std::string_view text) {
  put_field(bytes, number, kBytes);
  put_varint(bytes, text.size());
  bytes += text;
}

template <class Whole>
Whole little_endian(std::string_view bytes) {
  Whole value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value = static_cast<Whole>(value | static_cast<Whole>(static_cast<unsigned char>(bytes[i])) << (8 * i));
  return value;
}

/// The step of an event written by scalar_event; 0 for one written by first_event, -1 for any other.
std::int64_t step_of(std::string_view event) {
  constexpr std::size_t kStep = 1 + sizeof(double);  // after the wall time
  if (event.size() <= kStep) return -1;
  if (event[kStep] == (3 << 3 | kBytes)) return 0;
  if (event[kStep] != (2 << 3 | kVarint)) return -1;
  std::uint64_t step = 0;
  for (std::size_t i = 0; i < 9 && kStep + 1 + i < event.size(); ++i) {
    const auto byte = static_cast<unsigned char>(event[kStep + 1 + i]);
    step |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return static_cast<std::int64_t>(step);
  }
  return -1;
}

/// A TFRecord: the length, its checksum, the bytes and their checksum.
std::string record(const std::string& event) {
  std::string bytes;
  put_little_endian(bytes, static_cast<std::uint64_t>(event.size()));
  put_little_endian(bytes, masked_crc32c(bytes));
  bytes += event;
  put_little_endian(bytes, masked_crc32c(event));
  return bytes;
}

}  // namespace

EventsRead events_up_to(std::string_view file, std::int64_t last) {
  constexpr std::size_t kAround = 8 + 4 + 4;
  EventsRead read;
  for (std::string_view rest = file; rest.size() >= kAround; rest = file.substr(read.bytes)) {
    const auto size = little_endian<std::uint64_t>(rest);
    if (size > rest.size() - kAround || masked_crc32c(rest.substr(0, 8)) != little_endian<std::uint32_t>(rest.substr(8))) break;
    const std::string_view event = rest.substr(12, size);
    const std::int64_t step = step_of(event), due = read.bytes == 0 ? 0 : read.last_step + 1;
    if (step != due || step > last || masked_crc32c(event) != little_endian<std::uint32_t>(rest.substr(12 + size))) break;
    read = {.bytes = read.bytes + kAround + size, .last_step = step};
  }
  return read;
}

bool begins_with_event(std::string_view file, std::string_view record) {
  constexpr std::size_t kTime = 8 + 4 + 1, kAfterTime = kTime + sizeof(double), kSum = 4;
  if (file.size() < record.size() || record.size() < kAfterTime + kSum) return false;
  const std::size_t after = record.size() - kAfterTime - kSum;
  return file.substr(0, kTime) == record.substr(0, kTime) && file.substr(kAfterTime, after) == record.substr(kAfterTime, after);
}

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1edc6f41, 0xffffffff, 0xffffffff, true, true> sum;
  sum.process_bytes(bytes.data(), bytes.size());
  return sum.checksum();
}

std::uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

std::string first_event(double wall_time) {
  std::string event;
  put_double(event, 1, wall_time);      // Event.wall_time
  put_text(event, 3, "brain.Event:2");  // Event.file_version
  return record(event);
}

std::string scalar_event(double wall_time, std::int64_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    put_text(value, 1, scalar.tag);  // Summary.Value.tag
    put_field(value, 2, kFixed32);   // Summary.Value.simple_value
    put_little_endian(value, std::bit_cast<std::uint32_t>(static_cast<float>(scalar.value)));
    put_text(summary, 1, value);  // Summary.value
  }
  std::string event;
  put_double(event, 1, wall_time);
  put_field(event, 2, kVarint);  // Event.step
  put_varint(event, static_cast<std::uint64_t>(step));
  put_text(event, 5, summary);  // Event.summary
  return record(event);
}

}  // namespace fedstride
