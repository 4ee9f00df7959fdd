#pragma once

#include <atomic>

namespace fedstride {

/// The first Ctrl-C or SIGTERM from now on sets the flag that is returned; a second one ends the process.
const std::atomic<bool>* stop_on_signals();

}  // namespace fedstride
