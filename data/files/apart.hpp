#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.hpp"
#include "core/function_ref.hpp"

namespace fedstride {

/// Outgoing records of a process that reads for this one: numbers, texts and bytes, in buffers.
class RecordWriter {
 public:
  explicit RecordWriter(int to, int process = 0, int processes = 1) : to_(to), process_(process), processes_(processes) {}
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Begins a record; the reader defines the meaning of `kind`.
  void begin(std::uint8_t kind);
  void number(std::uint64_t value);
  void bytes(std::span<const std::uint8_t> bytes);
  void text(std::string_view text);
  void flush();

  /// The number of this process among those that send in turn, and how many there are.
  int process() const { return process_; }
  int processes() const { return processes_; }
  /// Switches to the next process's records, after the last one to the first. Ended processes are skipped.
  void pass_on();

 private:
  void append(const void* from, std::size_t size);

  int to_;
  int process_;
  int processes_;
  std::vector<char> buffer_;
};

/// The same records on arrival.
class RecordReader {
 public:
  /// The other process is gone, or has sent something other than records.
  struct Broken {};

  /// `from`: the processes' pipes, in turn. `most`: the limit on a text or bytes.
  RecordReader(std::span<const Descriptor> from, std::uint64_t most);
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// The kind of the next record; nothing after the last one. Throws the Error that ended the reading.
  std::optional<std::uint8_t> next();
  std::uint64_t number();
  void bytes(std::vector<std::uint8_t>& bytes);
  std::string text();

  std::size_t process() const { return at_; }  ///< whose records come now

 private:
  /// The records received so far from one process.
  struct Source {
    int from;
    std::vector<char> buffer = {};
    std::size_t begin = 0;  ///< of the part not yet taken
    std::size_t end = 0;
    bool ended = false;
  };

  void take(void* to, std::size_t size);
  std::uint64_t length();
  bool go_on();

  std::vector<Source> sources_;
  std::size_t at_ = 0;
  std::uint64_t most_;
};

/// The bounds of a process that reads.
struct ApartLimits {
  std::uint64_t most = 0;      ///< bytes of one text or array sent
  std::uint64_t seconds = 60;  ///< processor time: some damaged files send a library into a loop
  int processes = 1;           ///< that send in turn
};

/// Runs `tell` in separate processes, copies of this one, and gives their records to `take` here: in one process's order if each
/// sends its share and passes on after each piece. Errors of either are thrown; if a process itself ends, for instance by a fault
/// in a library, that is an Error (failure) about `name`. `tell` sees this process's memory as it was, and changes nothing in it.
void read_apart(const std::string& name, const ApartLimits& limits, function_ref<void(RecordWriter&)> tell,
                function_ref<void(RecordReader&)> take);

}  // namespace fedstride
