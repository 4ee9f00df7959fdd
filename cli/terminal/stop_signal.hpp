#pragma once

#include <atomic>

namespace fedstride {

/// The first Ctrl-C or SIGTERM from now on sets the flag that is returned; a second one ends the process.
const std::atomic<bool>* stop_on_signals();

/// From now on SIGHUP adds one to the number that is returned, and does nothing else.
const std::atomic<unsigned>* hangups();

}  // namespace fedstride
