#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/manual/manual.hpp"

namespace fedstride {

/// The subjects that 'fedstride help SUBJECT' explains.
std::vector<std::string> subject_names();

/// The page of a subject, one screen long: text, choices, flags, an example, and further reading. Empty if there is no such
/// subject.
std::string subject_page(std::string_view name, const CommandInfo& program, std::size_t columns);

/// The example of a subject: one command line.
std::string subject_example(std::string_view name);

}  // namespace fedstride
