#pragma once

#include <atomic>

namespace fedstride {

/// The first Ctrl-C or SIGTERM from now on sets stop_requested (core/stop.hpp), whose address is returned. If the program goes on
/// in spite of that, it is ended after 1.8 seconds with exit code 130, as if killed: finished rounds are on the disk. A second
/// signal ends the process at once. Where the signals are a host's (host.hpp) nothing is installed.
const std::atomic<bool>* stop_on_signals();

/// From now on SIGHUP adds one to the number that is returned, and does nothing else.
const std::atomic<unsigned>* hangups();

}  // namespace fedstride
