#include "sim/parties/turns.hpp"

#include <sys/file.h>

#include <cstring>
#include <thread>

#include "core/error.hpp"
#include "core/files.hpp"

namespace fedstride {
namespace {

constexpr std::chrono::milliseconds kTurn{100};
constexpr std::chrono::microseconds kHandover{200};  // lets a waiting process wake up before this one requests a place again

}  // namespace

void Turns::make(const std::filesystem::path& folder, int places) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  make_folder(folder);
  for (int place = 0; place < places; ++place) write_file(folder / std::to_string(place), "");
}

Turns::Turns(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  for (int place = 0;; ++place) {
    Descriptor file = opened(folder / std::to_string(place), O_RDONLY);
    if (!file) break;
    places_.push_back(std::move(file));
  }
  if (places_.empty()) throw failure("cannot open the turn files in '" + folder.string() + "': " + std::strerror(errno));
}

void Turns::begin() {
  if (places_.empty()) return;
  for (const Descriptor& place : places_)
    if (held_ < 0 && ::flock(place.get(), LOCK_EX | LOCK_NB) == 0) held_ = place.get();
  if (held_ < 0) {
    // Waits for one place chosen by process id, which is nearly as good as waiting for any.
    held_ = places_[static_cast<std::size_t>(getpid()) % places_.size()].get();
    uninterrupted([this] { return ::flock(held_, LOCK_EX); });
  }
  until_ = Clock::now() + kTurn;
}

void Turns::pass() {
  if (held_ < 0 || Clock::now() < until_) return;
  end();
  std::this_thread::sleep_for(kHandover);
  begin();
}

void Turns::end() {
  if (held_ < 0) return;
  ::flock(held_, LOCK_UN);
  held_ = -1;
}

}  // namespace fedstride
