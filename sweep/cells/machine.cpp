#include "sweep/cells/machine.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/build_info.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

// The value of the first line "NAME : value" of /proc/cpuinfo.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(':'); colon != line.npos) return std::string(trimmed(line.substr(colon + 1)));
  return "unknown";
}

}  // namespace

std::map<std::string, std::string> machine_description() {
  const BuildInfo build = build_info();
  std::map<std::string, std::string> machine{{"processor", processor_name()},
                                             {"processors", std::to_string(std::thread::hardware_concurrency())},
                                             {"version", build.version},
                                             {"commit", build.commit},
                                             {"compiler", build.compiler},
                                             {"instruction_set", build.instruction_set},
                                             {"numerics_version", std::to_string(kNumericsVersion)}};
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page > 0)
    machine["memory_bytes"] = std::to_string(static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page));
  if (utsname system{}; ::uname(&system) == 0) machine["system"] = std::string(system.sysname) + " " + system.release;
  return machine;
}

}  // namespace fedstride
