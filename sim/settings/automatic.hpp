#pragma once

#include <string>

#include "sim/settings/configuration.hpp"

namespace fedstride {

/// Settings in which neither optimizer is "auto" any more.
struct AutomaticChoice {
  Settings settings;
  std::string note = {};  ///< for the user, one line; empty unless the program chose something else than its first candidate
};

/// Chooses the local optimizer, and what goes with it, if the user left it open: the first of a few candidates (automatic.cpp) that no
/// rule refuses. Settings that the user gave stay as they are, and a key that only ADADP has chooses that. If every candidate is
/// refused, it is plain ADADP, so that the error is about what the user set. A server optimizer that is left open is plain averaging
/// unless it comes with an optimizer chosen here. A function of the settings alone: the same for every process of a run.
AutomaticChoice choose_optimizers(const Settings& settings);

}  // namespace fedstride
