#include "cli/terminal/host.hpp"

#include <filesystem>
#include <utility>

namespace fedstride {
namespace {

Host& host_of_process() {
  static Host host{.has_signals = false, .program = [] { return std::filesystem::read_symlink("/proc/self/exe").string(); }};
  return host;
}

}  // namespace

void set_host(Host host) { host_of_process() = std::move(host); }
const Host& host() { return host_of_process(); }

}  // namespace fedstride
