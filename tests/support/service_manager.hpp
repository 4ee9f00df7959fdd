#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "core/descriptor.hpp"

namespace fedstride::test {

/// Plays systemd: a datagram socket, named by NOTIFY_SOCKET while this lives. A name that begins with @ is an abstract one.
class ServiceManager {
 public:
  explicit ServiceManager(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    is_there_ = ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                       static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())) == 0;
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~ServiceManager() { ::unsetenv("NOTIFY_SOCKET"); }
  ServiceManager& operator=(ServiceManager&&) = delete;

  bool is_there() const { return is_there_; }
  /// The next message; empty if there is none.
  std::string next() const {
    char text[256];
    const ssize_t size = ::recv(socket_.get(), text, sizeof text, 0);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
  }

 private:
  Descriptor socket_;
  bool is_there_ = false;
};

}  // namespace fedstride::test
