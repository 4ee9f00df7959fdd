#include "net/places.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace fedstride {
namespace {

Source source_of_peer(int socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  std::array<std::uint8_t, 16> address{};
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return 0;
  if (peer.ss_family == AF_INET6) {
    std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr, address.size());
  } else {
    address[10] = address[11] = 0xff;
    std::memcpy(address.data() + 12, &reinterpret_cast<const sockaddr_in&>(peer).sin_addr, 4);
  }
  return source_of(address);
}

}  // namespace

Places::Place* Places::victim() {
  std::map<Source, std::size_t> count;
  std::size_t most = 0;
  for (const Place& place : held_) most = std::max(most, ++count[place.source]);
  for (Place& place : held_)
    if (!place.given_up && count[place.source] == most) return &place;
  return nullptr;
}

bool Places::reserve() {
  std::unique_lock lock(mutex_);
  while (!ended_ && held_.size() + reserved_ >= places_) {
    Place* const oldest = victim();
    const bool somebody_goes = std::ranges::any_of(held_, &Place::given_up);
    if (oldest == nullptr || somebody_goes) {
      changed_.wait(lock);
    } else if (const auto until = oldest->since + grace_; until > Clock::now()) {
      changed_.wait_until(lock, until);
    } else {
      oldest->given_up = true;
      ::shutdown(oldest->socket, SHUT_RDWR);
    }
  }
  if (!ended_) ++reserved_;
  return !ended_;
}

bool Places::take(int socket) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return false;
  --reserved_;
  held_.push_back({socket, source_of_peer(socket)});
  changed_.notify_all();
  return true;
}

void Places::leave(int socket) {
  const std::scoped_lock lock(mutex_);
  held_.remove_if([socket](const Place& place) { return place.socket == socket; });
  changed_.notify_all();
}

void Places::end() {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  for (const Place& place : held_) ::shutdown(place.socket, SHUT_RDWR);
  changed_.notify_all();
}

}  // namespace fedstride
