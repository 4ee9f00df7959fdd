#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fedstride {

/// A number under a tag, as shown by TensorBoard.
struct Scalar {
  std::string tag;  ///< "accuracy/test"; the part before the first '/' is its group
  double value = 0;
};

// TensorBoard's event files are TFRecords of TensorFlow's Event protocol buffers. Only a few fields are needed, so this code does
// not use libprotobuf.

/// The first record of a file: Event{wall_time, file_version: "brain.Event:2"}. `wall_time`: seconds since 1970.
std::string first_event(double wall_time);

/// A record with the scalars of one step: Event{wall_time, step, summary: {value: {tag, simple_value}}}. Values are rounded to
/// float.
std::string scalar_event(double wall_time, std::int64_t step, std::span<const Scalar> scalars);

/// The part of a file after which its writer can continue: whole records in order of step, up to step `last`.
struct EventsRead {
  std::size_t bytes = 0;       ///< length of this part; 0 if the file does not begin like an event file
  std::int64_t last_step = 0;  ///< in this part; 0 if none
};
EventsRead events_up_to(std::string_view file, std::int64_t last);
/// True if the file begins with this record, ignoring the wall time.
bool begins_with_event(std::string_view file, std::string_view record);

/// CRC-32C (Castagnoli, RFC 3720) of the bytes, plain and as masked in TFRecords.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace fedstride
