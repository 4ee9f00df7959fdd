#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace fedstride {

/// Objects that are expensive to make and used by one thread at a time: only as many are made as are in use at once.
template <class T>
class Pool {
 public:
  /// Returns an idle object, or a new one from std::unique_ptr<T> make(). The caller gives it back; an object lost to an
  /// exception is replaced by a new one.
  template <class Make>
  std::unique_ptr<T> borrow(Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto thing = std::move(idle_.back());
        idle_.pop_back();
        return thing;
      }
    }
    return std::forward<Make>(make)();
  }
  void give_back(std::unique_ptr<T> thing) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(thing));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace fedstride
