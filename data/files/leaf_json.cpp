#include <algorithm>
#include <cmath>
#include <functional>
#include <istream>
#include <iterator>
#include <limits>
#include <streambuf>
#include <utility>

#include "core/json.hpp"
#include "core/text.hpp"
#include "data/files/readers.hpp"
#include "data/files/texts.hpp"
#include "data/input_file.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxExampleDepth = 3;
constexpr std::size_t kMaxDepth = 12;
constexpr double kLargestExact = 9e15;           // larger whole numbers are indistinguishable from their neighbors
constexpr std::size_t kMaxTextLength = 1 << 16;  // characters per example

/// True for an image's file name, such as "000001.jpg", which LEAF's CelebA has instead of the image.
bool names_a_picture(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || text.find_first_of(" \n\t") != std::string_view::npos) return false;
  const std::string ending = lower_case(text.substr(dot + 1));
  constexpr std::string_view kEndings[] = {"jpg", "jpeg", "png", "bmp", "gif", "tif", "tiff", "webp"};
  return std::ranges::find(kEndings, ending) != std::end(kEndings);
}

/// A user's x or y: strings, or numbers in the same shape for every example.
struct LeafColumn {
  std::vector<std::string> texts = {};
  std::vector<double> numbers = {};
  std::vector<std::size_t> sizes = {};  ///< of nested lists, outermost first; the first counts the examples
  bool are_whole = true;
};

/// A stream of JSON bytes that are read in pieces. NaN, Infinity and -Infinity, which Python's json.dump writes, become null and
/// out-of-range numbers.
class JsonBytes final : public std::streambuf {
 public:
  using Read = std::function<std::size_t(std::span<std::uint8_t>)>;
  explicit JsonBytes(Read read) : read_(std::move(read)) {}

  /// The number of bytes by which the output so far exceeds the input.
  std::size_t added() const { return added_; }

 private:
  static constexpr std::string_view kNaN = "NaN", kNull = "null", kInfinity = "Infinity", kBeyond = "1e999   ";

  int_type underflow() override {
    const std::string_view left = std::string_view(bytes_).substr(at_);
    if (left.size() < kInfinity.size() && !ended_) return refill();
    if (left.empty()) return traits_type::eof();
    if (!quoted_ && left.starts_with(kNaN)) {
      ++added_;
      return give(kNull, kNaN.size());
    }
    if (!quoted_ && left.starts_with(kInfinity)) return give(kBeyond, kInfinity.size());
    std::size_t end = 0;
    for (; end < left.size(); ++end) {
      if (!quoted_ && end > 0 && (left[end] == 'N' || left[end] == 'I')) break;
      if (left[end] == '"' && !escaped_) quoted_ = !quoted_;
      escaped_ = quoted_ && left[end] == '\\' && !escaped_;
    }
    return give(left.substr(0, end), end);
  }
  int_type refill() {
    bytes_.erase(0, at_);
    at_ = 0;
    const std::size_t kept = bytes_.size();
    bytes_.resize(kept + (std::size_t{1} << 18));
    const std::size_t count = read_({reinterpret_cast<std::uint8_t*>(bytes_.data()) + kept, bytes_.size() - kept});
    bytes_.resize(kept + count);
    ended_ = count == 0;
    return underflow();
  }
  int_type give(std::string_view text, std::size_t taken) {
    at_ += taken;
    char* const begin = const_cast<char*>(text.data());  // a get area is never written to
    setg(begin, begin, begin + text.size());
    return traits_type::to_int_type(*begin);
  }

  Read read_;
  std::string bytes_;
  std::size_t at_ = 0;
  std::size_t added_ = 0;
  bool ended_ = false;
  bool quoted_ = false;
  bool escaped_ = false;
};

/// Reads LEAF's object. Each user's rows are taken as soon as they are complete; the tree keeps only the number of rows.
class LeafReader final : public JsonTree {
 public:
  LeafReader(std::string file, const JsonBytes& bytes, Assembly& into, bool as_test)
      : file_(std::move(file)),
        bytes_(bytes),
        into_(into),
        part_(as_test ? into.test : into.train),
        letters_(Characters::leaf()) {}

