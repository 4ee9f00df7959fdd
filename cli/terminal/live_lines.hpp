#pragma once

#include <cstdio>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace fedstride {

/// A piece of a line that must fit into a terminal. If not all pieces fit, those with the largest rank are omitted first.
struct Piece {
  std::string text;
  int rank = 0;
};
/// "[####......] round 3/10 0:14 left": a bar and pieces, at most `columns` wide. The bar shrinks first, from 30 characters to 8;
/// then pieces and finally the bar itself are omitted.
std::string bar_line(double share, std::span<const Piece> pieces, std::size_t columns);

/// Lines at the bottom of a terminal on standard output that change in place, below permanent lines. No line reaches the
/// terminal's edge, and drawn lines are removed completely, even if the window has become narrower. Without a terminal, or on one
/// that cannot move its cursor (TERM=dumb), only permanent lines are printed. A process may use one instance at a time, from any
/// thread.
class LiveLines {
 public:
  LiveLines();
  ~LiveLines() { end(); }
  LiveLines& operator=(LiveLines&&) = delete;

  /// Draws the lines that `lines` returns for a width in columns, five times a second until end().
  void begin(std::function<std::vector<std::string>(std::size_t columns)> lines);
  /// Removes the changing lines.
  void end();
  /// Prints text, which must end with a newline, above the changing lines; they reappear when next drawn.
  void print(const std::string& text);

 private:
  void draw();

  bool on_terminal_;
  std::function<std::vector<std::string>(std::size_t)> lines_;
  std::jthread thread_;
};

/// Prints text, which must end with a newline, to a stream, above the changing lines if they are on the same terminal.
void print_beside_live_lines(std::FILE* stream, const std::string& text);

/// For signal handlers that end the process: removes the changing lines. Makes only system calls.
void wipe_live_lines();

}  // namespace fedstride
