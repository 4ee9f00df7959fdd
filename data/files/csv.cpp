#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/processors.hpp"
#include "core/text.hpp"
#include "data/files/csv_fields.hpp"
#include "data/files/csv_labels.hpp"
#include "data/files/csv_records.hpp"
#include "data/files/readers.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxCsvColumns = std::size_t{1} << 20;
constexpr std::size_t kRowsAtOnce = 1024;
constexpr std::size_t kNamesInNote = 12;
constexpr std::size_t kMaxCategories = 1000;  // per column

bool is_csv_number(std::string_view field) {
  double number = 0;
  return parse_csv_number(field, number);
}

const TableColumns* columns_of_schema(const ReadSettings& settings) {
  return settings.schema && !settings.schema->columns.answers.empty() ? &settings.schema->columns : nullptr;
}

class CsvReader {
 public:
  CsvReader(const ReadSettings& settings, Assembly& into, PartBuilder& part, TableThreads threads)
      : settings_(settings), into_(into), part_(part), threads_(threads) {
    if (threads_.count == 0) threads_.count = settings.threads > 0 ? settings.threads : usable_processors();
  }

  void read(std::span<const TableFile> files) {
    part_.are_columns();
    for (const TableFile& file : files) {
      const bool is_first = &file == files.data();
      file_ = &file;
      records_.emplace(file.path, file.name.empty() ? settings_.encoding : Encoding::utf_8, !settings_.rows_are_protected,
                       file.name);
      const std::size_t before = rows_;
      if (!records_->next(fields_)) throw no_records();
      is_first ? begin() : match_header();
      if (!has_header_) add();
      for (;;) {
        while (add_ahead()) continue;
        if (!next()) break;
        add();
      }
      if (rows_ == before) throw no_records();
    }
    check_header();
    check_mark();
    give_features();
    if (!settings_.without_answers)
      labels_.give(part_, settings_.label.empty() ? "label" : settings_.label, settings_.targets, records_->name(),
                   first_may_be_header_);
    find_offsets();
    say();
  }

 private:
  Error wrong(const std::string& what) const {
    return failure(records_->name() + ", line " + std::to_string(records_->line()) + ": " + what);
  }
  Error no_records() const { return failure(records_->name() + " has no records" + (left_out_ > 0 ? " with a label" : "")); }
  bool is_protected() const { return into_.shared.rows_are_protected; }

