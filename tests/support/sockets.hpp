#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/descriptor.hpp"

namespace fedstride::test {

/// A TCP socket of this machine's loopback.
using Socket = Descriptor;

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline std::uint16_t port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

/// Listens; without a descriptor if the port is taken. 0: a free one.
inline Socket listening(std::uint16_t port) {
  Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const auto address = loopback(port);
  const bool ready =
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(listener.get(), 64) == 0;
  return ready ? std::move(listener) : Socket();
}

/// A connection; without a descriptor if nobody listens there.
inline Socket calling(std::uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const auto address = loopback(port);
  const bool there = connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return there ? std::move(socket) : Socket();
}

inline bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto size = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

/// Exactly so many bytes, or fewer if the peer ends, or is silent for ten seconds (sanitized programs are slow).
inline std::string receive(int fd, std::size_t bytes) {
  std::string all(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    pollfd one{fd, POLLIN, 0};
    if (poll(&one, 1, 10'000) <= 0) break;
    const auto size = recv(fd, all.data() + done, bytes - done, 0);
    if (size <= 0) break;
    done += static_cast<std::size_t>(size);
  }
  all.resize(done);
  return all;
}

}  // namespace fedstride::test
