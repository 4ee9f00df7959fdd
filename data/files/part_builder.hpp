#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "data/dataset.hpp"
#include "data/files/array.hpp"
#include "data/files/blocks.hpp"
#include "data/files/column_span.hpp"
#include "data/files/read_settings.hpp"
#include "data/named_facts.hpp"

namespace fedstride {

/// Strings, numbered in order of first appearance.
class Names {
 public:
  /// The number of a string; a new string gets a new number.
  std::uint32_t number(std::string_view name) {
    if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
    const auto fresh = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    numbers_.emplace(names_.back(), fresh);
    return fresh;
  }
  /// The number of a known string; size() if it is unknown.
  std::uint32_t find(std::string_view name) const {
    const auto known = numbers_.find(name);
    return known == numbers_.end() ? static_cast<std::uint32_t>(names_.size()) : known->second;
  }
  std::size_t size() const { return names_.size(); }
  bool empty() const { return names_.empty(); }
  const std::vector<std::string>& all() const { return names_; }

  /// Sorts the strings: whole numbers by value, others alphabetically. Returns each string's new number, indexed by its old one.
  std::vector<std::uint32_t> sort();
  /// True if every string is a whole number (of at most 18 digits).
  bool are_whole() const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> numbers_;
};

/// Everything that both parts of a data set share while being read.
struct SharedNames {
  Names clients;
  Names users;
  Names labels;                          ///< the words used as labels
  std::optional<int> classes;            ///< specified or stated by the file
  std::optional<int> vocabulary;         ///< specified or stated by the file
  std::vector<std::string> class_names;  ///< specified or stated by the file
  std::optional<Shape> shape;            ///< of an example, specified or stated by the file
  std::vector<float> mean;               ///< stated by the file
  std::vector<float> deviation;          ///< stated by the file
  Names named_classes;                   ///< the labels in the order of their classes, if specified
  Missing missing = Missing::error;      ///< how to handle missing inputs, which are NaN until then (data/missing.hpp)
  /// The words of a table's word columns, by column number, and the number of 0/1 columns that they become.
  std::map<std::size_t, Names> categories;
  std::size_t binary_columns = 0;
  std::vector<NamedCategories> category_names;  ///< the same by column name, in order: first those that settings specify
  std::size_t named_categories = 0;             ///< how many of these are specified
  std::vector<NamedOffset> offsets;             ///< as specified; if none are, those that columns of the training part need
  bool finds_offsets = false;
  bool rows_are_protected = false;                    ///< no fact is inferred from a row, and no row is refused for its contents
  bool needs_constants = false;                       ///< constants that may not be inferred must be specified
  bool kept_by_types = false;                         ///< numbers that fit in 8 bits stay numbers unless their type is 8-bit
  std::uint64_t replaced = 0;                         ///< number of invalid values replaced, if rows are protected
  bool planes_are_known = false;                      ///< the file's format puts channels first
  std::size_t columns = 0;                            ///< number of columns of a table
  std::vector<std::string> header;                    ///< header of a table's training part
  DecimalMark decimal_mark = DecimalMark::automatic;  ///< a table's: specified, or inferred from the numbers so far
  TableColumns table;                                 ///< without categories
  std::vector<std::string> words;                     ///< of sentences: as specified or stated by the file
};

/// Completes an error message about a missing input.
inline constexpr std::string_view kMissingChoice = "use --missing drop, mean, zero or indicator to handle it";

/// Floating-point answers that are whole numbers become classes if there are at most this many distinct ones and no setting
/// forbids it.
inline constexpr std::size_t kMaxFloatClasses = 100;

/// Text such as "28x28" or "one number".
std::string dimensions_text(const std::vector<std::size_t>& dimensions);

/// Builds one part of a data set from a file, some rows at a time, as compactly as possible: 8-bit numbers stay 8-bit.
/// docs/data.md explains which types and shapes become images, numbers or tokens, and which answers become which Targets. Every
/// error is an Error (failure) naming the file and the key. If rows are protected, the storage of values depends only on types
/// and dimensions, and a value that would be refused is replaced regardless of all others: an input that is not finite by NaN, a
/// label without a class by class 0, a token outside the vocabulary by token 0, an answer that is not finite by 0.
class PartBuilder {
 public:
  /// `file`: "'path'", for messages.
  PartBuilder(std::string file, SharedNames& shared) : file_(std::move(file)), shared_(shared) {}

