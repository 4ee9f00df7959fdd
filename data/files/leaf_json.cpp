#include "data/files/leaf_json.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <istream>
#include <iterator>
#include <streambuf>

#include "core/json.hpp"
#include "core/one_line.hpp"
#include "core/text.hpp"
#include "data/files/characters.hpp"
#include "data/files/json_column.hpp"
#include "data/input_file.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxDepth = 12;
constexpr std::size_t kMaxTextLength = 1 << 16;  // characters of an example

/// True for the name of a picture's file, as LEAF's CelebA has them in place of the pictures: "000001.jpg".
bool names_a_picture(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || text.find_first_of(" \n\t") != std::string_view::npos) return false;
  std::string ending(text.substr(dot + 1));
  for (char& letter : ending) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  constexpr std::string_view kEndings[] = {"jpg", "jpeg", "png", "bmp", "gif", "tif", "tiff", "webp"};
  return std::ranges::find(kEndings, ending) != std::end(kEndings);
}

/// Takes what the parser meets.
class LeafHandler final : public JsonEvents {
 public:
  LeafHandler(std::string file, Assembly& into, PartBuilder& part, bool users_need_rows)
      : file_(std::move(file)), into_(into), part_(part), users_need_rows_(users_need_rows), letters_(Characters::leaf()) {}

