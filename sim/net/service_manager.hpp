#pragma once

#include <chrono>
#include <string_view>

namespace fedstride {

/// Tells systemd, or another service manager, the state of this process, such as "READY=1": a datagram to the socket that
/// NOTIFY_SOCKET names (sd_notify(3)). Does nothing without such a socket, and never waits.
void notify_service_manager(std::string_view state);

/// How often a party's network thread sends "WATCHDOG=1".
inline constexpr std::chrono::seconds kWatchdogEvery{1};

}  // namespace fedstride
