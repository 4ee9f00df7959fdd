#pragma once

#include <string>

#include "sim/settings/configuration.hpp"

namespace fedstride {

/// Settings in which neither the local nor the server optimizer is "auto".
struct AutomaticChoice {
  Settings settings;
  std::string note = {};  ///< one line for the user; empty unless the program chose something other than its first candidate
};

/// Chooses the local optimizer, with the settings that go with it, if the user left it open: the first of a few candidates
/// (automatic.cpp) that no rule refuses. Settings from the user stay unchanged, and a key that only ADADP has selects ADADP. If
/// every candidate is refused, the choice is plain ADADP, so the error concerns the user's settings. An unspecified server
/// optimizer becomes plain averaging unless the chosen candidate includes one. The choice depends only on the settings, so it is
/// the same in every process of a run.
AutomaticChoice choose_optimizers(const Settings& settings);

}  // namespace fedstride