  bool null() override { return value("null"); }
  bool boolean(bool on) override { return number(on ? 1 : 0, true); }
  bool number_integer(std::int64_t value) override { return number(static_cast<double>(value), true); }
  bool number_unsigned(std::uint64_t value) override { return number(static_cast<double>(value), true); }
  bool number_float(double value) override { return number(value, false); }
  bool string(std::string& text) override {
    if (in_column()) {
      check(column_->add(std::move(text)));
    } else if (depth_ == 2 && top_ == "users") {
      told_users_.push_back(std::move(text));
    } else {
      value("a text");
    }
    return true;
  }
  bool start_object() override {
    deeper();
    if (depth_ == 1 || skipping()) return true;
    if (depth_ == 2 && top_ == "user_data") has_data_ = true;
    if (depth_ > 3 || top_ != "user_data") wrong("has an object where it must not");
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      top_ = name;
    } else if (depth_ == 2 && top_ == "user_data") {
      begin_user(name);
    } else if (depth_ == 3 && top_ == "user_data") {
      column_name_ = name;
    }
    return true;
  }
  bool end_object() override {
    if (depth_ == 3 && top_ == "user_data") end_user();
    --depth_;
    if (depth_ == 1) top_.clear();
    return true;
  }
  bool start_array() override {
    deeper();
    if (depth_ == 1) wrong("begins with a list; it must be an object");
    if (skipping()) return true;
    if (top_ == "user_data") {
      if (depth_ < 4) wrong("has a list where an object with x and y must be");
      if (depth_ == 4) {
        column_ = column_name_ == "x" ? &x_ : column_name_ == "y" ? &y_ : nullptr;
        if (column_ != nullptr && column_->examples() > 0) wrong("has '" + column_name_ + "' twice");
      } else if (column_ != nullptr) {
        check(column_->open());
      }
    } else if (depth_ > 2) {
      wrong("has lists in '" + top_ + "'");
    }
    return true;
  }
  bool end_array() override {
    if (top_ == "user_data" && depth_ > 4 && column_ != nullptr) check(column_->close());
    if (depth_ == 4) column_ = nullptr;
    --depth_;
    if (depth_ == 1) top_.clear();
    return true;
  }
  bool parse_error(const JsonError& error) override {
    if (error.out_of_range)
      throw failure(file_ + ", byte " + std::to_string(error.byte) + ": a number is out of range; all must be finite");
    throw failure(file_ + " is not JSON (byte " + std::to_string(error.byte) +
                  "); valid is LEAF's form: users, num_samples, user_data");
  }

  void finish() const {
    if (!has_data_) throw failure(file_ + " has no object \"user_data\"; valid is LEAF's form: users, num_samples, user_data");
    if (!told_users_.empty() && told_users_.size() != users_.size())
      throw failure(file_ + ": \"users\" has " + std::to_string(told_users_.size()) + " names, \"user_data\" " +
                    std::to_string(users_.size()));
    if (!told_samples_.empty() && told_samples_.size() != told_users_.size())
      throw failure(file_ + ": \"users\" has " + std::to_string(told_users_.size()) + " names, \"num_samples\" " +
                    std::to_string(told_samples_.size()) + " numbers");
    for (std::size_t i = 0; i < told_users_.size(); ++i) {
      const std::uint32_t user = users_.find(told_users_[i]);
      if (user == users_.size()) throw failure(file_ + ": user '" + shown(told_users_[i]) + "' has no data in \"user_data\"");
      if (!told_samples_.empty() && told_samples_[i] != static_cast<double>(samples_[user]))
        throw failure(file_ + ": user '" + shown(told_users_[i]) + "' has " + counted(samples_[user], "sample") +
                      ", \"num_samples\" says " + number_text(told_samples_[i]));
    }
  }

 private:
  static std::string shown(const std::string& name) { return one_line(name.substr(0, 60)); }

  [[noreturn]] void wrong(const std::string& what) const {
    const std::string user = users_.empty() ? "" : ", user '" + shown(users_.all().back()) + "'";
    throw failure(file_ + (top_ == "user_data" ? user : "") + ": it " + what +
                  "; valid is LEAF's form: users, num_samples, user_data");
  }
  void check(const std::string& why) const {
    if (!why.empty()) wrong("has '" + column_name_ + "' that " + why);
  }
  void deeper() {
    if (++depth_ > kMaxDepth) wrong("is nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  bool skipping() const { return top_ != "users" && top_ != "num_samples" && top_ != "user_data"; }
  bool in_column() const { return top_ == "user_data" && depth_ >= 4 && column_ != nullptr; }

  bool number(double number, bool whole) {
    if (in_column()) {
      check(column_->add(number, whole));
    } else if (depth_ == 2 && top_ == "num_samples") {
      told_samples_.push_back(number);
    } else if (depth_ == 2 && top_ == "users") {
      told_users_.push_back(number_text(number));
    } else {
      value("a number");
    }
    return true;
  }
  bool value(const char* what) {
    if (in_column() || depth_ == 0) wrong(std::string("has ") + what + " where it must not");
    if (top_ == "user_data" && (depth_ < 3 || column_name_ == "x" || column_name_ == "y") && depth_ < 4)
      wrong(std::string("has ") + what + " where it must not");
    return true;
  }

  void begin_user(const std::string& name) {
    if (users_.number(name) != samples_.size()) {
      top_.clear();
      throw failure(file_ + ": user '" + shown(name) + "' is there twice");
    }
    samples_.push_back(0);
    x_.clear();
    y_.clear();
  }

  void end_user() {
    const std::string& user = users_.all().back();
    const std::string who = file_ + ", user '" + shown(user) + "': ";
    if (x_.examples() != y_.examples())
      throw failure(who + std::to_string(x_.examples()) + " x and " + std::to_string(y_.examples()) + " y; each x needs one y");
    if (x_.examples() == 0) {
      if (users_need_rows_) throw failure(who + "no sample; each client needs one at least ('x' and 'y' are lists)");
      return;
    }
    samples_.back() = x_.examples();
    const bool text = !x_.texts().empty();
    column_name_ = "x";
    text ? give_characters(who) : give_numbers();
    if (y_.texts().empty()) {
      array_.key = column_name_ = "y";
      check(y_.give(array_, !into_.shared.rows_are_protected));  // where the kind is named, it does not depend on whose they are
      part_.add_answers(array_);
    } else if (text) {
      give_next_characters(who);
    } else {
      give_words();
    }
    part_.add_client(user, x_.examples());
  }

  void give_numbers() {
    array_.key = "x";
    check(x_.give(array_, false));
    part_.add_examples(array_);
  }

  void give_tokens(const std::vector<std::uint16_t>& tokens, std::vector<std::size_t> shape, const char* key) {
    array_.key = key;
    array_.kind = 'u';
    array_.item = sizeof(std::uint16_t);
    array_.shape = std::move(shape);
    array_.bytes.resize(tokens.size() * sizeof(std::uint16_t));
    if (!tokens.empty()) std::memcpy(array_.bytes.data(), tokens.data(), array_.bytes.size());
  }

  void give_characters(const std::string& who) {
    if (std::ranges::all_of(x_.texts(), names_a_picture))
      throw failure(who + "x has names of pictures ('" + shown(x_.texts().front()) +
                    "'), and no picture is read from a file of its own; valid are the pictures' values, as lists in x or as a "
                    "NumPy archive made of them");
    into_.shared.vocabulary = letters_.size();
    tokens_.clear();
    std::size_t length = 0;
    for (const std::string& text : x_.texts()) {
      const std::size_t before = tokens_.size();
      letters_.append_tokens(text, tokens_);
      const std::size_t size = tokens_.size() - before;
      if (length == 0) length = size;
      if (size != length || size == 0 || size > kMaxTextLength)
        throw failure(who + "texts of " + std::to_string(length) + " and of " + std::to_string(size) +
                      " characters in x; all must have one length from 1 to " + std::to_string(kMaxTextLength));
    }
    give_tokens(tokens_, {x_.examples(), length}, "x");
    part_.add_examples(array_);
  }

  void give_next_characters(const std::string& who) {
    into_.shared.classes = letters_.size();
    into_.shared.class_names = letters_.names();
    tokens_.clear();
    for (const std::string& text : y_.texts()) {
      const std::size_t before = tokens_.size();
      letters_.append_tokens(text, tokens_);
      if (tokens_.size() != before + 1)
        throw failure(who + "'" + shown(text) + "' in y; after a text there must be the one character that follows it");
    }
    give_tokens(tokens_, {y_.examples()}, "y");
    part_.add_answers(array_);
  }

  void give_words() {
    Array word{.key = "y", .kind = 'S', .item = 0, .shape = {1}, .bytes = {}};
    for (const std::string& text : y_.texts()) {
      word.bytes.assign(text.begin(), text.end());
      word.item = text.size();
      part_.add_answers(word);
    }
  }

  std::string file_;
  Assembly& into_;
  PartBuilder& part_;
  bool users_need_rows_;
  Characters letters_;
  std::size_t depth_ = 0;
  std::string top_;          ///< the key of the outermost object
  std::string column_name_;  ///< that of a user's object
  JsonColumn* column_ = nullptr;
  JsonColumn x_;
  JsonColumn y_;
  Array array_;
  std::vector<std::uint16_t> tokens_;
  bool has_data_ = false;
  Names users_;
  std::vector<std::size_t> samples_;  ///< by number in users_
  std::vector<std::string> told_users_;
  std::vector<double> told_samples_;
};

/// A file's bytes as a stream, some read at a time.
class FileBytes final : public std::streambuf {
 public:
  explicit FileBytes(const std::filesystem::path& path) : file_(path), bytes_(std::size_t{1} << 18) {}

 private:
  int_type underflow() override {
    char* const begin = reinterpret_cast<char*>(bytes_.data());
    setg(begin, begin, begin + file_.read(bytes_));
    return gptr() == egptr() ? traits_type::eof() : traits_type::to_int_type(*begin);
  }

  InputFile file_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

void read_leaf_json(const std::filesystem::path& path, Assembly& into, bool as_test) {
  LeafHandler handler("'" + path.string() + "'", into, as_test ? into.test : into.train, !as_test);
  FileBytes bytes(path);
  std::istream stream(&bytes);
  sax_parse_json(stream, handler);
  handler.finish();
}

void read_leaf_json(std::span<const std::uint8_t> bytes, Assembly& into) {
  LeafHandler handler("the file", into, into.train, true);
  sax_parse_json(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), handler);
  handler.finish();
}

}  // namespace fedstride
