#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/text.hpp"
#include "data/files/readers.hpp"
#include "data/input_file.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxCsvColumns = std::size_t{1} << 20;
constexpr std::size_t kRowsAtOnce = 1024;
constexpr std::size_t kNamesInNote = 12;

constexpr std::size_t kMaxWords = kNoLabel;
constexpr std::size_t kMaxCategories = 1000;  // of a column
constexpr std::size_t kMaxWordBytes = 200;
constexpr double kLargestWhole = 1e15;  // whole numbers above are not told from their neighbours in the end

bool parse_csv_number(std::string_view text, double& number) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  return parse_number(text, number);
}

/// The fields that stand for a value that is not there.
bool is_missing(std::string_view field) {
  constexpr std::string_view kMissing[] = {"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A", "<NA>"};
  return std::ranges::find(kMissing, field) != std::end(kMissing);
}

std::string shown_field(std::string_view field) { return one_line(std::string(field.substr(0, 40))); }

/// The labels of a table: whole numbers, numbers to predict, or words, which only the last of them may tell.
class CsvLabels {
 public:
  /// `columns` labels an example. Where rows are protected a label decides nothing about the others: a field that
  /// cannot be one is the number -1, which has no class, and with class-names every field is a name.
  explicit CsvLabels(std::size_t columns = 1, const SharedNames* shared = nullptr) : columns_(columns), shared_(shared) {}

