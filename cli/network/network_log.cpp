#include "cli/network/network_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>

namespace fedstride {

NetworkLog network_log(bool quiet) {
  if (quiet) return [](const std::string&) {};
  constexpr int kLinesASecond = 40;
  struct State {
    std::mutex mutex;
    std::time_t second = 0;
    int lines = 0;
    unsigned long left_out = 0;
  };
  return [state = std::make_shared<State>()](const std::string& line) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    char clock[16];
    std::strftime(clock, sizeof clock, "%H:%M:%S", &parts);
    std::string text = line;
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    const std::lock_guard lock(state->mutex);
    if (now != state->second) {
      if (state->left_out > 0) std::fprintf(stderr, "%s %lu more lines\n", clock, state->left_out);
      state->second = now;
      state->lines = 0;
      state->left_out = 0;
    }
    if (++state->lines > kLinesASecond) {
      ++state->left_out;
      return;
    }
    // On a terminal a progress bar may stand in the line.
    std::fprintf(stderr, "%s%s %s\n", isatty(2) != 0 ? "\r\033[K" : "", clock, text.c_str());
  };
}

}  // namespace fedstride
