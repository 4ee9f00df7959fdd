#include "sim/settings/stop_at.hpp"

#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

std::string StopAt::text() const {
  return is_set() ? part + " " + measure + (at_least ? " >= " : " <= ") + number_text(level) : std::string();
}

StopAt StopAt::read(std::string_view text) {
  if (trimmed(text).empty()) return {};
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' '))
    if (!word.empty()) words.push_back(word);
  StopAt stop;
  const bool is_valid = words.size() == 4 && (words[0] == "test" || words[0] == "validation") &&
                        (words[1] == "accuracy" || words[1] == "r2" || words[1] == "loss") &&
                        (words[2] == ">=" || words[2] == "<=") && parse_number(words[3], stop.level) && std::isfinite(stop.level);
  if (!is_valid)
    throw usage_error("stop-at is '" + std::string(text) +
                      "'; it must be like 'test accuracy >= 0.6': test or validation; accuracy, r2 or loss; >= or <=; a number");
  stop.part = words[0];
  stop.measure = words[1];
  stop.at_least = words[2] == ">=";
  return stop;
}

}  // namespace fedstride
