#include "data/files/csv_labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/text.hpp"
#include "data/files/csv_fields.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxWords = kNoLabel;
constexpr std::size_t kMaxWordBytes = 200;
constexpr double kLargestWhole = 1e15;  // larger whole numbers soon become indistinguishable from their neighbors

bool is_whole(double number) { return number == std::floor(number); }

/// True if the first label is unlike all others: the only one of its class, or the only whole number among values.
bool is_odd_one_out(std::span<const double> labels) {
  constexpr std::size_t kFewLabels = 4;
  if (labels.size() <= kFewLabels) return false;
  const auto others = labels.subspan(1);
  if (!std::ranges::all_of(others, is_whole)) return std::ranges::none_of(others, is_whole);
  const std::set<double> distinct(others.begin(), others.end());
  return !distinct.contains(labels.front()) && 2 * distinct.size() <= others.size();
}

Error header_or_record(const std::string& file) {
  return failure("line 1 of " + file +
                 " counts its columns, and its label is unlike all others, so it may be a header or a record; use "
                 "--header yes or no");
}

}  // namespace

std::string CsvLabels::add(std::string_view field, std::optional<double> read) {
  if (is_protected()) return add_protected(field, read);
  if (read && !fits_float(*read)) return "is '" + shown_field(field) + "', " + beyond_floats(field);
  double number = std::numeric_limits<double>::quiet_NaN();
  if (!read) {
    if (columns_ > 1)
      return "is '" + shown_field(field) + "', which is not a number; with several label columns all must be numbers";
    if (field.size() > kMaxWordBytes)
      return "has " + std::to_string(field.size()) + " characters; a class name has at most " + std::to_string(kMaxWordBytes);
    if (numbers_.empty()) first_is_word_ = true;
    ++words_;
  } else {
    number = *read;
    fractions_ = fractions_ || number != std::floor(number) || std::abs(number) > kLargestWhole;
  }
  numbers_.push(number);
  if (columns_ > 1) return "";
  if (!too_many_ && texts_.size() >= kMaxWords && texts_.find(field) == texts_.size()) too_many_ = true;
  if (!too_many_) ids_.push(texts_.number(one_line(std::string(field.substr(0, kMaxWordBytes)))));
  if (too_many_ && words_ > 0)
    return "is one of more than " + std::to_string(kMaxWords) + " words; there can be at most that many classes";
  return "";
}

std::string CsvLabels::add_protected(std::string_view field, std::optional<double> read) {
  if (gives_names()) {
    const auto is_known = [&](std::string_view name) {
      return shared_->named_classes.find(name) < shared_->named_classes.size();
    };
    const std::string by_value = read ? number_text(*read) : std::string();  // "2.0" is class 2
    ids_.push(texts_.number(is_known(field) ? field : is_known(by_value) ? std::string_view(by_value) : std::string_view()));
  }
  numbers_.push(read && fits_float(*read) ? *read : -1);
  return "";
}

bool CsvLabels::is_missing_label(std::string_view field) const {
  return is_missing(field) && (shared_ == nullptr || shared_->named_classes.find(field) == shared_->named_classes.size());
}

void CsvLabels::give(PartBuilder& part, const std::string& key, TargetsAre targets, const std::string& file,
                     bool first_may_be_header) {
  if (words_ == 1 && first_is_word_ && numbers_.size() > 1)
    throw failure(file +
                  ": the first label is a word and all others are numbers; use a header without numbers, no header, or --label "
                  "with a name from the header");
  if (first_may_be_header && columns_ == 1 && words_ > 1 && words_ + 1 == numbers_.size() && !first_is_word_)
    throw header_or_record(file);
  if (gives_names()) return give_words(part, key);
  if (is_protected()) {
    // The setting alone decides the kind of number, not the numbers themselves.
    fractions_ = targets == TargetsAre::values;
    std::vector<double> all = numbers_.take();
    for (double& number : all) number -= fractions_ ? offset_ : 0;
    return give_numbers(part, key, all, fractions_);
  }
  if (words_ > 0) return give_words(part, key);
  const bool as_values = targets == TargetsAre::automatic ? fractions_ : targets == TargetsAre::values;
  if (targets == TargetsAre::classes && fractions_)
    throw failure(file + ": targets is 'classes', but a label is not a whole number; valid: whole numbers and words");
  fractions_ = as_values;
  std::vector<double> all = numbers_.take();
  if (first_may_be_header && columns_ == 1 && is_odd_one_out(all)) throw header_or_record(file);
  for (double& number : all) {
    if (!as_values) break;
    span_.add(number);
    number -= offset_;
  }
  give_numbers(part, key, all, as_values);
}

void CsvLabels::give_words(PartBuilder& part, const std::string& key) {
  ids_.drain([&](std::span<const std::uint32_t> ids) {
    for (const std::uint32_t id : ids) part.add_words(key, {&texts_.all()[id], 1});
  });
}

void CsvLabels::give_numbers(PartBuilder& part, const std::string& key, const std::vector<double>& all, bool as_values) const {
  constexpr std::size_t kAtOnce = 4096;
  std::vector<std::int64_t> whole;
  for (std::size_t at = 0; at < all.size(); at += kAtOnce * columns_) {
    const std::span<const double> some = std::span(all).subspan(at, std::min(kAtOnce * columns_, all.size() - at));
    const std::vector<std::size_t> shape{some.size() / columns_, columns_};
    if (as_values) {
      part.answers_are_values();  // also where an offset leaves whole numbers
      part.add_answers(array_of(key, some, shape));
      continue;
    }
    whole.clear();
    for (const double number : some) {
      const bool is_whole = number == std::floor(number) && std::abs(number) <= kLargestWhole;
      whole.push_back(is_whole ? static_cast<std::int64_t>(number) : -1);
    }
    part.add_answers(array_of<std::int64_t>(key, whole, shape));
  }
}

}  // namespace fedstride
