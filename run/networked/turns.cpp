#include "run/networked/turns.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "core/error.hpp"
#include "core/files.hpp"

namespace fedstride {
namespace {

constexpr std::chrono::milliseconds kTurn{100};
constexpr std::chrono::microseconds kForTheNext{200};  // a waiting process must wake before this one asks again

}  // namespace

void Turns::make(const std::filesystem::path& folder, int places) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  std::filesystem::create_directories(folder, error);
  if (error) throw failure("cannot make folder '" + folder.string() + "': " + error.message());
  for (int place = 0; place < places; ++place) write_file(folder / std::to_string(place), "");
}

Turns::Turns(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  for (int place = 0;; ++place) {
    const int file = ::open((folder / std::to_string(place)).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) break;
    places_.push_back(file);
  }
  if (places_.empty()) throw failure("'" + folder.string() + "' has no places to take turns at: " + std::strerror(errno));
}

Turns::~Turns() {
  for (const int place : places_) ::close(place);
}

void Turns::begin() {
  if (places_.empty()) return;
  for (const int place : places_)
    if (held_ < 0 && ::flock(place, LOCK_EX | LOCK_NB) == 0) held_ = place;
  if (held_ < 0) {
    // Any place will do; waiting for one of them, by process, is nearly that.
    const int place = places_[static_cast<std::size_t>(getpid()) % places_.size()];
    while (::flock(place, LOCK_EX) != 0 && errno == EINTR) {
    }
    held_ = place;
  }
  until_ = Clock::now() + kTurn;
}

void Turns::pass() {
  if (held_ < 0 || Clock::now() < until_) return;
  end();
  std::this_thread::sleep_for(kForTheNext);
  begin();
}

void Turns::end() {
  if (held_ < 0) return;
  ::flock(held_, LOCK_UN);
  held_ = -1;
}

}  // namespace fedstride
