#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "core/text.hpp"
#include "data/files/csv_records.hpp"
#include "data/files/readers.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxCsvColumns = std::size_t{1} << 20;
constexpr std::size_t kRowsAtOnce = 1024;
constexpr std::size_t kNamesInNote = 12;

constexpr std::size_t kMaxWords = kNoLabel;
constexpr std::size_t kMaxCategories = 1000;  // per column
constexpr std::size_t kMaxWordBytes = 200;
constexpr double kLargestWhole = 1e15;  // larger whole numbers soon become indistinguishable from their neighbors

/// Reads a number with a decimal point. Numbers too large for a double become infinite, numbers too small 0.
bool parse_csv_number(std::string_view text, double& number) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) {
    number = std::strtod(std::string(text).c_str(), nullptr);  // tells large ones from small ones
    if (std::abs(number) < 1) number = 0;
  }
  return true;
}

/// Reads a number with a decimal comma: "-1,5".
bool parse_with_comma(std::string_view text, double& number) {
  const std::size_t comma = text.find(',');
  if (comma == text.npos || text.find('.') != text.npos) return false;
  std::string pointed(text);
  pointed[comma] = '.';
  return parse_csv_number(pointed, number);
}

/// True for "1,234" and "-12,345", where the comma may also separate thousands.
bool may_be_thousands(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t comma = text.find(',');
  return comma >= 1 && comma <= 3 && text.size() == comma + 4 && text.front() != '0' && text.find_first_of("eE") == text.npos;
}

/// True for "1,234,567", "1,234.5" and "1.234,5".
bool has_thousands_separators(std::string_view text) {
  std::string all(text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0));
  const bool has_both = all.find(',') != all.npos && all.find('.') != all.npos;
  if (all.find_first_not_of("0123456789,.") != all.npos || all.find(',') == all.npos) return false;
  std::ranges::replace(all, '.', ',');
  const auto groups = split(all, ',');
  const auto has_three = [](std::string_view group) { return group.size() == 3; };
  return groups.size() > 2 && !groups.front().empty() && groups.front().size() <= 3 &&
         std::all_of(groups.begin() + 1, groups.end() - (has_both ? 1 : 0), has_three);
}

/// Completes an error message about a field whose number is out of range for single precision.
std::string beyond_floats(std::string_view field) {
  const bool is_infinite = field.find_first_of("nN") != field.npos;  // "inf"
  return is_infinite ? "which is not finite" : "which is too large; numbers go up to 3.4e38";
}

bool fits_float(double number) { return std::isfinite(static_cast<float>(number)); }

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

/// True for a column name that means "no name", such as "" or "Unnamed: 0", which pandas uses for an index.
bool is_nameless(std::string_view name) {
  if (name.empty()) return true;
  constexpr std::string_view kUnnamed = "Unnamed: ";
  return name.starts_with(kUnnamed) && name.find_first_not_of("0123456789.", kUnnamed.size()) == name.npos;
}

/// True for a name that marks a column as the target.
bool names_target(std::string_view name) {
  constexpr std::string_view kNames[] = {"label", "target", "y", "class"};
  return std::ranges::find(kNames, lower_case(name)) != std::end(kNames);
}

/// True for a field that stands for a missing value.
bool is_missing(std::string_view field) {
  constexpr std::string_view kMissing[] = {"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A", "<NA>"};
  return std::ranges::find(kMissing, field) != std::end(kMissing);
}

/// What a word of which there are many is likely to be.
std::string_view look_of(std::string_view word) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto count = [&](std::string_view among) {
    return std::ranges::count_if(word, [&](char c) { return among.find(c) != among.npos; });
  };
  const auto digits = std::ranges::count_if(word, is_digit), marks = count("-/:.");
  if (digits >= 4 && marks >= 2) return "a date or a time";
  if (word.ends_with('%') && digits > 0) return "a number with a percent sign";
  if (digits > 0 && marks <= 1 && (is_digit(word.front()) != is_digit(word.back())))
    return "a number with a currency or a unit, or an id";
  return digits > 0 ? "an id" : "free text";
}

std::string shown_field(std::string_view field) { return one_line(std::string(field.substr(0, 40))); }

/// Collects a table's labels. Whether they are whole numbers, numbers to predict or words may be known only after the last one.
class CsvLabels {
 public:
  /// `columns`: labels per example. If rows are protected, no label affects how others are read: an invalid field becomes the
  /// number -1, which has no class, and with class-names every field is a name.
  explicit CsvLabels(std::size_t columns = 1, const SharedNames* shared = nullptr) : columns_(columns), shared_(shared) {}

