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

/// Buffers records (numbers, text and bytes) and sends them from a separate reading process to its parent.
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

  /// This process's index among the processes that take turns sending, and their number.
  int process() const { return process_; }
  int processes() const { return processes_; }
  /// Ends this process's turn: the reader continues with the next process that has not ended, and after the last, with the first.
  void pass_on();

 private:
  void append(const void* from, std::size_t size);

  int to_;
  int process_;
  int processes_;
  std::vector<char> buffer_;
};

/// Receives these records in the parent process.
class RecordReader {
 public:
  /// Thrown if the other process is gone or has sent anything but records.
  struct Broken {};

  /// `from`: the processes' pipes, in the order of their turns. `most`: the maximum size of one text or byte array.
  RecordReader(std::span<const Descriptor> from, std::uint64_t most);
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// The kind of the next record; nothing after the last one. If the process sent an Error, throws it.
  std::optional<std::uint8_t> next();
  std::uint64_t number();
  void bytes(std::vector<std::uint8_t>& bytes);
  std::string text();

  std::size_t process() const { return at_; }  ///< the process whose records are being read

 private:
  /// The pipe of one process and the bytes received from it.
  struct Source {
    int from;
    std::vector<char> buffer = {};
    std::size_t begin = 0;  ///< start of the unread part
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

/// Limits on the reading processes.
struct ApartLimits {
  std::uint64_t most = 0;      ///< maximum bytes of one text or array sent
  std::uint64_t seconds = 60;  ///< CPU time per process, since some damaged files send a library into an endless loop
  int processes = 1;           ///< processes that take turns sending
};

/// Runs `tell` in separate processes, which are copies of this one, and passes their records to `take` in this process. If each
/// sends its share and passes on after each piece, the records arrive in the order in which one process would send them. Errors
/// thrown by `tell` or `take` are thrown here; a process that ends abnormally, for instance because a library crashes, causes an
/// Error (failure) about `name`. `tell` works on a copy of this process's memory.
void read_apart(const std::string& name, const ApartLimits& limits, function_ref<void(RecordWriter&)> tell,
                function_ref<void(RecordReader&)> take);

}  // namespace fedstride