  /// Adds one field. Returns why it cannot be a label; empty if it can.
  std::string add(std::string_view field) {
    if (is_protected()) return add_protected(field);
    if (field.empty()) return "is empty; every record needs one";
    double number = 0;
    const bool is_number = parse_csv_number(field, number);
    if (is_number && !std::isfinite(static_cast<float>(number))) return "is '" + shown_field(field) + "', which is not finite";
    if (!is_number) {
      if (columns_ > 1)
        return "is '" + shown_field(field) + "', which is not a number; with several label columns all must be numbers";
      if (field.size() > kMaxWordBytes)
        return "has " + std::to_string(field.size()) + " characters; a class name has at most " + std::to_string(kMaxWordBytes);
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
      return "is one of more than " + std::to_string(kMaxWords) + " words; there can be at most that many classes";
    return "";
  }
  /// Gives them to the part. Throws Error (failure) that begins with `file`.
  void give(PartBuilder& part, const std::string& key, TargetsAre targets, const std::string& file) {
    if (words_ == 1 && first_is_word_ && numbers_.size() > 1)
      throw failure(file +
                    ": the first label is a word and all others are numbers; use a header without numbers, no header, or --label "
                    "with a name from the header");
    if (gives_names()) return give_words(part, key);
    if (is_protected()) {
      // Numbers of the kind that is named, not of the kind that they look like.
      fractions_ = targets == TargetsAre::values;
      return give_numbers(part, key, fractions_);
    }
    if (words_ > 0) return give_words(part, key);
    const bool as_values = targets == TargetsAre::automatic ? fractions_ : targets == TargetsAre::values;
    if (targets == TargetsAre::classes && fractions_)
      throw failure(file + ": targets is 'classes', but a label is not a whole number; valid: whole numbers and words");
    fractions_ = as_values;
    give_numbers(part, key, as_values);
  }
  /// True once they are given and are numbers with fractions.
  bool are_values() const { return fractions_; }

 private:
  bool is_protected() const { return shared_ != nullptr && shared_->rows_are_protected; }
  bool gives_names() const { return is_protected() && columns_ == 1 && !shared_->named_classes.empty(); }
  std::string add_protected(std::string_view field) {
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
  void give_words(PartBuilder& part, const std::string& key) {
    ids_.drain([&](std::span<const std::uint32_t> ids) {
      for (const std::uint32_t id : ids) part.add_words(key, {&texts_.all()[id], 1});
    });
  }
  void give_numbers(PartBuilder& part, const std::string& key, bool as_values) {
    const std::vector<double> all = numbers_.take();
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
  Blocks<std::uint32_t> ids_;  ///< in texts_, while there are not too many of them
  bool too_many_ = false;
  std::size_t words_ = 0;
  bool first_is_word_ = false;
  bool fractions_ = false;
};

bool is_csv_number(std::string_view field) {
  double number = 0;
  return parse_csv_number(field, number);
}

/// The fields of a line, blanks and quotes around them taken away.
void split_fields(std::string_view line, char separator, std::vector<std::string_view>& fields) {
  fields.clear();
  for (std::size_t begin = 0; begin <= line.size();) {
    while (begin < line.size() && line[begin] == ' ') ++begin;
    if (begin < line.size() && line[begin] == '"') {
      const std::size_t close = line.find('"', begin + 1);
      const std::size_t end = close == line.npos ? line.npos : line.find(separator, close);
      if (close != line.npos && trimmed(line.substr(close + 1, std::min(end, line.size()) - close - 1)).empty()) {
        fields.push_back(trimmed(line.substr(begin + 1, close - begin - 1)));
        begin = std::min(end, line.size()) + 1;
        continue;
      }
    }
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    fields.push_back(trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
}

class CsvReader {
 public:
  CsvReader(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, PartBuilder& part)
      : file_(path), settings_(settings), into_(into), part_(part) {}

  void read() {
    std::string line;
    part_.are_columns();
    bool first = true;
    while (file_.read_line(line)) {
      ++line_number_;
      if (trimmed(line).empty()) continue;
      if (first) separator_ = separator_of(line);
      split_fields(line, separator_, fields_);
      if (std::exchange(first, false)) {
        begin();
        if (has_header_) continue;
      }
      add();
    }
    if (rows_ == 0) throw failure(file_.name() + " has no records");
    check_header();
    give_features();
    labels_.give(part_, settings_.label.empty() ? "label" : settings_.label, settings_.targets, file_.name());
    say();
  }

 private:
  Error wrong(const std::string& what) const {
    return failure(file_.name() + ", line " + std::to_string(line_number_) + ": " + what);
  }

  static char separator_of(std::string_view line) {
    for (const char candidate : {';', ',', '\t'})
      if (line.find(candidate) != std::string_view::npos) return candidate;
    return ',';
  }

  /// The column that a text names; says whether by a name in the first line.
  std::size_t column_of(std::string_view text, std::string_view setting, bool& by_name) const {
    const auto named = std::ranges::find(fields_, text);
    std::uint64_t number = 0;
    if (parse_number(text, number) && number >= 1 && number <= fields_.size() && (named == fields_.end() || is_record()))
      return number - 1;
    if (named != fields_.end()) {
      by_name = true;
      return static_cast<std::size_t>(named - fields_.begin());
    }
    std::string names;
    for (std::size_t i = 0; i < std::min(fields_.size(), kNamesInNote); ++i)
      names += (i == 0 ? "" : ", ") + shown_field(fields_[i]);
    throw failure(file_.name() + " has no column '" + shown_field(text) + "' (" + std::string(setting) + "); valid: 1 to " +
                  std::to_string(fields_.size()) + ", or a name from its first line: " + names +
                  (fields_.size() > kNamesInNote ? ", ..." : ""));
  }

  bool is_record() const { return std::ranges::any_of(fields_, is_csv_number); }

  void begin() {
    if (fields_.size() < 2) throw wrong("one column; valid: numbers and a label, separated by commas, semicolons or tabs");
    if (fields_.size() > kMaxCsvColumns)
      throw wrong(counted(fields_.size(), "column") + "; at most " + std::to_string(kMaxCsvColumns) + " are read");
    std::size_t& columns = into_.shared.columns;  // both parts have the same
    if (columns == 0) columns = fields_.size();
    if (fields_.size() != columns) throw wrong(counted(fields_.size(), "field") + "; there must be " + std::to_string(columns));
    role_.assign(fields_.size(), Role::feature);
    bool by_name = false;
    const auto give = [&](std::size_t column, Role role) {
      if (role_[column] != Role::feature)
        throw wrong("column " + std::to_string(column + 1) + " is used twice; label and client must be different columns");
      role_[column] = role;
    };
    if (!settings_.client_column.empty()) {
      client_ = column_of(settings_.client_column, "client-column", by_name);
      give(*client_, Role::client);
    }
    if (settings_.label.empty()) {
      label_columns_ = {client_ == fields_.size() - 1 ? fields_.size() - 2 : fields_.size() - 1};
    } else {
      for (const std::string_view name : split(settings_.label, ','))
        label_columns_.push_back(column_of(trimmed(name), "label", by_name));
    }
    for (const std::size_t label : label_columns_) give(label, Role::label);
    labels_ = CsvLabels(label_columns_.size(), &into_.shared);
    leave_out_columns(by_name);
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (role_[i] == Role::feature) features_.push_back(i);
    if (features_.empty()) throw wrong("no columns are left for features");
    take_named_categories(by_name);
    kinds_.assign(features_.size(), into_.shared.rows_are_protected ? Kind::numbers : Kind::unknown);
    first_.resize(features_.size());
    is_named_.assign(features_.size(), false);
    for (std::size_t column : named_columns_)
      is_named_[static_cast<std::size_t>(std::ranges::find(features_, column) - features_.begin())] = true;
    for (std::size_t k = 0; k < features_.size(); ++k) {
      const bool has_words = into_.shared.categories.contains(features_[k]);
      if (has_words || &part_ == &into_.test) kinds_[k] = has_words ? Kind::words : Kind::numbers;
    }
    header_by_name_ = by_name;
    has_header_ = by_name || is_header();
    if (has_header_) header_.assign(fields_.begin(), fields_.end());
  }

  /// All columns but those that `inputs` names, and those that drop-columns names, have no role.
  void leave_out_columns(bool& by_name) {
    const auto named = [&](const std::string& setting, std::string_view name) {
      std::vector<std::size_t> columns;
      for (const std::string_view piece : split(setting, ',')) {
        columns.push_back(column_of(trimmed(piece), name, by_name));
        if (role_[columns.back()] != Role::feature)
          throw wrong("column " + std::to_string(columns.back() + 1) + " is used twice: " + std::string(name) +
                      " must name no label and no client");
      }
      return columns;
    };
    if (!settings_.inputs.empty()) {
      const std::vector<std::size_t> columns = named(settings_.inputs, "inputs");
      for (std::size_t i = 0; i < role_.size(); ++i)
        if (role_[i] == Role::feature && std::ranges::find(columns, i) == columns.end()) role_[i] = Role::none;
    }
    if (settings_.drop_columns.empty()) return;
    for (const std::size_t column : named(settings_.drop_columns, "drop-columns")) role_[column] = Role::none;
  }

  void take_named_categories(bool& by_name) {
    for (const NamedCategories& one : named_categories(settings_.categories)) {
      const std::size_t column = column_of(one.column, "categories", by_name);
      if (role_[column] != Role::feature)
        throw wrong("column " + std::to_string(column + 1) + " has categories and is no input; they are for inputs");
      named_columns_.push_back(column);
      if (&part_ == &into_.test) continue;
      Names& words = into_.shared.categories[column];
      for (const std::string& word : one.words) words.number(word);
      into_.shared.category_names.push_back(one);
      ++into_.shared.named_categories;
    }
  }

  // Without a number among its inputs a first line of names is a header. A record may have words and gaps ("5.1,?,red,0").
  bool is_header() const {
    bool has_text = false;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (is_csv_number(fields_[i])) return false;
      has_text = has_text || role_[i] == Role::feature || role_[i] == Role::none;
    }
    return has_text;
  }

  // A table of words alone whose first line is a record would lose it as a header: its fields are words of their columns.
  void check_header() const {
    if (!has_header_ || header_by_name_ || into_.shared.rows_are_protected) return;
    for (std::size_t k = 0; k < features_.size(); ++k) {
      const auto words = into_.shared.categories.find(features_[k]);
      if (words == into_.shared.categories.end() || words->second.find(header_[features_[k]]) == words->second.size()) return;
    }
    throw failure(file_.name() + ", line 1 has only words that are values of its columns, such as '" +
                  shown_field(header_[features_.front()]) + "'; a table of words needs a header line");
  }

  void add() {
    if (fields_.size() != role_.size())
      throw wrong(counted(fields_.size(), "field") + "; there must be " + std::to_string(role_.size()));
    row_.clear();
    for (std::size_t k = 0; k < features_.size(); ++k) row_.push_back(value_of(k));
    values_.append(row_);
    for (const std::size_t label : label_columns_)
      if (const std::string why = labels_.add(fields_[label]); !why.empty())
        throw wrong("field " + std::to_string(label + 1) + ", the label, " + why);
    if (client_) {
      if (fields_[*client_].empty()) throw wrong("field " + std::to_string(*client_ + 1) + ", the client, is empty");
      part_.add_client(fields_[*client_], 1);
    }
    ++rows_;
  }

  /// The field of the k-th input: a number, the number of a word, or NaN where it is missing.
  float value_of(std::size_t k) {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    const std::string_view field = fields_[features_[k]];
    const bool is_protected = into_.shared.rows_are_protected;
    if (is_missing(field)) {
      if (into_.shared.missing == Missing::error)
        throw wrong(where(k) + " is '" + shown_field(field) + "', a missing value; " + std::string(kMissingChoice));
      return kNaN;
    }
    if (is_named_[k]) return named_word(k, field);
    double value = 0;
    const bool is_number = parse_csv_number(field, value);
    if (kinds_[k] == Kind::unknown) {
      kinds_[k] = is_number ? Kind::numbers : Kind::words;
      first_[k] = {line_number_, shown_field(field)};
    }
    if (is_number != (kinds_[k] == Kind::numbers)) {
      if (is_protected)  // the error shows no field
        throw wrong(where(k) + " is not a number; under dp the words of a column are named: " + words_choice(k));
      throw wrong(where(k) + " is '" + shown_field(field) + "', which is " + (is_number ? "a number" : "not a number") +
                  (first_[k].first > 0 ? ", but '" + first_[k].second + "' in line " + std::to_string(first_[k].first) + " is " +
                                             (is_number ? "not" : "one")
                                       : ", as in " + into_.train.file()) +
                  "; for a column of words: " + words_choice(k));
    }
    if (!is_number) return word(k, field);
    if (!std::isfinite(static_cast<float>(value)) && !is_protected)
      throw wrong(where(k) + " is '" + shown_field(field) + "', which is not finite");
    return static_cast<float>(value);
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
      throw wrong(where(k) + " is '" + shown_field(field) + "', which is none of its categories; valid: " + joined(words.all()));
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
                  " words of its column, which is too many for one column of 0 and 1 each; leave it out with --drop-columns " +
                  (has_header_ ? shown_field(header_[features_[k]]) : std::to_string(features_[k] + 1)));
    return static_cast<float>(number);
  }

  /// Orders the words of the training part, and gives the inputs to the part: the numbers, then for each column of words a 0 or a 1 a word.
  void give_features() {
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

  // A missing word is a row of zeros, like one that has no category, unless its row is to be dropped.
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

  // How the table was read; a test part must have the same columns.
  void say() {
    if (&part_ == &into_.test) {
      const auto [first, second] = std::pair(into_.shared.header, header_);
      if (!first.empty() && !second.empty() && first != second)
        throw failure(file_.name() + " has a different header from " + into_.train.file());
      if (unknown_words_ > 0 && !into_.shared.rows_are_protected)
        into_.notes.push_back(counted(unknown_words_, "word") +
                              " of the test part is in no training row and has no column: zeros in all");
      return;
    }
    into_.shared.header = header_;
    std::string note = has_header_ ? "the first line is a header; " : "no header; ";
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
    into_.notes.push_back(note);
    say_words();
  }

  void say_words() {
    std::string words;
    for (std::size_t k = 0; k < features_.size(); ++k)
      if (kinds_[k] == Kind::words && !is_named_[k])
        words += (words.empty() ? "" : ", ") + name_of(features_[k]) + " (" +
                 std::to_string(into_.shared.categories.at(features_[k]).size()) + ")";
    if (words.empty()) return;
    into_.notes.push_back(auto_note("categories", "columns of words are a column of 0 and 1 a word: " + words,
                                    "--categories, or --drop-columns to leave some out"));
  }

  enum class Role { feature, label, client, none };
  enum class Kind { unknown, numbers, words };
  static constexpr float kUnknownWord = -1;

  InputFile file_;
  const ReadSettings& settings_;
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
  std::vector<bool> is_named_;                              ///< the words of these are named
  std::vector<Kind> kinds_;                                 ///< of the inputs, in this order
  std::vector<std::pair<std::size_t, std::string>> first_;  ///< the line and the field that decided each kind
  std::vector<float> row_;
  Blocks<float> values_;  ///< of the inputs, as value_of gives them
  std::size_t unknown_words_ = 0;
  bool header_by_name_ = false;
  std::size_t rows_ = 0;
  std::size_t line_number_ = 0;
  bool has_header_ = false;
  char separator_ = ',';
};

}  // namespace

void read_csv(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test) {
  CsvReader(path, settings, into, as_test ? into.test : into.train).read();
}

}  // namespace fedstride
