#pragma once

#include <asio.hpp>
#include <chrono>
#include <system_error>
#include <utility>

// Asio is slow to compile, so headers of other folders do not include this.

namespace fedstride {

/// Calls the function after this time unless the timer is reset or canceled first.
void after(asio::steady_timer& timer, std::chrono::steady_clock::duration time, auto function) {
  timer.expires_after(time);
  timer.async_wait([function = std::move(function)](std::error_code error) {
    if (!error) function();
  });
}

/// Closes a socket in any state, ignoring errors.
void close_quietly(auto& socket) {
  std::error_code ignored;
  socket.close(ignored);
}

}  // namespace fedstride