  /// Adds rows: the first dimension of the array counts them. All arrays of a part have the same type and dimensions of a row; one
  /// that is lent is the only one.
  void add_examples(const Array& x);
  /// Adds rows of `size` numbers, columns of a table. A part's first ones are not copied.
  void add_columns(const std::string& key, Blocks<float> numbers, std::size_t size);
  void add_answers(const Array& y);
  /// Adds answers that are strings.
  void add_words(const std::string& key, std::span<const std::string> words);
  /// Sets the client of the next `rows` rows.
  void add_client(std::string_view name, std::size_t rows);
  void add_clients(const Array& names) { add_names(names, shared_.clients, clients_); }
  /// The same for users, where they are named beside clients.
  void add_user(std::string_view name) { users_.push(shared_.users.number(name)); }
  void add_users(const Array& names) { add_names(names, shared_.users, users_); }
  /// Keeps floating-point answers from becoming classes.
  void answers_are_values() { are_classes_ = false; }
  /// Treats numbers as columns of a table, never as images.
  void are_columns() { columns_ = true; }

  const std::string& file() const { return file_; }
  SharedNames& shared() { return shared_; }
  std::size_t examples() const { return rows_; }
  std::size_t answers() const { return answered_; }
  bool empty() const { return rows_ == 0 && answered_ == 0; }

 private:
  friend class Assembly;
  enum class Examples { none, bytes, numbers, tokens };
  enum class Answering { none, whole, numbers, words };

  Error wrong(const std::string& key, const std::string& what) const { return failure(file_ + ", key '" + key + "': " + what); }
  Error wrong_answers(const std::string& what) const { return wrong(answers_key_, what); }
  void check_count(const std::string& key, std::size_t more) const;
  void begin_examples(const Array& x, const std::vector<std::size_t>& each);
  void add_bytes(const Array& x);
  Error not_finite(const std::string& key, std::size_t example, std::size_t at, double number) const;
  bool is_refused(float number) const;
  void keep_lent();
  void add_numbers(const Array& x);
  void add_tokens(const Array& x);
  void add_number_answers(const Array& y);
  void note_lists(const Array& y);
  void make_classes_of_numbers();
  void make_classes_of_lists();
  void add_whole_answers(const Array& y, Answering kind);
  std::int64_t class_named(const std::string& key, const std::string& label);
  void bytes_to_numbers();
  void add_names(const Array& names, Names& known, Blocks<std::uint32_t>& numbers) const;
  void begin_offsets(std::size_t size);
  void find_offsets();

  std::string file_;
  SharedNames& shared_;
  bool columns_ = false;

  std::vector<double> offsets_;    ///< of an example's numbers; empty: none
  std::vector<ColumnSpan> spans_;  ///< of the same numbers, if offsets must be found
  double answers_offset_ = 0;
  ColumnSpan answers_span_;

  Examples kind_ = Examples::none;
  std::string examples_key_;
  std::vector<std::size_t> each_;          ///< dimensions of one example
  float unit_ = 1;                         ///< the unit of numbers stored in 8 bits
  std::pair<bool, bool> first_type_ = {};  ///< of the first array: floating-point, 8 bits
  bool between_ = false;                   ///< the numbers are integers, or some number is neither 0 nor 1
  std::size_t rows_ = 0;
  Blocks<std::uint8_t> bytes_;
  Blocks<float> numbers_;
  Blocks<std::uint16_t> tokens_;
  // Examples lent by a program in their final form, as a single array.
  Borrowable<std::uint8_t> lent_bytes_;
  Borrowable<float> lent_numbers_;
  std::uint16_t largest_token_ = 0;

  Answering answering_ = Answering::none;
  std::string answers_key_;
  std::vector<std::size_t> answers_each_;  ///< dimensions of an example's answer
  std::size_t answered_ = 0;
  bool zero_or_one_ = true;
  bool one_hot_ = true;             ///< each answer is a list of zeros and a single 1
  bool are_classes_ = true;         ///< numbers: all whole, none below 0 except -1
  std::set<double> distinct_ = {};  ///< distinct numbers, at most kMaxFloatClasses + 1
  Blocks<std::int64_t> whole_;
  Blocks<float> values_;

  Blocks<std::uint32_t> clients_;
  Blocks<std::uint32_t> users_;
};

}  // namespace fedstride
