#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "core/text.hpp"
#include "nn/model_line.hpp"

namespace fedstride {

inline constexpr int kMaxKernel = 1024;

/// The words of one layer after its name, taken one by one.
class Words {
 public:
  Words(const LayerPlace& place, std::string_view syntax) : place_(place), syntax_(syntax) {
    for (const auto word : split(place.text, ' ')) words_.push_back(word);
  }

  bool done() const { return next_ == words_.size(); }
  bool takes(std::string_view word) {
    if (done() || words_[next_] != word) return false;
    ++next_;
    return true;
  }

  int whole(std::string_view what, int low, int high) {
    int value = 0;
    const auto word = take(what);
    if (!parse_number(word, value) || value < low || value > high)
      complain(std::string(what) + " must be a whole number from " + std::to_string(low) + " to " + std::to_string(high) +
               ", not '" + std::string(word) + "'");
    return value;
  }

  double fraction_below_one(std::string_view what) {
    double value = 0;
    const auto word = take(what);
    if (!parse_number(word, value) || !(value >= 0 && value < 1))
      complain(std::string(what) + " must be a number from 0 to below 1, not '" + std::string(word) + "'");
    return value;
  }

  struct Option {
    std::string_view word;
    int* value;  ///< the number after the word
    int low;
  };
  /// The rest: numbers for the first options, in order, if the words begin with them; then options in any order, each at
  /// most once, and the word "nobias" if `bias` is not null.
  void options(std::initializer_list<Option> options, bool* bias = nullptr, int positional = 0) {
    std::vector<std::string_view> seen;
    for (const Option* option = options.begin(); positional-- > 0 && next_is_number(); ++option) {
      *option->value = whole(option->word, option->low, kMaxKernel);
      seen.push_back(option->word);
    }
    while (!done()) {
      const auto word = take("an option");
      if (std::find(seen.begin(), seen.end(), word) != seen.end()) complain("'" + std::string(word) + "' stands twice");
      seen.push_back(word);
      if (bias != nullptr && word == "nobias") {
        *bias = false;
        continue;
      }
      const auto option =
          std::find_if(options.begin(), options.end(), [&](const Option& candidate) { return candidate.word == word; });
      if (option == options.end()) complain("'" + std::string(word) + "' is not understood");
      *option->value = whole(option->word, option->low, kMaxKernel);
    }
  }

  bool next_is_number() const { return !done() && words_[next_].front() >= '0' && words_[next_].front() <= '9'; }

  void end() const {
    if (!done()) complain("'" + std::string(words_[next_]) + "' is not understood");
  }

  [[noreturn]] void complain(const std::string& what) const {
    throw usage_error(place_.name() + ": " + what + "; it is written: " + std::string(syntax_));
  }

 private:
  std::string_view take(std::string_view what) {
    if (done()) complain(std::string(what) + " is missing");
    return words_[next_++];
  }

  const LayerPlace& place_;
  std::string_view syntax_;
  std::vector<std::string_view> words_;
  std::size_t next_ = 1;
};

}  // namespace fedstride
