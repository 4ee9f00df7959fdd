#include "core/python_part.hpp"

#include <dlfcn.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/process.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxOutputBytes = std::size_t{64} << 20;
constexpr const char* kSystemPython = "/usr/bin/python3";  // has the packages that error messages say how to install
constexpr int kPollMilliseconds = 50;
constexpr int kPollsUntilKilled = 20;

/// Places of the folder of the Python part, from the folder of the program: a build tree and programs in its folders (or
/// PREFIX/lib/fedstride/LEVEL), PREFIX/bin; and from that of the module _core: a wheel's, a build tree's, the Debian package's. The
/// last is for programs of one's own with this library: where the part was when the library was built.
constexpr std::array kPlaces{"python",
                             "../python",
                             "../lib/fedstride/python",
                             "lib/fedstride/python",
                             "..",
                             "../../../../fedstride/python",
                             FEDSTRIDE_PYTHON_PART};

/// The file with this code: the program, or the module _core in Python's process.
fs::path own_file() {
  Dl_info info{};
  const bool is_module = ::dladdr(reinterpret_cast<const void*>(&run_python_part), &info) != 0 && info.dli_fname != nullptr &&
                         std::string_view(info.dli_fname).ends_with(".so");
  std::error_code error;
  return fs::canonical(is_module ? info.dli_fname : "/proc/self/exe", error);
}

/// The folder for PYTHONPATH. Throws Error (failure) if the module or package is in none of the places.
std::string part_folder(const std::string& module) {
  const fs::path from = own_file().parent_path();
  for (const char* place : kPlaces) {
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(from / place, error);
    if (fs::exists(folder / (module + ".py"), error) || fs::exists(folder / module, error)) return folder.string();
  }
  throw MissingPython(Error::Kind::failure, "the Python part '" + module + "' is not beside '" + from.string() +
                                                "'; install the program with its folder lib/fedstride");
}

/// $FEDSTRIDE_PYTHON, the system's Python, or the first on PATH. Throws Error (failure) if there is no such program.
std::string python_for(const std::string& module) {
  const char* chosen = std::getenv("FEDSTRIDE_PYTHON");
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  const std::string python = is_chosen ? chosen : ::access(kSystemPython, X_OK) == 0 ? kSystemPython : "python3";
  const char* path = std::getenv("PATH");
  const std::string_view folders = python.find('/') != python.npos ? "." : path == nullptr ? "" : path;
  for (const std::string_view folder : split(folders, ':'))
    if (::access((fs::path(folder) / python).c_str(), X_OK) == 0) return python;
  throw MissingPython(Error::Kind::failure,
                      "'" + python + "' was not found, and '" + module + "' needs it; " + python_packages(module));
}

/// Receives what the child writes until it ends.
void listen(int from, std::string& output, ChildProcess& child) {
  pollfd end{from, POLLIN, 0};
  std::array<char, 1 << 14> buffer{};
  while (end.fd >= 0) {
    try {
      check_stop();
    } catch (const Stopped&) {
      child.signal(SIGTERM);
      for (int i = 0; i < kPollsUntilKilled && !child.ended(); ++i) ::poll(nullptr, 0, kPollMilliseconds);
      throw;  // and the child's destructor kills it
    }
    if (::poll(&end, 1, kPollMilliseconds) <= 0) continue;
    const ssize_t count = uninterrupted([&] { return ::read(from, buffer.data(), buffer.size()); });
    if (count <= 0) end.fd = -1;
    if (count > 0 && output.size() < kMaxOutputBytes) output.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

std::string python_packages(std::string_view module) {
  return std::string("install it with: sudo apt install python3 ") +  // also in docs/install.md
         (module == "fedstride_report" ? "python3-pandas python3-scipy python3-matplotlib python3-jinja2" : "python3-numpy");
}

PythonOutcome run_python_part(const std::string& module, std::string_view task, std::span<const int> kept) {
  const std::string python = python_for(module);
  const char* before = std::getenv("PYTHONPATH");
  const std::string path = part_folder(module) + (before == nullptr || *before == '\0' ? "" : ":" + std::string(before));
  const Descriptor told(::memfd_create("task", MFD_CLOEXEC));
  if (!told || !write_all(told.get(), task)) throw failure("no memory for what '" + module + "' is to do");
  // PYTHONSAFEPATH: the current folder's files are not modules.
  const std::vector<std::string> words{
      "env", "PYTHONPATH=" + path, "PYTHONSAFEPATH=1", python, "-m", module, "/dev/fd/" + std::to_string(told.get())};
  const std::vector<char*> pointers = argument_pointers(words);
  Pipe pipe;  // the child's end closes when the child ends, also if nothing is written to it
  const Descriptor nothing = opened("/dev/null", O_RDONLY);
  ChildProcess child = forked(
      [&] {
        // Only async-signal-safe calls are allowed here.
        for (const int descriptor : kept) ::fcntl(descriptor, F_SETFD, 0);
        ::fcntl(told.get(), F_SETFD, 0);
        return become("/usr/bin/env", pointers, {nothing.get(), pipe.in.get(), STDERR_FILENO});
      },
      SIGKILL);
  if (!child) throw failure("cannot start " + python + ": " + std::strerror(errno));
  pipe.in = Descriptor();
  PythonOutcome outcome;
  listen(pipe.out.get(), outcome.out, child);
  outcome.code = child.wait();
  check_stop();  // Ctrl-C reaches both processes
  return outcome;
}

}  // namespace fedstride