  /// Adds a field; `read` is its number, if it has one. Returns the reason why it cannot be a label, or "" if it can.
  std::string add(std::string_view field, std::optional<double> read) {
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
  bool has_words() const { return words_ > 0; }
  /// Sets the constant that give() subtracts from values; span() then covers the values before subtraction.
  void subtract(double offset) { offset_ = offset; }
  const ColumnSpan& span() const { return span_; }
  /// True for a field that stands for a missing label and is not a class name.
  bool is_missing_label(std::string_view field) const {
    return is_missing(field) && (shared_ == nullptr || shared_->named_classes.find(field) == shared_->named_classes.size());
  }
  /// Passes the labels to the part. Throws Error (failure), beginning with `file`.
  void give(PartBuilder& part, const std::string& key, TargetsAre targets, const std::string& file, bool first_may_be_header) {
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

 private:
  static Error header_or_record(const std::string& file) {
    return failure("line 1 of " + file +
                   " counts its columns, and its label is unlike all others, so it may be a header or a record; use "
                   "--header yes or no");
  }
  bool is_protected() const { return shared_ != nullptr && shared_->rows_are_protected; }
  bool gives_names() const { return is_protected() && columns_ == 1 && !shared_->named_classes.empty(); }
  std::string add_protected(std::string_view field, std::optional<double> read) {
    if (gives_names()) {
      const bool known = shared_->named_classes.find(field) < shared_->named_classes.size();
      ids_.push(texts_.number(known ? field : std::string_view()));
    }
    numbers_.push(read && fits_float(*read) ? *read : -1);
    return "";
  }
  void give_words(PartBuilder& part, const std::string& key) {
    ids_.drain([&](std::span<const std::uint32_t> ids) {
      for (const std::uint32_t id : ids) part.add_words(key, {&texts_.all()[id], 1});
    });
  }
  void give_numbers(PartBuilder& part, const std::string& key, const std::vector<double>& all, bool as_values) {
    constexpr std::size_t kAtOnce = 4096;
    std::vector<std::int64_t> whole;
    for (std::size_t at = 0; at < all.size(); at += kAtOnce * columns_) {
      const std::span<const double> some = std::span(all).subspan(at, std::min(kAtOnce * columns_, all.size() - at));
      const std::vector<std::size_t> shape{some.size() / columns_, columns_};
      if (as_values) {
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

  std::size_t columns_;
  const SharedNames* shared_;
  Blocks<double> numbers_;  ///< NaN for words
  Names texts_;
  Blocks<std::uint32_t> ids_;  ///< indices into texts_, unless there are too many words
  double offset_ = 0;
  ColumnSpan span_;  ///< of values
  bool too_many_ = false;
  std::size_t words_ = 0;
  bool first_is_word_ = false;
  bool fractions_ = false;
};

bool is_csv_number(std::string_view field) {
  double number = 0;
  return parse_csv_number(field, number);
}

const TableColumns* columns_of_schema(const ReadSettings& settings) {
  return settings.schema && !settings.schema->columns.answers.empty() ? &settings.schema->columns : nullptr;
}

class CsvReader {
 public:
  CsvReader(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, PartBuilder& part,
            const std::string& name)
      : records_(path, name.empty() ? settings.encoding : Encoding::utf_8, !settings.rows_are_protected, name),
        settings_(settings),
        into_(into),
        part_(part) {}

  void read() {
    part_.are_columns();
    if (!records_.next(fields_)) throw no_records();
    begin();
    if (!has_header_) add();
    while (records_.next(fields_)) add();
    if (rows_ == 0) throw no_records();
    check_header();
    check_mark();
    give_features();
    if (!settings_.without_answers)
      labels_.give(part_, settings_.label.empty() ? "label" : settings_.label, settings_.targets, records_.name(),
                   first_may_be_header_);
    find_offsets();
    say();
  }

 private:
  Error wrong(const std::string& what) const {
    return failure(records_.name() + ", line " + std::to_string(records_.line()) + ": " + what);
  }
  Error no_records() const { return failure(records_.name() + " has no records" + (left_out_ > 0 ? " with a label" : "")); }
  bool is_protected() const { return into_.shared.rows_are_protected; }

  /// True if the first line looks like a header: no field is a number, or its numbers count the columns, as in a table made from
  /// an array, possibly next to names.
  bool looks_like_header() const {
    constexpr std::size_t kEnough = 4;
    const std::vector<double> numbers = numbers_in_line();
    const bool has_names = numbers.size() < fields_.size();
    const std::size_t signs = numbers.size() + (has_names ? 1 : 0) + (fields_.front().empty() ? 1 : 0);
    return numbers.empty() ||
           (signs >= kEnough && counts_columns(numbers) && std::ranges::none_of(std::span(fields_).subspan(1), is_missing));
  }
  std::vector<double> numbers_in_line() const {
    std::vector<double> numbers;
    for (const std::string_view field : fields_)
      if (double number = 0; parse_csv_number(field, number) || parse_with_comma(field, number)) numbers.push_back(number);
    return numbers;
  }
  static bool counts_columns(std::span<const double> numbers) {
    for (std::size_t i = 1; i < numbers.size(); ++i)
      if (numbers[i] != numbers[i - 1] + 1) return false;
    return !numbers.empty() && (numbers.front() == 0 || numbers.front() == 1);
  }

  /// The column that `text` specifies by its name in the header or by its number.
  std::size_t column_of(std::string_view text, std::string_view setting) {
    std::vector<std::size_t> named;
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (fields_[i] == text && settings_.header != Header::no) named.push_back(i);
    std::uint64_t number = 0;
    const bool is_number = parse_number(text, number) && number >= 1 && number <= fields_.size();
    if (is_number && (named.empty() || !has_header_)) return number - 1;
    if (named.size() > 1)
      throw failure(records_.name() + " has two columns '" + shown_field(text) + "' (" + std::string(setting) + "), " +
                    std::to_string(named[0] + 1) + " and " + std::to_string(named[1] + 1) + "; name the column by its number");
    if (!named.empty()) {
      has_header_ = header_by_name_ = true;
      return named.front();
    }
    std::string names;
    for (std::size_t i = 0; i < std::min(fields_.size(), kNamesInNote); ++i)
      names += (i == 0 ? "" : ", ") + shown_field(fields_[i]);
    throw failure(records_.name() + " has no column '" + shown_field(text) + "' (" + std::string(setting) + "); valid: 1 to " +
                  std::to_string(fields_.size()) + ", or a name from its first line: " + names +
                  (fields_.size() > kNamesInNote ? ", ..." : ""));
  }
  /// The columns that the setting lists; if it is empty, those of the schema.
  std::vector<std::size_t> columns_of(const std::string& text, std::string_view setting,
                                      std::vector<std::string> TableColumns::*of_schema = nullptr) {
    std::vector<std::size_t> columns;
    if (!text.empty())
      for (const std::string_view piece : split(text, ',')) columns.push_back(column_of(trimmed(piece), setting));
    else if (schema_ != nullptr && of_schema != nullptr)
      for (const std::string& name : schema_->*of_schema) columns.push_back(column_in_schema(name));
    return columns;
  }
  /// The column of an input that the run calls by its number, in a table of all the run's columns or of the inputs alone.
  std::size_t column_to_predict(const std::string& name) {
    std::uint64_t most = 0, number = 0;
    std::vector<std::string> all = schema_->inputs;
    all.insert(all.end(), schema_->answers.begin(), schema_->answers.end());
    all.push_back(settings_.client_column);
    for (const std::string& one : all)
      if (parse_number(one, number)) most = std::max(most, number);
    if (fields_.size() >= most) return column_of(name, "the run's");
    if (fields_.size() == schema_->inputs.size())
      return static_cast<std::size_t>(std::ranges::find(schema_->inputs, name) - schema_->inputs.begin());
    throw failure(records_.name() + " has " + counted(fields_.size(), "column") + ", which have no names; valid: the run's " +
                  std::to_string(most) + ", or its " + counted(schema_->inputs.size(), "input") + " alone");
  }
  /// The column that the schema calls by this name, or by this number if its columns have no names.
  std::size_t column_in_schema(const std::string& name) {
    if (!schema_->are_named || settings_.header == Header::no)
      return settings_.without_answers ? column_to_predict(name) : column_of(name, "the run's");
    const auto found = std::ranges::find(fields_, name);
    const auto and_all = [&] {
      std::vector<std::string> own;
      for (std::size_t i = 0; i < std::min(fields_.size(), kNamesInNote); ++i) own.push_back(shown_field(fields_[i]));
      return "; the run's columns are " + joined(schema_->inputs) + " and " + joined(schema_->answers) + "; the first line has " +
             joined(own) + (own.size() < fields_.size() ? ", ..." : "");
    };
    if (found == fields_.end()) throw failure(records_.name() + " has no column '" + name + "'" + and_all());
    if (std::find(found + 1, fields_.end(), name) != fields_.end())
      throw failure(records_.name() + " has two columns '" + name + "'" + and_all());
    header_by_name_ = true;
    return static_cast<std::size_t>(found - fields_.begin());
  }

  void begin() {
    if (fields_.size() < 2 && !settings_.without_answers)
      throw wrong("one column; valid: numbers and a label, separated by commas, semicolons or tabs");
    if (fields_.size() > kMaxCsvColumns)
      throw wrong(counted(fields_.size(), "column") + "; at most " + std::to_string(kMaxCsvColumns) + " are read");
    std::size_t& columns = into_.shared.columns;  // the same in both parts
    if (columns == 0) columns = fields_.size();
    if (fields_.size() != columns) throw wrong(counted(fields_.size(), "field") + "; there must be " + std::to_string(columns));
    has_header_ = settings_.header == Header::yes ||
                  (settings_.header == Header::automatic && ((schema_ != nullptr && schema_->are_named) || looks_like_header()));
    give_roles();
    take_features();
    if (has_header_) header_.assign(fields_.begin(), fields_.end());
    if (has_header_ && !records_.is_decoded())
      throw wrong("the header is not in the table's encoding; valid: UTF-8, or --encoding");
    if (is_protected()) check_protected_header();
    const std::vector<double> numbers = numbers_in_line();
    first_may_be_header_ =
        !has_header_ && settings_.header == Header::automatic && numbers.size() == fields_.size() && counts_columns(numbers);
  }

  void give_roles() {
    role_.assign(fields_.size(), Role::feature);
    const auto give = [&](std::size_t column, Role role) {
      if (role_[column] != Role::feature)
        throw wrong("column " + std::to_string(column + 1) + " is used twice; label and client must be different columns");
      role_[column] = role;
    };
    std::uint64_t number = 0;
    const bool is_there = std::ranges::find(fields_, settings_.client_column) != fields_.end() ||
                          (parse_number(settings_.client_column, number) && number >= 1 && number <= fields_.size());
    const bool lacks_clients = settings_.without_answers || (settings_.may_lack_clients && !is_there);
    if (!settings_.client_column.empty() && !lacks_clients) {
      client_ = column_of(settings_.client_column, "client-column");
      give(*client_, Role::client);
    }
    const std::vector<std::size_t> inputs = columns_of(settings_.inputs, "inputs", &TableColumns::inputs);
    const std::vector<std::size_t> dropped = columns_of(settings_.drop_columns, "drop-columns");
    const auto among = [](const std::vector<std::size_t>& columns, std::size_t i) {
      return std::ranges::find(columns, i) != columns.end();
    };
    if (!settings_.without_answers) label_columns_ = columns_of(settings_.label, "label", &TableColumns::answers);
    if (label_columns_.empty() && !settings_.without_answers)
      label_columns_ = {default_label([&](std::size_t i) { return among(inputs, i) || among(dropped, i); })};
    for (const std::size_t label : label_columns_) give(label, Role::label);
    labels_ = CsvLabels(std::max<std::size_t>(1, label_columns_.size()), &into_.shared);
    // Dropped and nameless columns, and those missing from `inputs` if it is given, have no role.
    for (const auto& [columns, name] : {std::pair(&inputs, "inputs"), std::pair(&dropped, "drop-columns")})
      for (const std::size_t column : *columns)
        if (role_[column] != Role::feature)
          throw wrong("column " + std::to_string(column + 1) + " is used twice: " + name + " must name no label and no client");
    for (std::size_t i = 0; i < role_.size(); ++i) {
      if (role_[i] != Role::feature) continue;
      if (among(dropped, i) || (!inputs.empty() && !among(inputs, i))) {
        role_[i] = Role::none;
      } else if (inputs.empty() && has_header_ && is_nameless(fields_[i])) {
        role_[i] = Role::none;
        nameless_.push_back(i);
      }
    }
    if (is_protected() && !nameless_.empty())
      throw wrong("column " + std::to_string(nameless_.front() + 1) +
                  " has no name; under dp specify whether to read it: --drop-columns " + std::to_string(nameless_.front() + 1) +
                  ", or --inputs with all columns to read");
  }

  /// The column with a target's name; if there is none, the last named column that is not the client.
  std::size_t default_label(auto is_other) const {
    std::optional<std::size_t> last;
    std::vector<std::size_t> targets;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (client_ == i || (has_header_ && is_nameless(fields_[i]))) continue;
      last = i;
      if (has_header_ && names_target(fields_[i]) && !is_other(i)) targets.push_back(i);
    }
    const auto quoted = [&](std::size_t i) { return "'" + shown_field(fields_[i]) + "'"; };
    if (targets.size() > 1)
      throw wrong("columns " + quoted(targets[0]) + " and " + quoted(targets[1]) + " may both be the label; say which: --label " +
                  shown_field(fields_[targets[1]]));
    if (!targets.empty() && is_protected() && targets.front() != last)
      throw wrong("column " + quoted(targets.front()) +
                  " may be the label but is not the last column; under dp say which is: --label " +
                  shown_field(fields_[targets.front()]));
    return targets.empty() ? last.value_or(fields_.size() - 1) : targets.front();
  }

  /// The input columns in the model's order: with a schema, as listed in `inputs` if these are other columns, otherwise as in the
  /// schema; without a schema, as in the file.
  std::vector<std::size_t> columns_in_order() {
    std::vector<std::size_t> columns;
    if (schema_ == nullptr) {
      for (std::size_t i = 0; i < fields_.size(); ++i) columns.push_back(i);
      return columns;
    }
    std::set<std::string, std::less<>> asked;
    if (!settings_.inputs.empty())
      for (const std::string_view piece : split(settings_.inputs, ',')) asked.emplace(trimmed(piece));
    are_mapped_ = !asked.empty() && asked != std::set<std::string, std::less<>>(schema_->inputs.begin(), schema_->inputs.end());
    if (!are_mapped_) {
      for (const std::string& name : schema_->inputs) columns.push_back(column_in_schema(name));
      return columns;
    }
    columns = columns_of(settings_.inputs, "inputs");
    if (columns.size() != schema_->inputs.size())
      throw failure(records_.name() + ": inputs names " + counted(columns.size(), "column") + "; the run has " +
                    std::to_string(schema_->inputs.size()) + ": " + joined(schema_->inputs));
    return columns;
  }

  void take_features() {
    take_named_categories();
    for (const std::size_t column : columns_in_order())
      if (role_[column] == Role::feature) features_.push_back(column);
    if (features_.empty()) throw wrong("no columns are left for features");
    kinds_.assign(features_.size(), is_protected() ? Kind::numbers : Kind::unknown);
    first_.resize(features_.size());
    is_named_.assign(features_.size(), false);
    for (std::size_t column : named_columns_)
      is_named_[static_cast<std::size_t>(std::ranges::find(features_, column) - features_.begin())] = true;
    for (std::size_t k = 0; k < features_.size(); ++k) {
      const bool has_words = into_.shared.categories.contains(features_[k]);
      if (has_words || &part_ == &into_.test || schema_ != nullptr) kinds_[k] = has_words ? Kind::words : Kind::numbers;
      counting_.push_back({k, 0});
    }
    take_offsets();
  }

  void take_offsets() {
    if (into_.shared.finds_offsets) spans_.resize(features_.size());
    for (const NamedOffset& one : named_offsets(settings_.offsets)) {
      if (settings_.without_answers && schema_ != nullptr && std::ranges::count(schema_->answers, one.column) > 0) continue;
      const std::size_t column = column_of(one.column, "offsets");
      const auto feature = std::ranges::find(features_, column);
      if (feature != features_.end()) {
        offsets_.resize(features_.size());
        offsets_[static_cast<std::size_t>(feature - features_.begin())] = one.offset;
      } else if (role_[column] == Role::label && label_columns_.size() == 1) {
        labels_.subtract(one.offset);
      } else {
        throw wrong("column " + std::to_string(column + 1) + " has an offset; only inputs and a single label can have one");
      }
    }
  }

  /// Records the offsets that the columns of the training part need.
  void find_offsets() {
    if (!into_.shared.finds_offsets || &part_ == &into_.test) return;
    const auto found = [&](std::size_t column, const ColumnSpan& span) {
      const std::optional<double> offset = span.offset();
      if (!offset) return;
      const bool has_name = has_header_ && header_[column].find_first_of(";=") == std::string::npos &&
                            std::ranges::count(header_, header_[column]) == 1;
      into_.shared.offsets.push_back({has_name ? header_[column] : std::to_string(column + 1), *offset});
    };
    for (std::size_t k = 0; k < features_.size(); ++k)
      if (kinds_[k] == Kind::numbers) found(features_[k], spans_[k]);
    if (label_columns_.size() == 1) found(label_columns_.front(), labels_.span());
  }

  void take_named_categories() {
    const bool by_schema = schema_ != nullptr && settings_.categories.empty();
    for (const NamedCategories& one : by_schema ? schema_->categories : named_categories(settings_.categories)) {
      const std::size_t column = by_schema ? column_in_schema(one.column) : column_of(one.column, "categories");
      if (role_[column] != Role::feature)
        throw wrong("column " + std::to_string(column + 1) + " has categories but is not an input; only inputs can have them");
      named_columns_.push_back(column);
      if (&part_ == &into_.test) continue;
      Names& words = into_.shared.categories[column];
      for (const std::string& word : one.words) words.number(word);
      into_.shared.category_names.push_back(one);
      ++into_.shared.named_categories;
    }
  }

  // If rows are protected, the first line is a header only if it cannot be a record, since it has a name in a column of numbers.
  void check_protected_header() const {
    if (settings_.header != Header::automatic || header_by_name_ || !has_header_) return;
    for (std::size_t k = 0; k < features_.size(); ++k)
      if (double ignored = 0;
          !is_named_[k] && !is_missing(fields_[features_[k]]) && !parse_csv_number(fields_[features_[k]], ignored))
        return;
    throw wrong("it may be a header or a record; under dp this must not be inferred from the rows; use --header yes or no");
  }

  // Refuses a table of words alone whose first line could be a record instead of a header, since its fields are words of their
  // columns.
  void check_header() const {
    if (!has_header_ || header_by_name_ || settings_.header == Header::yes || is_protected()) return;
    for (std::size_t k = 0; k < features_.size(); ++k) {
      const auto words = into_.shared.categories.find(features_[k]);
      if (words == into_.shared.categories.end() || words->second.find(header_[features_[k]]) == words->second.size()) return;
    }
    throw failure("line 1 of " + records_.name() + " has only words that are values of its columns, such as '" +
                  shown_field(header_[features_.front()]) + "'; a table of words needs a header line, or --header no");
  }

  void add() {
    if (fields_.size() != role_.size())
      throw wrong(counted(fields_.size(), "field") + "; there must be " + std::to_string(role_.size()));
    if (is_dropped()) return;
    row_.clear();
    for (std::size_t k = 0; k < features_.size(); ++k) row_.push_back(value_of(k));
    values_.append(row_);
    for (const std::size_t label : label_columns_)
      if (const std::string why = labels_.add(fields_[label], number_of_label(fields_[label])); !why.empty())
        throw wrong("field " + std::to_string(label + 1) + ", the label, " + why);
    if (client_) part_.add_client(fields_[*client_], 1);
    std::erase_if(counting_, [&](auto& column) {
      const bool counts = rows_ == 0 || row_[column.first] == column.second + 1;
      column.second = row_[column.first];
      return !counts;
    });
    ++rows_;
  }

  /// True if --missing drops this record because it has no label or no client; throws if it must be refused.
  bool is_dropped() {
    const auto label = std::ranges::find_if(label_columns_, [&](std::size_t i) { return labels_.is_missing_label(fields_[i]); });
    const bool has_no_client = client_ && is_missing(fields_[*client_]);
    if (label == label_columns_.end() && !has_no_client) return false;
    if (into_.shared.missing == Missing::drop) {
      ++left_out_;
      return true;
    }
    if (!has_no_client && is_protected()) return false;  // a missing label then has no class
    const std::size_t column = has_no_client ? *client_ : *label;
    throw wrong("field " + std::to_string(column + 1) + ", the " + (has_no_client ? "client" : "label") + ", is '" +
                shown_field(fields_[column]) + "', a missing value; --missing drop leaves such rows out");
  }

  /// The number in a label field, if it has one.
  std::optional<double> number_of_label(std::string_view field) {
    double number = 0;
    if (!labels_.has_words()) return read_number(field, number) ? std::optional(number) : std::nullopt;
    return parse_csv_number(field, number) ? std::optional(number) : std::nullopt;
  }

  /// Reads a number in a numeric column, and infers the table's decimal mark from it unless the mark was set.
  bool read_number(std::string_view field, double& number) {
    DecimalMark& mark = into_.shared.decimal_mark;
    const bool is_named = settings_.decimal_mark != DecimalMark::automatic;
    if (parse_csv_number(field, number)) {
      if (field.find('.') == field.npos) return true;
      if (mark == DecimalMark::automatic) note_mark(DecimalMark::point, field);
      if (mark == DecimalMark::comma && !is_named) throw both_marks(field);
      return mark == DecimalMark::point;
    }
    const bool is_grouped = has_thousands_separators(field);
    if ((mark == DecimalMark::point && is_named) || (!is_grouped && !parse_with_comma(field, number))) return false;
    if (is_protected() && !is_named)  // the error must not show the field
      throw wrong(
          "a number has a comma; under dp the decimal mark must not be inferred from the rows; give --decimal-mark comma");
    if (is_grouped) throw wrong("'" + shown_field(field) + "' has thousands separators; numbers must have none");
    if (mark == DecimalMark::automatic) note_mark(DecimalMark::comma, field);
    if (mark == DecimalMark::point) throw both_marks(field);
    is_certain_ = is_certain_ || !may_be_thousands(field);
    return true;
  }
  void note_mark(DecimalMark mark, std::string_view field) {
    into_.shared.decimal_mark = mark;
    first_marked_ = "'" + shown_field(field) + "' in line " + std::to_string(records_.line());
  }
  Error both_marks(std::string_view field) const {
    return wrong("'" + shown_field(field) + "' has a different decimal mark from " +
                 (first_marked_.empty() ? "the training part" : first_marked_) +
                 "; use --decimal-mark point or comma; fields with the other mark are then words");
  }

  // Refuses decimal commas that may be thousands separators.
  void check_mark() const {
    if (into_.shared.decimal_mark != DecimalMark::comma || settings_.decimal_mark != DecimalMark::automatic) return;
    if (is_certain_ || first_marked_.empty()) return;
    throw failure(
        records_.name() + ": " + first_marked_ +
        " may have a decimal comma or a thousands separator; use --decimal-mark comma, or write numbers without separators");
  }

  /// The value of the k-th input's field: its number, the index of its word, or NaN if missing.
  float value_of(std::size_t k) {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    const std::string_view field = fields_[features_[k]];
    if (is_missing(field)) {
      if (into_.shared.missing == Missing::error)
        throw wrong(where(k) + " is '" + shown_field(field) + "', a missing value; " + std::string(kMissingChoice));
      return kNaN;
    }
    if (is_named_[k]) return named_word(k, field);
    double value = 0;
    const bool is_number = kinds_[k] == Kind::words ? parse_csv_number(field, value) : read_number(field, value);
    if (kinds_[k] == Kind::unknown) {
      kinds_[k] = is_number ? Kind::numbers : Kind::words;
      first_[k] = {records_.line(), shown_field(field)};
    }
    if (is_number != (kinds_[k] == Kind::numbers)) {
      if (is_protected())  // the error must not show the field
        throw wrong(where(k) + " is not a number; under dp the words of a column must be listed: " + words_choice(k));
      throw wrong(where(k) + " is '" + shown_field(field) + "', which is " + (is_number ? "a number" : "not a number") +
                  (first_[k].first > 0 ? ", but '" + first_[k].second + "' in line " + std::to_string(first_[k].first) + " is " +
                                             (is_number ? "not" : "one")
                                       : ", unlike its column in " + (schema_ != nullptr ? "the run" : into_.train.file())) +
                  "; for a column of words: " + words_choice(k));
    }
    if (!is_number) return word(k, field);
    if (!fits_float(value) && !is_protected())
      throw wrong(where(k) + " is '" + shown_field(field) + "', " + beyond_floats(field));
    if (!spans_.empty()) spans_[k].add(value);
    return static_cast<float>(offsets_.empty() ? value : value - offsets_[k]);
  }

  std::string where(std::size_t k) const {
    return "field " + std::to_string(features_[k] + 1) + (has_header_ ? " (" + name_of(features_[k]) + ")" : "");
  }
  std::string words_choice(std::size_t k) const {
    const std::string name = has_header_ ? shown_field(header_[features_[k]]) : std::to_string(features_[k] + 1);
    return "--categories \"" + name + "=A,B,...\", or --drop-columns " + name + " to leave it out";
  }

  float named_word(std::size_t k, std::string_view field) {
    const Names& words = into_.shared.categories.at(features_[k]);
    if (words.find(field) == words.size() && !into_.shared.rows_are_protected && &part_ == &into_.train)
      throw wrong(where(k) + " is '" + shown_field(field) +
                  "', which is not one of its categories; valid: " + joined(words.all()));
    return known_word(words, field);
  }

  float known_word(const Names& words, std::string_view field) {
    const std::uint32_t number = words.find(field);
    if (number < words.size()) return static_cast<float>(number);
    ++unknown_words_;
    return kUnknownWord;
  }

  float word(std::size_t k, std::string_view field) {
    Names& words = into_.shared.categories[features_[k]];
    if (&part_ == &into_.test) return known_word(words, field);
    const std::uint32_t number = words.number(field);
    if (words.size() > kMaxCategories)
      throw wrong(where(k) + " is one of more than " + std::to_string(kMaxCategories) +
                  " distinct words in its column, too many for a 0/1 column each; leave the column out with --drop-columns " +
                  (has_header_ ? shown_field(header_[features_[k]]) : std::to_string(features_[k] + 1)));
    return static_cast<float>(number);
  }

  /// Refuses columns of words that differ from row to row, all at once: each row would have a 0/1 column of its own.
  void check_words() const {
    constexpr std::size_t kEnoughRows = 20;
    if (&part_ == &into_.test || schema_ != nullptr || rows_ < kEnoughRows) return;
    std::vector<std::string> columns, names;
    for (std::size_t k = 0; k < features_.size(); ++k) {
      if (kinds_[k] != Kind::words || is_named_[k]) continue;
      const Names& words = into_.shared.categories.at(features_[k]);
      if (2 * words.size() <= rows_) continue;
      columns.push_back(name_of(features_[k]) + " (" + std::to_string(words.size()) + " in " + counted(rows_, "row") +
                        ", such as '" + shown_field(words.all().front()) + "', " + std::string(look_of(words.all().front())) +
                        ")");
      names.push_back(has_header_ ? shown_field(header_[features_[k]]) : std::to_string(features_[k] + 1));
    }
    if (columns.empty()) return;
    throw failure(records_.name() + ": words that differ from row to row in " + joined(columns) +
                  "; write them as plain numbers, list words that matter with --categories, or leave them out: --drop-columns " +
                  joined(names, ","));
  }

  /// Sorts the words of the training part and passes the inputs to the part: first the numbers, then a 0 or 1 for each word of
  /// each word column.
  void give_features() {
    check_words();
    SharedNames& shared = into_.shared;
    std::vector<std::vector<std::uint32_t>> places(features_.size());
    if (&part_ == &into_.train) {
      for (std::size_t k = 0; k < features_.size(); ++k) {
        if (kinds_[k] != Kind::words) continue;
        Names& words = shared.categories[features_[k]];
        if (!is_named_[k]) {
          places[k] = words.sort();
          shared.category_names.push_back({has_header_ ? header_[features_[k]] : std::to_string(features_[k] + 1), words.all()});
        }
        shared.binary_columns += words.size();
      }
    }
    const auto of_words = static_cast<std::size_t>(std::ranges::count(kinds_, Kind::words));
    const std::size_t width = features_.size() - of_words + shared.binary_columns;
    std::vector<float> row;
    std::vector<float> rows;
    const auto flush = [&] {
      part_.add_examples(array_of<float>("features", rows, {rows.size() / width, width}));
      rows.clear();
    };
    values_.drain([&](std::span<const float> some) {
      for (const float value : some) {
        row.push_back(value);
        if (row.size() < features_.size()) continue;
        for (std::size_t k = 0; k < row.size(); ++k)
          if (kinds_[k] != Kind::words) rows.push_back(row[k]);
        for (std::size_t k = 0; k < row.size(); ++k)
          if (kinds_[k] == Kind::words) add_word(k, row[k], places[k], rows);
        row.clear();
        if (rows.size() == kRowsAtOnce * width) flush();
      }
    });
    if (!rows.empty()) flush();
  }

  // Appends a 0/1 value for each word of the column. All are 0 for an unknown word and, unless its row is dropped, a missing one.
  void add_word(std::size_t k, float number, const std::vector<std::uint32_t>& places, std::vector<float>& rows) const {
    const std::size_t begin = rows.size();
    const bool drops = into_.shared.missing == Missing::drop && std::isnan(number);
    rows.resize(begin + into_.shared.categories.at(features_[k]).size(), drops ? number : 0);
    if (std::isnan(number) || number == kUnknownWord) return;
    const auto word = static_cast<std::size_t>(number);
    rows[begin + (places.empty() ? word : places[word])] = 1;
  }

  std::string name_of(std::size_t column) const {
    return has_header_ ? "'" + shown_field(header_[column]) + "'" : "column " + std::to_string(column + 1);
  }

  // Adds notes on how the table was read; refuses a test part whose header differs from the training part's.
  void say() {
    if (left_out_ > 0 && !is_protected())
      into_.notes.push_back(counted(left_out_, "row") + " without a label or client left out");
    if (&part_ == &into_.test) {
      const auto [first, second] = std::pair(into_.shared.header, header_);
      if (!first.empty() && !second.empty() && first != second)
        throw failure(records_.name() + " has a different header from " + into_.train.file());
      if (unknown_words_ > 0 && !is_protected())
        into_.notes.push_back(counted(unknown_words_, "word") + " of the test part found in no training row, read as zeros");
      return;
    }
    into_.shared.header = header_;
    TableColumns& table = into_.shared.table;
    table.are_named = has_header_ && std::set(header_.begin(), header_.end()).size() == header_.size();
    const auto name_in = [&](std::size_t column) { return table.are_named ? header_[column] : std::to_string(column + 1); };
    for (const std::size_t column : features_) table.inputs.push_back(name_in(column));
    if (are_mapped_) table = {.are_named = schema_->are_named, .inputs = schema_->inputs};
    for (const std::size_t column : label_columns_) table.answers.push_back(name_in(column));
    std::string note = has_header_ ? "the first line is a header" : "no header";
    if (has_header_ && !header_by_name_ && settings_.header == Header::automatic && std::ranges::any_of(header_, is_csv_number))
      note += " that counts the columns (to change it: --header no)";
    note += "; ";
    note += label_columns_.size() == 1 ? "label: " : "labels: ";
    for (std::size_t i = 0; i < label_columns_.size(); ++i) note += (i == 0 ? "" : ", ") + name_of(label_columns_[i]);
    if (settings_.label.empty()) note += " (to change it: --label)";
    if (client_) note += "; client: " + name_of(*client_);
    note += "; " + counted(features_.size(), "feature");
    if (has_header_) {
      std::size_t named = 0;
      for (const std::size_t column : features_)
        if (named < kNamesInNote) note += (named++ == 0 ? ": " : ", ") + name_of(column);
      if (named < features_.size()) note += ", ...";
    }
    if (schema_ == nullptr) into_.notes.push_back(note);
    say_words();
    say_columns();
  }

  void say_columns() {
    constexpr std::size_t kRowsThatCount = 10;
    for (const std::size_t column : nameless_)
      into_.notes.push_back("column " + std::to_string(column + 1) +
                            " has no name, like a column of row numbers, and is not read (to read it: --inputs)");
    for (const auto& [k, last] : counting_)
      if (!is_protected() && kinds_[k] == Kind::numbers && rows_ >= kRowsThatCount)
        into_.notes.push_back(name_of(features_[k]) + " counts the rows and is an input; to leave it out: --drop-columns " +
                              (has_header_ ? shown_field(header_[features_[k]]) : std::to_string(features_[k] + 1)));
    if (!first_marked_.empty() && into_.shared.decimal_mark == DecimalMark::comma)
      into_.notes.push_back(
          auto_note("decimal-mark", "numbers have decimal commas, such as " + first_marked_, "--decimal-mark point"));
  }

  void say_words() {
    std::string words;
    for (std::size_t k = 0; k < features_.size(); ++k)
      if (kinds_[k] == Kind::words && !is_named_[k])
        words += (words.empty() ? "" : ", ") + name_of(features_[k]) + " (" +
                 std::to_string(into_.shared.categories.at(features_[k]).size()) + ")";
    if (words.empty()) return;
    into_.notes.push_back(auto_note("categories", "each distinct word of these columns becomes a 0/1 column: " + words,
                                    "--categories, or --drop-columns to leave some out"));
  }

  enum class Role { feature, label, client, none };
  enum class Kind { unknown, numbers, words };
  static constexpr float kUnknownWord = -1;

  CsvRecords records_;
  const ReadSettings& settings_;
  const TableColumns* const schema_ = columns_of_schema(settings_);  ///< null if there is no schema or it is not a table's
  Assembly& into_;
  PartBuilder& part_;
  std::vector<std::string_view> fields_;
  std::vector<Role> role_;
  std::vector<std::size_t> label_columns_;
  CsvLabels labels_;
  std::optional<std::size_t> client_;
  std::vector<std::string> header_;
  std::vector<std::size_t> features_;  ///< the columns of the inputs
  std::vector<std::size_t> named_columns_;
  std::vector<bool> is_named_;                              ///< whether settings or schema list the column's words
  std::vector<Kind> kinds_;                                 ///< of the inputs, in the order of features_
  std::vector<std::pair<std::size_t, std::string>> first_;  ///< line and field that decided each kind
  std::vector<double> offsets_;                             ///< of the inputs; empty: none
  std::vector<ColumnSpan> spans_;                           ///< of the inputs, if offsets must be found
  std::vector<float> row_;
  Blocks<float> values_;  ///< of the inputs, from value_of
  std::size_t unknown_words_ = 0;
  bool header_by_name_ = false;
  bool are_mapped_ = false;  ///< other columns replace those in the schema
  std::size_t rows_ = 0;
  std::size_t left_out_ = 0;  ///< records without a label or a client
  bool has_header_ = false;
  bool first_may_be_header_ = false;                     ///< the first record's numbers count the columns
  std::vector<std::size_t> nameless_;                    ///< columns omitted because they have no name
  std::string first_marked_;                             ///< the field that revealed the decimal mark, and its line
  bool is_certain_ = false;                              ///< some comma cannot be a thousands separator
  std::vector<std::pair<std::size_t, float>> counting_;  ///< inputs that have counted the rows so far, and their last value
};

}  // namespace

void read_csv(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test,
              const std::string& name) {
  CsvReader(path, settings, into, as_test ? into.test : into.train, name).read();
}

}  // namespace fedstride
