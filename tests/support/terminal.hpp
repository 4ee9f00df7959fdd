#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "core/process.hpp"

namespace fedstride::test {

/// The screen of a terminal, with everything that was scrolled out of it: enough of one for a program that clears lines and moves up.
/// When its width changes, it wraps its lines anew, as most terminals do.
class Screen {
 public:
  explicit Screen(std::size_t columns) : columns_(columns) {}

  void write(std::string_view bytes) {
    pending_ += bytes;
    while (!pending_.empty() && step()) {
    }
  }

  void resize(std::size_t columns) {
    columns_ = columns;
    // The cursor is at the end of what was written last, as in all that the program draws.
    std::vector<Row> rows;
    for (std::size_t i = 0; i < rows_.size();) {
      std::string line;
      for (bool wrapped = true; wrapped && i < rows_.size(); ++i) {
        line += rows_[i].text;
        wrapped = rows_[i].wraps;
      }
      do {
        rows.push_back({line.substr(0, columns), line.size() > columns});
        line.erase(0, columns);
      } while (!line.empty());
    }
    rows_ = rows;
    row_ = rows_.size() - 1;
    column_ = rows_.back().text.size();
  }

  /// The rows, without blanks at the end, with wrapped ones joined.
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    bool joins = false;
    for (const Row& row : rows_) {
      if (joins)
        all.back() += row.text;
      else
        all.push_back(row.text);
      joins = row.wraps;
    }
    for (std::string& line : all) line.erase(line.find_last_not_of(' ') + 1);
    while (!all.empty() && all.back().empty()) all.pop_back();
    return all;
  }

  /// True if a row was ever filled to the edge and went on.
  std::size_t rows() const { return rows_.size(); }

 private:
  struct Row {
    std::string text;
    bool wraps = false;
  };

  bool step() {
    if (pending_.front() == '\033') {
      const auto end = pending_.find_first_of("ABCDHJKmhl", 1);
      if (end == pending_.npos) return false;
      const int count = std::max(1, std::atoi(pending_.substr(2, end - 2).c_str()));
      if (pending_[end] == 'A') row_ -= std::min(row_, static_cast<std::size_t>(count));
      if (pending_[end] == 'K' || pending_[end] == 'J') erase(pending_[end] == 'J');
      pending_.erase(0, end + 1);
      return true;
    }
    const char byte = pending_.front();
    pending_.erase(0, 1);
    if (byte == '\r') {
      column_ = 0;
    } else if (byte == '\n') {
      if (++row_ == rows_.size()) rows_.emplace_back();
    } else {
      if (column_ == columns_) {
        rows_[row_].wraps = true;
        column_ = 0;
        if (++row_ == rows_.size()) rows_.emplace_back();
      }
      std::string& text = rows_[row_].text;
      if (text.size() <= column_) text.resize(column_ + 1, ' ');
      text[column_++] = byte;
    }
    return true;
  }

  void erase(bool below) {
    rows_[row_].text.resize(std::min(column_, rows_[row_].text.size()));
    rows_[row_].wraps = false;
    if (below) rows_.resize(row_ + 1);
  }

  std::size_t columns_;
  std::vector<Row> rows_{1};
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::string pending_;
};

/// A program on a terminal of its own, whose screen is followed.
class OnTerminal {
 public:
  /// With `error`, standard error goes to that file instead.
  OnTerminal(std::vector<std::string> words, std::size_t columns, const std::string& error = "") : screen(columns) {
    master_ = posix_openpt(O_RDWR | O_NOCTTY);
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) return;
    const char* name = ptsname(master_);
    if (name == nullptr) return;
    const std::string terminal = name;
    set_columns(columns);
    const std::vector<char*> pointers = argument_pointers(words);
    child_ = forked(
        [&] {
          setsid();  // the terminal opened next becomes the controlling one, so that ^C sends SIGINT
          const int own = open(terminal.c_str(), O_RDWR);
          setenv("TERM", "xterm", 1);
          close(master_);
          return become(pointers[0], pointers,
                        {own, own, error.empty() ? dup(own) : open(error.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644)});
        },
        SIGKILL);
  }
  ~OnTerminal() {
    if (master_ >= 0) close(master_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  bool made() const { return static_cast<bool>(child_); }

  void resize(std::size_t columns) {
    read_for(std::chrono::milliseconds(0));
    set_columns(columns);
    screen.resize(columns);
  }
  void type(std::string_view keys) { [[maybe_unused]] const auto written = ::write(master_, keys.data(), keys.size()); }
  void signal(int number) const { child_.signal(number); }

  /// Follows the screen until the condition holds or a minute has passed; true if it holds.
  bool until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition() && std::chrono::steady_clock::now() < end && read_for(std::chrono::milliseconds(20))) {
    }
    return condition();
  }
  /// Follows the screen to the program's end; its exit code, or minus the signal that ended it.
  int wait() {
    while (read_for(std::chrono::milliseconds(20))) {
    }
    return child_.wait();
  }

  Screen screen;
  std::string bytes = {};  ///< everything that was written

 private:
  void set_columns(std::size_t columns) const {
    const winsize size{.ws_row = 24, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
    ioctl(master_, TIOCSWINSZ, &size);
  }

  // False once the program and all that it started have closed the terminal.
  bool read_for(std::chrono::milliseconds time) {
    pollfd ready{.fd = master_, .events = POLLIN, .revents = 0};
    char buffer[4096];
    while (poll(&ready, 1, static_cast<int>(time.count())) > 0) {
      const ssize_t count = read(master_, buffer, sizeof buffer);
      if (count <= 0) return false;
      bytes.append(buffer, static_cast<std::size_t>(count));
      screen.write({buffer, static_cast<std::size_t>(count)});
      time = std::chrono::milliseconds(0);
    }
    return true;
  }

  int master_ = -1;
  ChildProcess child_;
};

}  // namespace fedstride::test
