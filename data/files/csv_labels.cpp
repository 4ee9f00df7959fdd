#include "data/files/csv_labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/one_line.hpp"
#include "core/parse_number.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxWords = kNoLabel;
constexpr std::size_t kMaxWordBytes = 200;
constexpr double kLargestWhole = 1e15;  // whole numbers above are not told from their neighbours in the end

template <class Value>
Array array_of_labels(const std::string& key, char kind, std::span<const Value> values, std::size_t columns) {
  Array array{.key = key, .kind = kind, .item = sizeof(Value), .shape = {values.size() / columns, columns}, .bytes = {}};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  array.bytes.assign(bytes, bytes + values.size_bytes());
  return array;
}

}  // namespace

bool parse_csv_number(std::string_view text, double& number) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  return parse_number(text, number);
}

std::string shown_field(std::string_view field) { return one_line(std::string(field.substr(0, 40))); }

std::string CsvLabels::add_protected(std::string_view field) {
  double number = 0;
  if (gives_names()) {
    const bool known = shared_->named_classes.find(field) < shared_->named_classes.size();
    ids_.push(texts_.number(known ? field : std::string_view()));
  } else if (!parse_csv_number(field, number) || !std::isfinite(static_cast<float>(number))) {
    number = -1;
  }
  numbers_.push(number);
  return "";
}

std::string CsvLabels::add(std::string_view field) {
  if (is_protected()) return add_protected(field);
  if (field.empty()) return "is empty; each record needs one";
  double number = 0;
  const bool is_number = parse_csv_number(field, number);
  if (is_number && !std::isfinite(static_cast<float>(number))) return "is '" + shown_field(field) + "', which is not finite";
  if (!is_number) {
    if (columns_ > 1) return "is '" + shown_field(field) + "', which is no number; of several columns each must be one";
    if (field.size() > kMaxWordBytes)
      return "has " + std::to_string(field.size()) + " characters; a class's name has at most " + std::to_string(kMaxWordBytes);
    if (numbers_.empty()) first_is_word_ = true;
    ++words_;
    number = std::numeric_limits<double>::quiet_NaN();
  } else if (number != std::floor(number) || std::abs(number) > kLargestWhole) {
    fractions_ = true;
  }
  numbers_.push(number);
  if (columns_ > 1) return "";
  if (!too_many_ && texts_.size() >= kMaxWords && texts_.find(field) == texts_.size()) too_many_ = true;
  if (!too_many_) ids_.push(texts_.number(one_line(std::string(field.substr(0, kMaxWordBytes)))));
  if (too_many_ && words_ > 0)
    return "is one of more than " + std::to_string(kMaxWords) + " words; at most so many classes are possible";
  return "";
}

void CsvLabels::give(PartBuilder& part, const std::string& key, TargetsAre targets, const std::string& file) {
  if (words_ == 1 && first_is_word_ && numbers_.size() > 1)
    throw failure(file +
                  ": the first label is a word and all others are numbers; valid: a header without a number, no header, or "
                  "--label with a name of the header");
  if (gives_names()) return give_words(part, key);
  if (is_protected()) {
    // Numbers of the kind that is named, not of the kind that they look like.
    fractions_ = targets == TargetsAre::values;
    return give_numbers(part, key, fractions_);
  }
  if (words_ > 0) return give_words(part, key);
  const bool as_values = targets == TargetsAre::automatic ? fractions_ : targets == TargetsAre::values;
  if (targets == TargetsAre::classes && fractions_)
    throw failure(file + ": targets is 'classes', and a label is no whole number; valid are whole numbers and words");
  fractions_ = as_values;
  give_numbers(part, key, as_values);
}

void CsvLabels::give_words(PartBuilder& part, const std::string& key) {
  const std::vector<std::string>& texts = texts_.all();
  ids_.drain([&](std::span<const std::uint32_t> ids) {
    Array word{.key = key, .kind = 'S', .item = 0, .shape = {1}, .bytes = {}};
    for (const std::uint32_t id : ids) {
      word.bytes.assign(texts[id].begin(), texts[id].end());
      word.item = word.bytes.size();
      part.add_answers(word);
    }
  });
}

void CsvLabels::give_numbers(PartBuilder& part, const std::string& key, bool as_values) {
  const std::vector<double> all = numbers_.take();
  constexpr std::size_t kAtOnce = 4096;
  std::vector<std::int64_t> whole;
  for (std::size_t at = 0; at < all.size(); at += kAtOnce * columns_) {
    const std::span<const double> some = std::span(all).subspan(at, std::min(kAtOnce * columns_, all.size() - at));
    if (as_values) {
      part.add_answers(array_of_labels(key, 'f', some, columns_));
    } else {
      whole.clear();
      for (const double number : some)
        whole.push_back(number == std::floor(number) && std::abs(number) <= kLargestWhole ? static_cast<std::int64_t>(number)
                                                                                          : -1);
      part.add_answers(array_of_labels(key, 'i', std::span<const std::int64_t>(whole), columns_));
    }
  }
}

}  // namespace fedstride
