#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fedstride {

/// A number under a tag, as TensorBoard shows it.
struct Scalar {
  std::string tag;  ///< "accuracy/test"; the part before the first '/' is its group
  double value = 0;
};

// TensorBoard's event files: TFRecords of TensorFlow's protocol buffer Event. Only six of its fields are needed, so this does
// not use libprotobuf.

/// The first record of a file: Event{wall_time, file_version: "brain.Event:2"}. `wall_time`: seconds since 1970.
std::string first_event(double wall_time);

/// A record with the scalars of one step: Event{wall_time, step, summary: {value: {tag, simple_value}}}. Values are rounded to
/// float.
std::string scalar_event(double wall_time, std::int64_t step, std::span<const Scalar> scalars);

/// The part of a file that its writer can continue: whole records in order of step, up to step `last`.
struct EventsRead {
  std::size_t bytes = 0;       ///< of the file; 0 if it does not begin like an event file
  std::int64_t last_step = 0;  ///< among them; 0 if none
};
EventsRead events_up_to(std::string_view file, std::int64_t last);
/// True if the file begins with this record, ignoring the wall time.
bool begins_with_event(std::string_view file, std::string_view record);

/// CRC-32C (Castagnoli, RFC 3720) of the bytes, and as TFRecord masks it.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace fedstride
