#pragma once

#include <string>

#include "sim/settings/configuration.hpp"

namespace fedstride {

/// Settings in which neither optimizer is "auto" any longer.
struct AutomaticChoice {
  Settings settings;
  std::string note = {};  ///< for the user, one line; empty unless the program chose something other than its first candidate
};

/// Chooses the local optimizer, with the settings that go with it, if the user left it open: the first of a few candidates
/// (automatic.cpp) that no rule refuses. Settings from the user stay unchanged, and a key that only ADADP has selects ADADP. If
/// every candidate is refused, it is plain ADADP, so that the error is about the user's settings. An unspecified server
/// optimizer is plain averaging unless it comes with an optimizer chosen here. A function of the settings alone: the same for
/// every process of a run.
AutomaticChoice choose_optimizers(const Settings& settings);

}  // namespace fedstride
