#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dp/accountants/accountants.hpp"

namespace CLI {
class App;
}

namespace fedstride {

class Json;

/// The number, or "infinite": JSON has no infinity.
Json finite_json(double number);

// Subcommands of `fedstride privacy` defined in files of their own.

void add_privacy_audit(CLI::App& privacy);
void add_privacy_budget(CLI::App& privacy);
void add_privacy_measure(CLI::App& privacy);
void add_privacy_schedule(CLI::App& privacy);

}  // namespace fedstride
