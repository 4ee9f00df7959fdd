#include "data/files/csv.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/parse_number.hpp"
#include "core/text.hpp"
#include "data/files/csv_labels.hpp"
#include "data/input_file.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxCsvColumns = std::size_t{1} << 20;
constexpr std::size_t kRowsAtOnce = 1024;
constexpr std::size_t kNamesInNote = 12;

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
    if (rows_ == 0) throw failure(file_.name() + " holds no record");
    flush();
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
                  std::to_string(fields_.size()) + ", or a name of its first line: " + names +
                  (fields_.size() > kNamesInNote ? ", ..." : ""));
  }

  bool is_record() const { return std::ranges::any_of(fields_, is_csv_number); }

  void begin() {
    if (fields_.size() < 2) throw wrong("one column; valid: numbers separated by commas, semicolons or tabs, and a label");
    if (fields_.size() > kMaxCsvColumns)
      throw wrong(counted(fields_.size(), "column") + "; at most " + std::to_string(kMaxCsvColumns) + " are read");
    std::size_t& columns = into_.shared.columns;  // both parts have the same
    if (columns == 0) columns = fields_.size();
    if (fields_.size() != columns) throw wrong(counted(fields_.size(), "field") + "; there must be " + std::to_string(columns));
    role_.assign(fields_.size(), Role::feature);
    bool by_name = false;
    const auto give = [&](std::size_t column, Role role) {
      if (role_[column] != Role::feature)
        throw wrong("column " + std::to_string(column + 1) + " has two meanings; label and client are columns of their own");
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
    columns_ = static_cast<std::size_t>(std::ranges::count(role_, Role::feature));
    if (columns_ == 0) throw wrong("no column is left for features");
    has_header_ = by_name || is_header();
    if (has_header_) header_.assign(fields_.begin(), fields_.end());
  }

  // A record with a gap ("5.1,?,3,0") must not be lost as a header, nor a header be read as a record.
  bool is_header() const {
    std::size_t number = fields_.size();
    std::size_t gap = fields_.size();
    for (std::size_t i = fields_.size(); i-- > 0;) {
      if (is_csv_number(fields_[i]))
        number = i;
      else if (role_[i] == Role::feature)
        gap = i;
    }
    if (gap == fields_.size()) return false;
    if (number == fields_.size()) return true;
    throw wrong("field " + std::to_string(gap + 1) + " is '" + shown_field(fields_[gap]) + "', which is no number, and field " +
                std::to_string(number + 1) + " is '" + shown_field(fields_[number]) +
                "', which is one; valid: a record, all features numbers, or a header without a number");
  }

  void add() {
    if (fields_.size() != role_.size())
      throw wrong(counted(fields_.size(), "field") + "; there must be " + std::to_string(role_.size()));
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (role_[i] != Role::feature) continue;
      double value = 0;
      if (!parse_csv_number(fields_[i], value) || (!std::isfinite(static_cast<float>(value)) && !into_.shared.rows_are_protected))
        throw wrong("field " + std::to_string(i + 1) + " is '" + shown_field(fields_[i]) +
                    "', which is no number; a column of words can only be --label or --client-column");
      features_.push_back(static_cast<float>(value));
    }
    for (const std::size_t label : label_columns_)
      if (const std::string why = labels_.add(fields_[label]); !why.empty())
        throw wrong("field " + std::to_string(label + 1) + ", the label, " + why);
    if (client_) {
      if (fields_[*client_].empty()) throw wrong("field " + std::to_string(*client_ + 1) + ", the client, is empty");
      part_.add_client(fields_[*client_], 1);
    }
    if (++rows_ % kRowsAtOnce == 0) flush();
  }

  void flush() {
    Array x{.key = "features", .kind = 'f', .item = sizeof(float), .shape = {features_.size() / columns_, columns_}, .bytes = {}};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(features_.data());
    x.bytes.assign(bytes, bytes + features_.size() * sizeof(float));
    part_.add_examples(x);
    features_.clear();
  }

  std::string name_of(std::size_t column) const {
    return has_header_ ? "'" + shown_field(header_[column]) + "'" : "column " + std::to_string(column + 1);
  }

  // How the table was read; a test part must have the same columns.
  void say() {
    if (&part_ == &into_.test) {
      const auto [first, second] = std::pair(into_.shared.header, header_);
      if (!first.empty() && !second.empty() && first != second)
        throw failure(file_.name() + " has another header than " + into_.train.file());
      return;
    }
    into_.shared.header = header_;
    const bool guessed_values = labels_.are_values() && settings_.targets == TargetsAre::automatic;
    if (!has_header_ && !client_ && settings_.label.empty() && !guessed_values) return;  // numbers and the label last, as ever
    std::string note = has_header_ ? "the first line is a header; " : "no header; ";
    note += label_columns_.size() == 1 ? "label: " : "labels: ";
    for (std::size_t i = 0; i < label_columns_.size(); ++i) note += (i == 0 ? "" : ", ") + name_of(label_columns_[i]);
    if (client_) note += "; client: " + name_of(*client_);
    note += "; " + counted(columns_, "feature");
    if (has_header_) {
      std::size_t named = 0;
      for (std::size_t i = 0; i < role_.size() && named < kNamesInNote; ++i)
        if (role_[i] == Role::feature) note += (named++ == 0 ? ": " : ", ") + name_of(i);
      if (named < columns_) note += ", ...";
    }
    if (guessed_values) note += "; labels are not all whole numbers, so they are values to predict";
    into_.notes.push_back(note);
  }

  enum class Role { feature, label, client };

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
  std::vector<float> features_;
  std::size_t columns_ = 0;
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