  bool scalar(Json value) override {
    if (depth() == 2 && top_ == "user_data")
      wrong(std::string("has ") +
            (value.is_null()     ? "null"
             : value.is_string() ? "a string"
                                 : "a number") +
            " in place of an object with x and y");
    return JsonTree::scalar(std::move(value));
  }
  bool start_array() override {
    if (depth() == 0) wrong("begins with a list; it must be an object");
    if (depth() < 3 && top_ == "user_data") wrong("has a list in place of an object with x and y");
    return JsonTree::start_array();
  }
  bool key(std::string& name) override {
    if (depth() == 1) top_ = name;
    if (depth() == 2 && top_ == "user_data") {
      user_ = name;
      if (stands_already(name)) throw failure(file_ + ": user '" + shown(name) + "' is listed twice");
    }
    if (depth() == 3 && top_ == "user_data" && stands_already(name)) wrong("has '" + shown(name) + "' twice");
    return JsonTree::key(name);
  }
  bool end_object() override {
    JsonTree::end_object();
    if (depth() == 2 && top_ == "user_data") {
      Json& place = root()["user_data"].back();
      place = add_user(std::exchange(place, Json()));
    }
    return true;
  }
  bool parse_error(const JsonError& error) override {
    if (error.out_of_range)
      throw failure(file_ + ", byte " + std::to_string(byte_of(error)) +
                    ": a number is infinite or too large; numbers go up to 3.4e38");
    throw failure(file_ + " is not JSON (byte " + std::to_string(byte_of(error)) + ")" + kValidForm);
  }

  /// Checks the users against the lists in the file.
  void finish() {
    const Json* data = root().find("user_data");
    if (data == root().end() || !data->is_object()) throw failure(file_ + " has no object \"user_data\"" + kValidForm);
    const Json users = root().value("users", Json::array());
    const Json samples = root().value("num_samples", Json::array());
    const auto must_be = [&](bool good, const std::string& what) {
      if (!good) throw failure(file_ + ": " + what);
    };
    must_be(users.empty() || users.size() == data->size(),
            "\"users\" has " + std::to_string(users.size()) + " names, \"user_data\" " + std::to_string(data->size()));
    must_be(samples.empty() || samples.size() == users.size(), "\"users\" has " + std::to_string(users.size()) +
                                                                   " names, \"num_samples\" " + std::to_string(samples.size()) +
                                                                   " numbers");
    for (std::size_t i = 0; i < users.size(); ++i) {
      const std::string name = users[i].is_string() ? users[i].text() : dump_json(users[i]);
      const Json* rows = data->find(name);
      must_be(rows != data->end(), "user '" + shown(name) + "' has no data in \"user_data\"");
      must_be(samples.empty() || samples[i] == *rows,
              "user '" + shown(name) + "' has " + counted(rows->get<std::uint64_t>(), "sample") + ", but \"num_samples\" says " +
                  dump_json(samples.empty() ? samples : samples[i]));
    }
  }

 private:
  static std::string shown(const std::string& name) { return one_line(name.substr(0, 60)); }

  [[noreturn]] void wrong(const std::string& what) const {
    const bool is_users = top_ == "user_data" && !user_.empty();
    throw failure(file_ + (is_users ? ", user '" + shown(user_) + "'" : "") + ": it " + what + kValidForm);
  }
  void begin_value() override {
    if (depth() >= kMaxDepth) wrong("is nested more than " + std::to_string(kMaxDepth) + " levels deep");
  }

  LeafColumn column(const Json& user, const std::string& key) const {
    LeafColumn all;
    const Json* list = user.find(key);
    if (list == user.end()) return {.sizes = {0}};
    if (!list->is_array()) wrong("has '" + key + "', which is not a list");
    append(*list, 0, key, all);
    return all;
  }

  void append(const Json& list, std::size_t depth, const std::string& key, LeafColumn& all) const {
    const std::string column = "has a list '" + key + "' that ";
    if (all.sizes.size() == depth) all.sizes.push_back(list.size());
    if (list.size() != all.sizes[depth] || (depth > 0 && list.empty()))
      wrong(column + "has lists of " + std::to_string(all.sizes[depth]) + " and of " + std::to_string(list.size()) +
            "; all must have the same length, at least 1");
    for (const Json& one : list) {
      if (one.is_array() && depth == kMaxExampleDepth)
        wrong(column + "has examples of more than " + std::to_string(kMaxExampleDepth) + " dimensions");
      if (one.is_object()) wrong("has an object in place of a number, string or list");
      if (one.is_array()) {
        append(one, depth + 1, key, all);
      } else if (one.is_string()) {
        all.texts.push_back(one.text());
      } else if (one.is_null()) {
        if (!into_.shared.rows_are_protected && (key == "y" || into_.shared.missing == Missing::error))
          throw failure(file_ + ", user '" + shown(user_) + "': a number of '" + key + "' is missing (null or NaN)" +
                        (key == "y" ? "; each example needs one" : "; " + std::string(kMissingChoice)));
        all.numbers.push_back(std::numeric_limits<double>::quiet_NaN());
        all.are_whole = false;
      } else {
        all.numbers.push_back(one.is_boolean() ? one.get<bool>() : one.get<double>());
        all.are_whole = all.are_whole && !one.is_number_float() && std::abs(all.numbers.back()) < kLargestExact;
      }
    }
    if (!all.texts.empty() && (depth > 0 || !all.numbers.empty())) wrong(column + "has strings among numbers or in nested lists");
  }

