#pragma once

#include <map>
#include <string>

namespace fedstride {

/// The machine and build that compute results: processor, processors, memory_bytes, system, version, commit, compiler,
/// instruction_set.
std::map<std::string, std::string> machine_description();

}  // namespace fedstride
