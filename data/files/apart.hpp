#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/function_ref.hpp"

namespace fedstride {

/// Records on their way out of a process that reads for this one: numbers, texts and bytes, in buffers.
class RecordWriter {
 public:
  explicit RecordWriter(int to) : to_(to) {}
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Begins a record; `kind` is up to whoever reads them.
  void begin(std::uint8_t kind);
  void number(std::uint64_t value);
  void bytes(std::span<const std::uint8_t> bytes);
  void text(std::string_view text);
  void flush();

 private:
  void append(const void* from, std::size_t size);

  int to_;
  std::vector<char> buffer_;
};

/// The same records as they come.
class RecordReader {
 public:
  /// The other process is gone, or has sent something else than records.
  struct Broken {};

  /// `most`: no text and no bytes are longer.
  RecordReader(int from, std::uint64_t most) : from_(from), most_(most) {}
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// The kind of the next record; nothing after the last one. Throws the Error that ended the reading.
  std::optional<std::uint8_t> next();
  std::uint64_t number();
  void bytes(std::vector<std::uint8_t>& bytes);
  std::string text();

 private:
  void take(void* to, std::size_t size);
  std::uint64_t length();

  int from_;
  std::uint64_t most_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  ///< of what is not yet taken
  std::size_t end_ = 0;
};

/// The bounds of a process that reads.
struct ApartLimits {
  std::uint64_t most = 0;      ///< bytes of one text or array that it sends
  std::uint64_t seconds = 60;  ///< of a processor: some damaged files lead a library in circles
};

/// Carries out `tell` in a process of its own, a copy of this one, and gives its records to `take` here. Errors of either are thrown;
/// where the process itself ends, by a fault of a library for instance, that is an Error (failure) about `name`. `tell` has this process'
/// memory as it was, and leaves nothing in it.
void read_apart(const std::string& name, const ApartLimits& limits, function_ref<void(RecordWriter&)> tell,
                function_ref<void(RecordReader&)> take);

}  // namespace fedstride
