#include "data/files/apart.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.hpp"
#include "core/process.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define FEDSTRIDE_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FEDSTRIDE_SANITIZED
#endif
#endif

namespace fedstride {
namespace {

constexpr std::size_t kRecordBuffer = std::size_t{1} << 20;
constexpr std::uint8_t kEndOfRecords = 255;
constexpr std::uint8_t kErrorRecord = 254;
constexpr std::uint8_t kPassedOn = 253;

/// Limits a reading process to `seconds` of CPU time, makes a fault end it silently, and leaves Ctrl-C to its parent.
void settle_apart(std::uint64_t seconds) {
  rlimit time{};
  if (getrlimit(RLIMIT_CPU, &time) == 0) {
    time.rlim_cur = std::min<rlim_t>(time.rlim_cur, seconds);
    setrlimit(RLIMIT_CPU, &time);
  }
  std::signal(SIGINT, SIG_IGN);
  for (const int usual : {SIGPIPE, SIGTERM, SIGXCPU}) std::signal(usual, SIG_DFL);
#ifndef FEDSTRIDE_SANITIZED  // sanitizer reports must stay visible
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(fault, SIG_DFL);
  prctl(PR_SET_DUMPABLE, 0);
  if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0)
    dup2(nowhere, STDERR_FILENO);  // hides glibc's message about a corrupted heap
#endif
}

void send_error(RecordWriter& writer, const std::string& text, Error::Kind kind = Error::Kind::failure) {
  writer.begin(kErrorRecord);
  writer.number(static_cast<std::uint64_t>(kind));
  writer.text(text);
}

void tell_all(RecordWriter& writer, const std::string& name, function_ref<void(RecordWriter&)> tell) {
  try {
    tell(writer);
    writer.begin(kEndOfRecords);
  } catch (const Error& error) {
    send_error(writer, error.what(), error.kind());
  } catch (const std::bad_alloc&) {
    send_error(writer, name + " needs more memory than is available");
  } catch (const std::exception& other) {
    send_error(writer, name + ": " + other.what());
  }
  writer.flush();
}

/// Returns the error for a process that ended before its last record, given its exit code.
Error broken(const std::string& name, const ApartLimits& limits, int code) {
  if (code == -SIGXCPU)
    return failure(name + " is damaged: the library that reads it did not finish within " + std::to_string(limits.seconds) +
                   " s of CPU time");
  return failure(name + " is damaged: the library that reads it crashed" +
                 (code < 0 ? " (signal " + std::to_string(-code) + ")" : std::string()));
}

}  // namespace

void RecordWriter::begin(std::uint8_t kind) { append(&kind, sizeof kind); }
void RecordWriter::number(std::uint64_t value) { append(&value, sizeof value); }
void RecordWriter::bytes(std::span<const std::uint8_t> bytes) {
  number(bytes.size());
  append(bytes.data(), bytes.size());
}
void RecordWriter::text(std::string_view text) {
  number(text.size());
  append(text.data(), text.size());
}

void RecordWriter::pass_on() {
  if (processes_ > 1) begin(kPassedOn);
}

void RecordWriter::append(const void* from, std::size_t size) {
  const char* next = static_cast<const char*>(from);
  while (size > 0) {
    if (buffer_.capacity() == 0) buffer_.reserve(kRecordBuffer);
    const std::size_t some = std::min(size, kRecordBuffer - buffer_.size());
    buffer_.insert(buffer_.end(), next, next + some);
    next += some;
    size -= some;
    if (buffer_.size() == kRecordBuffer) flush();
  }
}

void RecordWriter::flush() {
  if (!write_all(to_, {buffer_.data(), buffer_.size()})) _exit(1);  // the reader is gone
  buffer_.clear();
}

RecordReader::RecordReader(std::span<const Descriptor> from, std::uint64_t most) : most_(most) {
  for (const Descriptor& end : from) sources_.push_back({end.get()});
}

/// Moves to the next process that has not ended; false if all have.
bool RecordReader::go_on() {
  for (std::size_t passed = 0; passed < sources_.size(); ++passed) {
    at_ = (at_ + 1) % sources_.size();
    if (!sources_[at_].ended) return true;
  }
  return false;
}

std::optional<std::uint8_t> RecordReader::next() {
  std::uint8_t kind = kPassedOn;
  for (take(&kind, sizeof kind); kind == kPassedOn || kind == kEndOfRecords; take(&kind, sizeof kind)) {
    if (kind == kEndOfRecords) sources_[at_].ended = true;
    if (!go_on()) return std::nullopt;
  }
  if (kind != kErrorRecord) return kind;
  const bool is_usage = number() == static_cast<std::uint64_t>(Error::Kind::usage);
  const std::string message = text();
  throw is_usage ? usage_error(message) : failure(message);
}

std::uint64_t RecordReader::number() {
  std::uint64_t value = 0;
  take(&value, sizeof value);
  return value;
}

std::uint64_t RecordReader::length() {
  const std::uint64_t size = number();
  if (size > most_) throw Broken{};
  return size;
}

void RecordReader::bytes(std::vector<std::uint8_t>& bytes) {
  bytes.resize(length());
  take(bytes.data(), bytes.size());
}

std::string RecordReader::text() {
  std::string text(length(), '\0');
  take(text.data(), text.size());
  return text;
}

void RecordReader::take(void* to, std::size_t size) {
  Source& source = sources_[at_];
  char* next = static_cast<char*>(to);
  while (size > 0) {
    if (source.begin == source.end) {
      source.buffer.resize(kRecordBuffer);
      const ssize_t some = uninterrupted([&] { return read(source.from, source.buffer.data(), source.buffer.size()); });
      if (some <= 0) throw Broken{};
      source.begin = 0;
      source.end = static_cast<std::size_t>(some);
    }
    const std::size_t some = std::min(size, source.end - source.begin);
    std::memcpy(next, source.buffer.data() + source.begin, some);
    source.begin += some;
    next += some;
    size -= some;
  }
}

void read_apart(const std::string& name, const ApartLimits& limits, function_ref<void(RecordWriter&)> tell,
                function_ref<void(RecordReader&)> take) {
  std::vector<Descriptor> ends;
  std::vector<ChildProcess> processes;
  for (int process = 0; process < limits.processes; ++process) {
    Pipe pipe;
    fcntl(pipe.in.get(), F_SETPIPE_SZ, static_cast<int>(kRecordBuffer));
    const auto act = [&] {
      settle_apart(limits.seconds);
      RecordWriter writer(pipe.in.get(), process, limits.processes);
      tell_all(writer, name, tell);
      return 0;
    };
    processes.push_back(forked(act, SIGKILL));
    if (!processes.back()) throw failure("cannot read " + name + ": cannot start a process: " + std::strerror(errno));
    ends.push_back(std::move(pipe.out));
  }
  RecordReader reader(ends, limits.most);
  try {
    take(reader);
  } catch (const RecordReader::Broken&) {
    throw broken(name, limits, processes[reader.process()].wait());
  }
  for (ChildProcess& process : processes) process.wait();
}

}  // namespace fedstride