  /// The numbers as an array: 64-bit integers if requested and all are whole, otherwise floating-point.
  Array array(const std::string& key, const LeafColumn& column, bool keep_whole) const {
    std::size_t count = 1;
    for (const std::size_t size : column.sizes) count *= std::min(size, column.numbers.size() + 1);
    if (count != column.numbers.size()) wrong("has '" + key + "' with examples of different shapes");
    const auto as = [&]<class Number>(Number) {
      return array_of<Number>(key, std::vector<Number>(column.numbers.begin(), column.numbers.end()), column.sizes);
    };
    return keep_whole && column.are_whole ? as(std::int64_t{}) : as(double{});
  }

  /// Adds the user's rows and returns their number.
  std::size_t add_user(const Json& user) {
    const std::string who = file_ + ", user '" + shown(user_) + "': ";
    const LeafColumn x = column(user, "x"), y = column(user, "y");
    const std::size_t rows = x.sizes.front();
    if (rows != y.sizes.front())
      throw failure(who + std::to_string(rows) + " x and " + std::to_string(y.sizes.front()) + " y; each x needs one y");
    if (rows == 0) {
      if (&part_ == &into_.train) throw failure(who + "no samples; each client needs at least one ('x' and 'y' are lists)");
      return 0;
    }
    part_.add_examples(x.texts.empty() ? array("x", x, false) : characters(x.texts, who));
    if (y.texts.empty())  // under protection, the type must not depend on the values
      part_.add_answers(array("y", y, !into_.shared.rows_are_protected));
    else if (!x.texts.empty())
      part_.add_answers(next_characters(y.texts, who));
    else
      part_.add_words("y", y.texts);
    part_.add_client(user_, rows);
    return rows;
  }

  Array characters(const std::vector<std::string>& texts, const std::string& who) {
    if (std::ranges::all_of(texts, names_a_picture))
      throw failure(who + "x has image file names ('" + shown(texts.front()) +
                    "'), and images are not read from separate files; give pixel values as lists in x or in a NumPy archive");
    into_.shared.vocabulary = letters_.size();
    std::vector<std::uint16_t> tokens;
    std::size_t length = 0;
    for (const std::string& text : texts) {
      const std::size_t before = tokens.size();
      letters_.append_tokens(text, tokens);
      const std::size_t size = tokens.size() - before;
      if (length == 0) length = size;
      if (size != length || size == 0 || size > kMaxTextLength)
        throw failure(who + "texts of " + std::to_string(length) + " and of " + std::to_string(size) +
                      " characters in x; all must have the same length, from 1 to " + std::to_string(kMaxTextLength));
    }
    return array_of<std::uint16_t>("x", tokens, {texts.size(), length});
  }

  Array next_characters(const std::vector<std::string>& texts, const std::string& who) {
    into_.shared.classes = letters_.size();
    into_.shared.class_names = letters_.names();
    std::vector<std::uint16_t> tokens;
    for (const std::string& text : texts) {
      const std::size_t before = tokens.size();
      letters_.append_tokens(text, tokens);
      if (tokens.size() != before + 1)
        throw failure(who + "'" + shown(text) + "' in y; for a string x it must be the one character that follows");
    }
    return array_of<std::uint16_t>("y", tokens, {texts.size()});
  }

  static constexpr const char* kValidForm = "; valid: the LEAF format with users, num_samples and user_data";

  std::size_t byte_of(const JsonError& error) const { return error.byte - bytes_.added(); }

  std::string file_;
  const JsonBytes& bytes_;
  Assembly& into_;
  PartBuilder& part_;
  Characters letters_;
  std::string top_;   ///< the current key of the outermost object
  std::string user_;  ///< the user being read
};

}  // namespace

void read_leaf_json(const std::filesystem::path& path, Assembly& into, bool as_test) {
  InputFile file(path);
  JsonBytes bytes([&file](std::span<std::uint8_t> out) { return file.read(out); });
  LeafReader reader(file.name(), bytes, into, as_test);
  std::istream stream(&bytes);
  sax_parse_json(stream, reader);
  reader.finish();
}

void read_leaf_json(std::span<const std::uint8_t> bytes, Assembly& into) {
  JsonBytes stretches([&bytes](std::span<std::uint8_t> out) {
    const std::size_t count = std::min(out.size(), bytes.size());
    std::ranges::copy(bytes.first(count), out.begin());
    bytes = bytes.subspan(count);
    return count;
  });
  LeafReader reader("the file", stretches, into, false);
  std::istream stream(&stretches);
  sax_parse_json(stream, reader);
  reader.finish();
}

}  // namespace fedstride
