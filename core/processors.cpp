#include "core/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

namespace fedstride {
namespace {

namespace fs = std::filesystem;

// The processors that a quota pays for, in microseconds a period; infinite without a quota.
double paid(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : std::numeric_limits<double>::infinity();
}

double number_in(const fs::path& file) {
  double number = -1;
  std::ifstream(file) >> number;
  return number;
}

// Version 2: cpu.max holds "QUOTA PERIOD" or "max PERIOD".
double paid_by_unified(const fs::path& group) {
  std::string quota;
  double period = 0;
  std::ifstream(group / "cpu.max") >> quota >> period;
  return quota.empty() || quota == "max" ? paid(0, 0) : paid(std::strtod(quota.c_str(), nullptr), period);
}

double paid_by_cpu_controller(const fs::path& group) {  // version 1
  return paid(number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us"));
}

// The least that a group and the groups around it pay for. In a container the path may be one of the host, which is not there.
double least_paid(const fs::path& mount, std::string group, double (*paid_by)(const fs::path&)) {
  double least = paid_by(mount);
  for (; group.size() > 1; group.erase(group.rfind('/'))) least = std::min(least, paid_by(mount / group.substr(1)));
  return least;
}

double quota(const fs::path& root) {
  double least = std::numeric_limits<double>::infinity();
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/a/b", or "4:cpu,cpuacct:/a/b"
    const std::size_t controllers = line.find(':') + 1, path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0) continue;
    const std::string names = line.substr(controllers, path - 1 - controllers), group = line.substr(path);
    if (names.empty()) least = std::min(least, least_paid(root / "sys/fs/cgroup", group, paid_by_unified));
    std::istringstream list(names);
    for (std::string name; std::getline(list, name, ',');)
      if (name == "cpu") least = std::min(least, least_paid(root / "sys/fs/cgroup/cpu", group, paid_by_cpu_controller));
  }
  return least;
}

}  // namespace

int usable_processors(const fs::path& root) {
  cpu_set_t allowed;
  const bool is_known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;  // fails with more than 1024 processors
  const int count = is_known ? CPU_COUNT(&allowed) : static_cast<int>(std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp(std::ceil(quota(root)), 1.0, std::max(1.0, static_cast<double>(count))));
}

}  // namespace fedstride
