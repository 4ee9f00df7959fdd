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

/// Records on their way out of a process that reads for this one: numbers, texts and bytes, in buffers.
class RecordWriter {
 public:
  explicit RecordWriter(int to, int process = 0, int processes = 1) : to_(to), process_(process), processes_(processes) {}
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Begins a record; `kind` is up to whoever reads them.
  void begin(std::uint8_t kind);
  void number(std::uint64_t value);
  void bytes(std::span<const std::uint8_t> bytes);
  void text(std::string_view text);
  void flush();

  /// Which of how many processes this is that tell in turns.
  int process() const { return process_; }
  int processes() const { return processes_; }
  /// The next process' records come now, and after the last one's the first one's. One that has ended is passed over.
  void pass_on();

 private:
  void append(const void* from, std::size_t size);

  int to_;
  int process_;
  int processes_;
  std::vector<char> buffer_;
};

/// The same records as they come.
class RecordReader {
 public:
  /// The other process is gone, or has sent something else than records.
  struct Broken {};

  /// `from`: the processes' ends, in turn. `most`: no text and no bytes are longer.
  RecordReader(std::span<const Descriptor> from, std::uint64_t most);
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// The kind of the next record; nothing after the last one. Throws the Error that ended the reading.
  std::optional<std::uint8_t> next();
  std::uint64_t number();
  void bytes(std::vector<std::uint8_t>& bytes);
  std::string text();

  std::size_t process() const { return at_; }  ///< whose records come

 private:
  /// Records of one process, as far as they have come.
  struct Source {
    int from;
    std::vector<char> buffer = {};
    std::size_t begin = 0;  ///< of what is not yet taken
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
  std::uint64_t most = 0;      ///< bytes of one text or array that it sends
  std::uint64_t seconds = 60;  ///< of a processor: some damaged files lead a library in circles
  int processes = 1;           ///< that tell in turns
};

/// Carries out `tell` in processes of their own, copies of this one, and gives their records to `take` here: as one process would have
/// told them if each tells its share and passes on after each piece of it. Errors of either are thrown; where a process itself ends, by a
/// fault of a library for instance, that is an Error (failure) about `name`. `tell` has this process' memory as it was, and leaves nothing
/// in it.
void read_apart(const std::string& name, const ApartLimits& limits, function_ref<void(RecordWriter&)> tell,
                function_ref<void(RecordReader&)> take);

}  // namespace fedstride
