#include "sim/net/places.hpp"

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

ConnectionSlots::Slot* ConnectionSlots::victim() {
  std::map<Source, std::size_t> count;
  std::size_t most = 0;
  for (const Slot& slot : held_) most = std::max(most, ++count[slot.source]);
  for (Slot& slot : held_)
    if (!slot.evicted && count[slot.source] == most) return &slot;
  return nullptr;
}

bool ConnectionSlots::reserve() {
  std::unique_lock lock(mutex_);
  while (!ended_ && held_.size() + reserved_ >= slots_) {
    Slot* const oldest = victim();
    const bool is_evicting = std::ranges::any_of(held_, &Slot::evicted);
    if (oldest == nullptr || is_evicting) {
      changed_.wait(lock);
    } else if (const auto until = oldest->since + grace_; until > Clock::now()) {
      changed_.wait_until(lock, until);
    } else {
      oldest->evicted = true;
      ::shutdown(oldest->socket, SHUT_RDWR);
    }
  }
  if (!ended_) ++reserved_;
  return !ended_;
}

bool ConnectionSlots::take(int socket) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return false;
  --reserved_;
  held_.push_back({socket, source_of_peer(socket)});
  changed_.notify_all();
  return true;
}

void ConnectionSlots::release(int socket) {
  const std::scoped_lock lock(mutex_);
  held_.remove_if([socket](const Slot& slot) { return slot.socket == socket; });
  changed_.notify_all();
}

void ConnectionSlots::end() {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  for (const Slot& slot : held_) ::shutdown(slot.socket, SHUT_RDWR);
  changed_.notify_all();
}

}  // namespace fedstride
