#pragma once

#include <map>
#include <string>

namespace fedstride {

/// What results were computed on: processor, processors, memory_bytes, system, version, commit, compiler, instruction_set.
std::map<std::string, std::string> machine_description();

}  // namespace fedstride