  /// Reads a record of a later file in the order of the first file's columns.
  bool next() {
    if (!records_->next(fields_)) return false;
    put_in_order();
    return true;
  }
  /// Finds the first file's columns in the header of a later file.
  void match_header() {
    order_.clear();
    if (!has_header_) return;
    for (const std::string& name : header_) {
      const bool has_name = std::ranges::find(fields_, name) != fields_.end();
      if (!has_name || fields_.size() != header_.size())
        throw failure(records_->name() + " has " +
                      (has_name ? counted(fields_.size(), "column") : "no column '" + shown_field(name) + "'") +
                      "; all files must have the columns of the first: " + joined(header_));
    }
    match(header_);
  }
  void match(const std::vector<std::string>& header) {
    if (std::ranges::equal(fields_, header)) return;
    for (const std::string& name : header)
      order_.push_back(static_cast<std::size_t>(std::ranges::find(fields_, name) - fields_.begin()));
    if (std::set(order_.begin(), order_.end()).size() < order_.size())
      throw failure(records_->name() + " has two columns of one name, and in another order than the first file");
    put_in_order();
  }
  void put_in_order() {
    if (order_.empty() || fields_.size() != order_.size()) return;
    const std::vector<std::string_view> found = fields_;
    for (std::size_t i = 0; i < found.size(); ++i) fields_[i] = found[order_[i]];
  }

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
      throw failure(records_->name() + " has two columns '" + shown_field(text) + "' (" + std::string(setting) + "), " +
                    std::to_string(named[0] + 1) + " and " + std::to_string(named[1] + 1) + "; name the column by its number");
    if (!named.empty()) {
      has_header_ = header_by_name_ = true;
      return named.front();
    }
    std::string names;
    for (std::size_t i = 0; i < std::min(fields_.size(), kNamesInNote); ++i)
      names += (i == 0 ? "" : ", ") + shown_field(fields_[i]);
    const bool may_be_record = is_protected() && settings_.header != Header::yes;  // and must not be shown
    throw failure(records_->name() + " has no column '" + shown_field(text) + "' (" + std::string(setting) + "); valid: 1 to " +
                  std::to_string(fields_.size()) + ", or a name from its first line" +
                  (may_be_record ? std::string() : ": " + names + (fields_.size() > kNamesInNote ? ", ..." : "")));
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
    throw failure(records_->name() + " has " + counted(fields_.size(), "column") + ", which have no names; valid: the run's " +
                  std::to_string(most) + ", or its " + counted(schema_->inputs.size(), "input") + " alone");
  }
  /// The column that the schema calls by this name, or by this number if its columns have no names.
  std::size_t column_in_schema(const std::string& name) {
    if (!schema_->are_named || settings_.header == Header::no)
      return settings_.without_answers ? column_to_predict(name) : column_of(name, "the run's");
    const auto found = std::ranges::find(fields_, name);
    const auto and_all = [&] {
      if (is_protected() && settings_.header != Header::yes)
        return "; the run's columns are " + joined(schema_->inputs) + " and " + joined(schema_->answers);
      std::vector<std::string> own;
      for (std::size_t i = 0; i < std::min(fields_.size(), kNamesInNote); ++i) own.push_back(shown_field(fields_[i]));
      return "; the run's columns are " + joined(schema_->inputs) + " and " + joined(schema_->answers) + "; the first line has " +
             joined(own) + (own.size() < fields_.size() ? ", ..." : "");
    };
    if (found == fields_.end()) throw failure(records_->name() + " has no column '" + name + "'" + and_all());
    if (std::find(found + 1, fields_.end(), name) != fields_.end())
      throw failure(records_->name() + " has two columns '" + name + "'" + and_all());
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
    header_by_name_ = settings_.header == Header::automatic && is_named_by_flags();
    has_header_ = settings_.header == Header::yes || header_by_name_ ||
                  (settings_.header == Header::automatic && ((schema_ != nullptr && schema_->are_named) || looks_like_header()));
    give_roles();
    take_features();
    if (has_header_) header_.assign(fields_.begin(), fields_.end());
    if (has_header_ && !records_->is_decoded())
      throw wrong("the header is not in the table's encoding; valid: UTF-8, or --encoding");
    if (is_protected()) ask_for_facts();
    const std::vector<double> numbers = numbers_in_line();
    first_may_be_header_ =
        !has_header_ && settings_.header == Header::automatic && numbers.size() == fields_.size() && counts_columns(numbers);
  }

  void give_roles() {
    role_.assign(fields_.size(), Role::feature);
    const auto give = [&](std::size_t column, Role role) {
      if (role_[column] != Role::feature)
        throw wrong("column " + std::to_string(column + 1) + " is used twice; label, client and user must be different columns");
      role_[column] = role;
    };
    const auto is_read = [&](const std::string& name) {
      std::uint64_t number = 0;
      const bool is_there = std::ranges::find(fields_, name) != fields_.end() ||
                            (parse_number(name, number) && number >= 1 && number <= fields_.size());
      return !name.empty() && !settings_.without_answers && (is_there || !settings_.may_lack_clients);
    };
    if (is_read(settings_.client_column) && file_->client.empty()) {
      client_ = column_of(settings_.client_column, "client-column");
      give(*client_, Role::client);
    }
    if (is_read(settings_.user_column)) {
      user_ = column_of(settings_.user_column, "user-column");
      give(*user_, Role::client);
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
    others_ = label_columns_;
    for (const auto& column : {client_, user_})
      if (column) others_.push_back(*column);
    labels_ = CsvLabels(std::max<std::size_t>(1, label_columns_.size()), &into_.shared);
    // Dropped and nameless columns, and those missing from `inputs` if it is given, have no role.
    for (const auto& [columns, name] : {std::pair(&inputs, "inputs"), std::pair(&dropped, "drop-columns")})
      for (const std::size_t column : *columns)
        if (role_[column] != Role::feature)
          throw wrong("column " + std::to_string(column + 1) + " is used twice: " + name + " must name no label, client or user");
    for (std::size_t i = 0; i < role_.size(); ++i) {
      if (role_[i] != Role::feature) continue;
      if (among(dropped, i) || (!inputs.empty() && !among(inputs, i))) {
        role_[i] = Role::none;
      } else if (inputs.empty() && has_header_ && is_nameless(fields_[i])) {
        role_[i] = Role::none;
        nameless_.push_back(i);
      }
    }
    if (!nameless_.empty())
      ask("whether to read column " + std::to_string(nameless_.front() + 1) + ", which has no name",
          "--drop-columns " + std::to_string(nameless_.front() + 1));
  }

  /// The column with a target's name; if there is none, the last named column that is not the client.
  std::size_t default_label(auto is_other) {
    std::optional<std::size_t> last;
    std::vector<std::size_t> targets;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (client_ == i || user_ == i || (has_header_ && is_nameless(fields_[i]))) continue;
      last = i;
      if (has_header_ && names_target(fields_[i]) && !is_other(i)) targets.push_back(i);
    }
    const auto quoted = [&](std::size_t i) { return "'" + shown_field(fields_[i]) + "'"; };
    if (targets.size() > 1)
      throw wrong("columns " + quoted(targets[0]) + " and " + quoted(targets[1]) + " may both be the label; say which: --label " +
                  shown_field(fields_[targets[1]]));
    if (!targets.empty() && targets.front() != last)
      ask("whether " + quoted(targets.front()) + ", which is not the last column, is the label",
          "--label " + shell_quoted(std::string(fields_[targets.front()])));
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
      throw failure(records_->name() + ": inputs names " + counted(columns.size(), "column") + "; the run has " +
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

  /// True if a flag gives a number or words to a column by a name in this line, which is then a header.
  bool is_named_by_flags() const {
    for (const std::string* flag :
         {&settings_.range, &settings_.mean, &settings_.deviation, &settings_.offsets, &settings_.categories})
      for (const std::string_view list : split(*flag, ';'))
        for (const std::string_view piece : split(list, ',')) {
          const std::size_t end = piece.find('=');
          const std::string_view name = trimmed(piece.substr(0, end));
          if (double ignored = 0;
              end != piece.npos && !parse_csv_number(name, ignored) && std::ranges::find(fields_, name) != fields_.end())
            return true;
        }
    return false;
  }

  /// Notes a fact that must not be inferred from protected rows, and the flag that gives it.
  void ask(std::string fact, std::string flag) {
    if (!is_protected()) return;
    asked_.push_back(std::move(fact));
    flags_.push_back(std::move(flag));
  }
  /// Asks for the public facts that are missing, all at once.
  void ask_for_facts() {
    const bool is_known = settings_.header != Header::automatic || header_by_name_;
    if (!is_known) ask("whether the first line is a header (or --header no)", "--header yes");
    if (into_.shared.needs_constants && !settings_.without_answers) {
      if (!into_.shared.classes && settings_.targets != TargetsAre::values && settings_.targets != TargetsAre::flags)
        ask("the classes (or --class-names, or --targets values or flags)", "--classes N");
      const bool is_free = settings_.normalize == Normalize::automatic || settings_.normalize == Normalize::range;
      const bool has_numbers = std::ranges::find(kinds_, Kind::numbers) != kinds_.end();
      if (has_numbers && is_free && settings_.mean.empty() && settings_.deviation.empty() && settings_.range.empty() &&
          settings_.public_data.empty())
        ask("the range of each input (or --mean and --deviation, or --public-data FILE; words of a column: --categories)",
            "--range " + ranges_to_paste(is_known));
    }
    if (asked_.empty()) return;
    throw usage_error(records_->name() + ", line " + std::to_string(records_->line()) + ": " +
                      ("under dp nothing may be inferred from the rows: " + joined(asked_)) + "; add what is public: " +
                      joined(flags_, " ") + "; 'fedstride data constants FILE' writes such flags from public rows");
  }
  std::string ranges_to_paste(bool has_names) const {
    constexpr std::size_t kMostNames = 100;
    std::vector<std::string> ranges;
    bool are_plain = true;  // no name has a separator
    for (std::size_t k = 0; k < features_.size(); ++k) {
      if (kinds_[k] != Kind::numbers) continue;
      are_plain = are_plain && fields_[features_[k]].find_first_of(",=") == std::string_view::npos;
      ranges.push_back(std::string(fields_[features_[k]]) + "=LOW..HIGH");
    }
    return has_header_ && has_names && are_plain && ranges.size() <= kMostNames ? shell_quoted(joined(ranges, ",")) : "LOW,HIGH";
  }

  // Refuses a table of words alone whose first line could be a record instead of a header, since its fields are words of their
  // columns.
  void check_header() const {
    if (!has_header_ || header_by_name_ || settings_.header == Header::yes || is_protected()) return;
    for (std::size_t k = 0; k < features_.size(); ++k) {
      const auto words = into_.shared.categories.find(features_[k]);
      if (words == into_.shared.categories.end() || words->second.find(header_[features_[k]]) == words->second.size()) return;
    }
    throw failure("line 1 of " + records_->name() + " has only words that are values of its columns, such as '" +
                  shown_field(header_[features_.front()]) + "'; a table of words needs a header line, or --header no");
  }

  void add() {
    if (fields_.size() != role_.size())
      throw wrong(counted(fields_.size(), "field") + "; there must be " + std::to_string(role_.size()));
    if (is_dropped()) return;
    row_.clear();
    for (std::size_t k = 0; k < features_.size(); ++k) row_.push_back(value_of(k));
    values_.append(row_);
    end_row(row_);
  }

  /// Adds what a record has besides its inputs, which are `row`.
  void end_row(std::span<const float> row) {
    for (const std::size_t label : label_columns_)
      if (const std::string why = labels_.add(fields_[label], number_of_label(fields_[label])); !why.empty())
        throw wrong("field " + std::to_string(label + 1) + ", the label, " + why);
    if (client_) part_.add_client(fields_[*client_], 1);
    if (!file_->client.empty()) part_.add_client(file_->client, 1);
    if (user_) part_.add_user(fields_[*user_]);
    std::erase_if(counting_, [&](auto& column) {
      const bool counts = rows_ == 0 || row[column.first] == column.second + 1;
      column.second = row[column.first];
      return !counts;
    });
    ++rows_;
  }

  /// Plain lines: numbers wherever there are inputs, and nothing that says how later records are read. So they can be read in any
  /// order, and what they add is added in theirs.
  struct PlainLines {
    std::vector<float> values = {};
    std::vector<std::string_view> others = {};  ///< of each line, the fields of others_
    std::vector<ColumnSpan> spans = {};
    std::size_t rows = 0;
    std::size_t bytes = 0;
    bool are_all = false;  ///< no other line follows in the text
  };

  /// Reads plain lines up to the first that is none. Callable from any thread.
  void read_plain(std::string_view text, PlainLines& read) const {
    read.values.clear();
    read.others.clear();
    read.spans.assign(spans_.size(), {});
    read.bytes = 0;
    const bool may_have_points = into_.shared.decimal_mark == DecimalMark::point;
    std::vector<std::string_view> fields;
    for (read.rows = 0;; ++read.rows) {
      const std::string_view line = text.substr(read.bytes, text.find('\n', read.bytes) - read.bytes);
      const bool is_plain = read.bytes < text.size() && split_plain_line(line, records_->separator(), fields) &&
                            fields.size() == role_.size() && (fields.size() > 1 || !fields.front().empty()) &&
                            std::ranges::none_of(others_, [&](std::size_t i) { return is_missing(fields[i]); }) &&
                            add_values(fields, may_have_points, read);
      if (!is_plain) break;
      for (const std::size_t column : others_) read.others.push_back(fields[column]);
      read.bytes += line.size() + 1;
    }
    read.values.resize(read.rows * features_.size());
    read.are_all = read.bytes == text.size();
  }

  /// Adds the values of a plain line's inputs, as value_of() gives them; false if it is none.
  bool add_values(std::span<const std::string_view> fields, bool may_have_points, PlainLines& to) const {
    for (std::size_t k = 0; k < features_.size(); ++k) {
      const std::string_view field = fields[features_[k]];
      double value = std::numeric_limits<double>::quiet_NaN();
      if (is_missing(field)) {
        if (into_.shared.missing == Missing::error) return false;
      } else {
        if (!parse_csv_number(field, value) || !fits_float(value)) return false;
        if (!may_have_points && field.find('.') != field.npos) return false;
        if (!spans_.empty()) to.spans[k].add(value);
      }
      to.values.push_back(static_cast<float>(offsets_.empty() ? value : value - offsets_[k]));
    }
    return true;
  }

  bool may_read_ahead() const {
    const bool has_plain_numbers = into_.shared.decimal_mark != DecimalMark::comma && !forms_.any();
    return threads_.count > 1 && rows_ >= ahead_from_ && has_plain_numbers && !is_protected() && order_.empty() &&
           std::ranges::all_of(kinds_, [](Kind kind) { return kind == Kind::numbers; }) &&
           std::ranges::none_of(is_named_, std::identity());
  }

  /// Reads the plain lines that follow on several threads, and adds those before the first other line. False if there are none;
  /// tables with many other lines are then mostly read record by record.
  bool add_ahead() {
    if (!may_read_ahead()) return false;
    const std::string_view text = records_->ahead(threads_.bytes * static_cast<std::size_t>(threads_.count));
    std::vector<std::string_view> pieces;
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(pieces.back().size()))
      pieces.push_back(rest.substr(0, rest.find('\n', std::min(threads_.bytes, rest.size()) - 1) + 1));
    if (pieces_.size() < pieces.size()) pieces_.resize(pieces.size());
    std::vector<std::future<void>> done;
    for (std::size_t i = 0; i < pieces.size(); ++i)
      done.push_back(std::async([this, text = pieces[i], &to = pieces_[i]] { read_plain(text, to); }));
    const std::size_t before = rows_;
    bool are_plain = !pieces.empty();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      done[i].get();
      if (are_plain) add(pieces_[i]);
      are_plain = are_plain && pieces_[i].are_all;
    }
    constexpr std::size_t kFewRows = 4096, kMostRows = std::size_t{1} << 16;
    wait_ = are_plain || rows_ - before > kFewRows ? 1 : std::min(2 * wait_, kMostRows);
    if (!are_plain) ahead_from_ = rows_ + wait_;
    return are_plain;
  }

  void add(const PlainLines& read) {
    values_.append(read.values);
    for (std::size_t k = 0; k < spans_.size(); ++k) spans_[k].add(read.spans[k]);
    fields_.resize(role_.size());
    for (std::size_t row = 0; row < read.rows; ++row) {
      records_->begin_line();
      for (std::size_t i = 0; i < others_.size(); ++i) fields_[others_[i]] = read.others[row * others_.size() + i];
      end_row(std::span(read.values).subspan(row * features_.size(), features_.size()));
    }
    records_->skip(read.bytes);
  }

  /// True if --missing drops this record because it has no label or no client; throws if it must be refused.
  bool is_dropped() {
    const auto label = std::ranges::find_if(label_columns_, [&](std::size_t i) { return labels_.is_missing_label(fields_[i]); });
    const std::optional<std::size_t> nameless = client_ && is_missing(fields_[*client_]) ? client_
                                                : user_ && is_missing(fields_[*user_])   ? user_
                                                                                         : std::nullopt;
    if (label == label_columns_.end() && !nameless) return false;
    if (into_.shared.missing == Missing::drop) {
      ++left_out_;
      return true;
    }
    if (!nameless && is_protected()) return false;  // a missing label then has no class
    const std::size_t column = nameless ? *nameless : *label;
    const std::string_view what = !nameless ? "label" : nameless == client_ ? "client" : "user";
    throw wrong("field " + std::to_string(column + 1) + ", the " + std::string(what) + ", is '" + shown_field(fields_[column]) +
                "', a missing value; --missing drop leaves such rows out");
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
    if (forms_.any())
      if (const std::optional<double> formed = number_of_form(field, forms_, settings_.decimal_mark)) {
        number = *formed;
        are_formed_ = true;
        return true;
      }
    if (is_protected()) {  // no row decides what a mark is, and none is refused
      const bool has_commas = settings_.decimal_mark == DecimalMark::comma;
      return parse_csv_number(field, number) ? !has_commas || field.find('.') == field.npos
                                             : has_commas && parse_with_comma(field, number);
    }
    if (parse_csv_number(field, number)) {
      if (field.find('.') == field.npos) return true;
      if (mark == DecimalMark::automatic) note_mark(DecimalMark::point, field);
      if (mark == DecimalMark::comma && !is_named) throw both_marks(field);
      return mark == DecimalMark::point;
    }
    const bool is_grouped = has_thousands_separators(field);
    if ((mark == DecimalMark::point && is_named) || (!is_grouped && !parse_with_comma(field, number))) return false;
    if (!is_named && (forms_.currency || forms_.percent))
      throw wrong("'" + shown_field(field) + "' has a comma; with numbers '" + settings_.numbers +
                  "', say which mark is meant: --decimal-mark comma or point");
    if (is_grouped) throw wrong("'" + shown_field(field) + "' has thousands separators; numbers must have none");
    if (mark == DecimalMark::automatic) note_mark(DecimalMark::comma, field);
    if (mark == DecimalMark::point) throw both_marks(field);
    is_certain_ = is_certain_ || !may_be_thousands(field);
    return true;
  }
  void note_mark(DecimalMark mark, std::string_view field) {
    into_.shared.decimal_mark = mark;
    first_marked_ = "'" + shown_field(field) + "' in line " + std::to_string(records_->line());
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
        records_->name() + ": " + first_marked_ +
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
      first_[k] = {records_->line(), shown_field(field)};
    }
    if (is_number != (kinds_[k] == Kind::numbers)) {
      if (is_protected()) {
        auto& [count, first] = unread_[k];
        if (count++ == 0) first = records_->line();
        return kNaN;
      }
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
                        ", such as '" + shown_field(words.all().front()) + "', " + look_of(words.all().front()) + ")");
      names.push_back(has_header_ ? shown_field(header_[features_[k]]) : std::to_string(features_[k] + 1));
    }
    if (columns.empty()) return;
    throw failure(
        records_->name() + ": words that differ from row to row in " + joined(columns) +
        "; the flags named read them as numbers; list words that matter with --categories, or leave them out: --drop-columns " +
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
    if (of_words == 0) return part_.add_columns("features", std::move(values_), features_.size());
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
    if (settings_.tells_owner)
      for (const auto& [k, found] : unread_)
        into_.notes.push_back(name_of(features_[k]) + ": " + counted(found.first, "field") +
                              " that are no numbers, the first in line " + std::to_string(found.second) +
                              ", count as missing; for a column of words: " + words_choice(k));
    if (!are_formed_ && !is_protected() && (settings_.dates || !settings_.numbers.empty()))
      into_.notes.push_back("no field has a form that " + std::string(settings_.dates ? "dates" : "numbers") + " names");
    if (left_out_ > 0 && !is_protected())
      into_.notes.push_back(counted(left_out_, "row") + " without a label or client left out");
    if (&part_ == &into_.test) {
      const auto [first, second] = std::pair(into_.shared.header, header_);
      if (!first.empty() && !second.empty() && first != second)
        throw failure(records_->name() + " has a different header from " + into_.train.file());
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
    if (user_) note += "; user: " + name_of(*user_);
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

  std::optional<CsvRecords> records_;  ///< of file_
  const TableFile* file_ = nullptr;
  std::vector<std::size_t> order_;  ///< where a later file has the first file's columns; empty: in the same places
  const ReadSettings& settings_;
  const NumberForms forms_ = named_forms(settings_);
  const TableColumns* const schema_ = columns_of_schema(settings_);  ///< null if there is no schema or it is not a table's
  Assembly& into_;
  PartBuilder& part_;
  TableThreads threads_;
  std::size_t ahead_from_ = 1;  ///< the number of rows after which lines are read ahead
  std::vector<PlainLines> pieces_;
  std::size_t wait_ = 1;  ///< how many records are next read one by one, after a line that is not plain
  std::vector<std::string_view> fields_;
  std::vector<Role> role_;
  std::vector<std::size_t> label_columns_;
  std::vector<std::size_t> others_;  ///< the columns of labels, client and user
  CsvLabels labels_;
  std::optional<std::size_t> client_;
  std::optional<std::size_t> user_;  ///< named beside clients
  std::vector<std::string> header_;
  std::vector<std::string> asked_;  ///< facts that must be specified, and in flags_ how
  std::vector<std::string> flags_;
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
  std::map<std::size_t, std::pair<std::size_t, std::size_t>>
      unread_;               ///< protected fields that are no numbers: count, first line
  bool are_formed_ = false;  ///< some field has a form of `numbers` or `dates`
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

void read_csv(std::span<const TableFile> files, const ReadSettings& settings, Assembly& into, bool as_test,
              TableThreads threads) {
  CsvReader(settings, into, as_test ? into.test : into.train, threads).read(files);
}

}  // namespace fedstride
