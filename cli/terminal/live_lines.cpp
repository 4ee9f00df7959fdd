#include "cli/terminal/live_lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "cli/terminal/columns.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kUsualColumns = 80;
constexpr std::size_t kUsualRows = 24;
constexpr std::size_t kLongestBar = 30;
constexpr std::size_t kShortestBar = 8;
// Columns kept free at the right, because a terminal shows ^C at the cursor and a full line would wrap.
constexpr std::size_t kMargin = 3;

// The lengths, in characters, of the lines now on the terminal. The mutex guards them, since other threads also print.
std::mutex drawn_mutex;
std::vector<std::size_t> drawn;
// The number of lines drawn above the cursor's row, or -1 if no lines are drawn; read by signal handlers.
std::atomic<int> rows_above{-1};
static_assert(std::atomic<int>::is_always_lock_free);

std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](unsigned char byte) { return (byte & 0xC0) != 0x80; }));
}

bool any_drawn = false;

// Removes the lines. Terminals wrap wide lines when a window becomes narrower, so rows are recounted. The cursor's row is cleared
// even if it should be empty: when ^C is typed, a terminal discards pending output, possibly including an earlier removal.
void wipe() {
  if (!any_drawn) return;
  const std::size_t columns = terminal_columns(kUsualColumns);
  std::size_t rows = 0;
  for (const std::size_t length : drawn) rows += std::max<std::size_t>(1, (length + columns - 1) / columns);
  if (rows > 1) std::printf("\033[%zuA", rows - 1);
  std::printf("\r\033[J");
  std::fflush(stdout);
  drawn.clear();
  rows_above = -1;
}

}  // namespace

std::string bar_line(double share, std::span<const Piece> pieces, std::size_t columns) {
  int most = std::numeric_limits<int>::max();
  for (;;) {
    std::string text;
    int largest = 0;
    for (const Piece& piece : pieces) {
      if (piece.rank >= most || piece.text.empty()) continue;
      text += (text.empty() ? "" : "  ") + piece.text;
      largest = std::max(largest, piece.rank);
    }
    const std::size_t length = length_of(text);
    constexpr std::size_t kFrame = 3;  // the bar's brackets and the space after the bar
    if (length + kFrame + kShortestBar <= columns)
      return bar_text(share, std::min(kLongestBar, columns - length - kFrame)) + " " + text;
    if (largest == 0) return shortened(text, columns);
    most = largest;
  }
}

LiveLines::LiveLines() {
  const char* kind = std::getenv("TERM");
  on_terminal_ = isatty(STDOUT_FILENO) != 0 && (kind == nullptr || std::string_view(kind) != "dumb");
}

void LiveLines::begin(std::function<std::vector<std::string>(std::size_t columns)> lines) {
  if (!on_terminal_) return;
  lines_ = std::move(lines);
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      draw();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  });
}

void LiveLines::draw() {
  const std::size_t columns = terminal_columns(kUsualColumns);
  std::vector<std::string> lines;
  if (columns > kMargin) lines = lines_(columns - kMargin);
  lines.resize(std::min(lines.size(), terminal_rows(kUsualRows) - 1));  // scrolled-out lines cannot be removed
  const std::lock_guard lock(drawn_mutex);
  wipe();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::printf("%s%s", i == 0 ? "" : "\n", lines[i].c_str());
    drawn.push_back(length_of(lines[i]));
    any_drawn = true;
  }
  rows_above = static_cast<int>(lines.size()) - 1;
  std::fflush(stdout);
}

void LiveLines::end() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  const std::lock_guard lock(drawn_mutex);
  wipe();
}

void LiveLines::print(const std::string& text) { print_beside_live_lines(stdout, text); }

void print_beside_live_lines(std::FILE* stream, const std::string& text) {
  const std::lock_guard lock(drawn_mutex);
  if (isatty(fileno(stream)) != 0) wipe();
  std::fputs(text.c_str(), stream);
  std::fflush(stream);
}

void wipe_live_lines() {
  const int rows = rows_above.exchange(-1);
  if (rows < 0) return;
  constexpr char kUp[] = "\033[A";
  constexpr char kRest[] = "\r\033[J";
  for (int i = 0; i < rows; ++i) [[maybe_unused]] const auto up = ::write(STDOUT_FILENO, kUp, sizeof kUp - 1);
  [[maybe_unused]] const auto rest = ::write(STDOUT_FILENO, kRest, sizeof kRest - 1);
}

}  // namespace fedstride
