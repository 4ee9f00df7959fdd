#include "sweep/cells/subcommand.hpp"

#include <poll.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/error.hpp"
#include "core/process.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxOutputBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxErrorOutputBytes = std::size_t{1} << 16;

// Reads the bytes available now; returns false at the end of the stream.
bool take(int descriptor, std::string& text, std::size_t most) {
  std::array<char, 1 << 16> buffer{};
  const ssize_t count = uninterrupted([&] { return ::read(descriptor, buffer.data(), buffer.size()); });
  if (count > 0) text.append(buffer.data(), std::min(static_cast<std::size_t>(count), most - std::min(most, text.size())));
  return count > 0;
}

}  // namespace

ProgramOutput run_program(const std::vector<std::string>& words, const std::atomic<bool>* stop, double seconds) {
  Pipe out;
  Pipe err;
  ChildProcess child = started(words, {opened("/dev/null", O_RDONLY).get(), out.in.get(), err.in.get()});
  if (!child) throw failure("cannot run '" + words.front() + "': " + std::strerror(errno));
  out.in = Descriptor();
  err.in = Descriptor();
  ProgramOutput result;
  const auto begin = std::chrono::steady_clock::now();
  std::array<pollfd, 2> ends{pollfd{out.out.get(), POLLIN, 0}, pollfd{err.out.get(), POLLIN, 0}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    ::poll(ends.data(), ends.size(), 50);
    if (ends[0].revents != 0 && !take(ends[0].fd, result.out, kMaxOutputBytes + 1)) ends[0].fd = -1;
    if (ends[1].revents != 0 && !take(ends[1].fd, result.err, kMaxErrorOutputBytes)) ends[1].fd = -1;
    const bool late = seconds > 0 && std::chrono::steady_clock::now() - begin > std::chrono::duration<double>(seconds);
    if (!result.stopped && (late || (stop != nullptr && stop->load()) || result.out.size() > kMaxOutputBytes)) {
      child.signal(SIGKILL);
      result.stopped = true;
    }
  }
  const int code = child.wait();
  result.code = code >= 0 ? code : 128 - code;
  if (result.out.size() > kMaxOutputBytes) throw failure("'" + words.front() + "' printed more than 64 MiB");
  return result;
}

}  // namespace fedstride
