#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>

#include "net/source.hpp"

namespace fedstride {

/// Places for sockets of which a thread each takes care. Who holds one keeps nobody out: where all are taken, the source that holds most
/// of them gives one up for a newcomer, the oldest, but nobody before a time of grace. To give it up is to shut the socket down, so that
/// whoever waits for it goes on.
class Places {
 public:
  Places(std::size_t places, std::chrono::milliseconds grace) : places_(places), grace_(grace) {}

  /// Waits until there is a place, and keeps it for the next that takes one. False, at once, after end().
  bool reserve();
  /// Takes a place that was reserved. False after end().
  bool take(int socket);
  /// The socket has no place any more; it is not touched afterwards.
  void leave(int socket);
  /// Shuts all sockets down.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  struct Place {
    int socket;
    Source source;
    Clock::time_point since = Clock::now();
    bool given_up = false;
  };

  Place* victim();

  std::size_t places_;
  std::chrono::milliseconds grace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Place> held_;  ///< in order of their coming
  std::size_t reserved_ = 0;
  bool ended_ = false;
};

}  // namespace fedstride
