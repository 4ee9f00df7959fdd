#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fedstride {

/// Thrown for text that is not JSON, and for a value of the wrong kind.
struct JsonError : std::runtime_error {
  explicit JsonError(const std::string& what, std::size_t at = 0, bool range = false)
      : std::runtime_error(what), byte(at), out_of_range(range) {}
  std::size_t byte;   ///< at which reading stopped
  bool out_of_range;  ///< a number that no double holds
};

/// A JSON value. The members of an object stay in the order of insertion. nlohmann's library parses and writes it
/// (core/json.cpp). Its own class looks alike but adds 1.4 seconds of compile time to each file that uses it, compares a new key
/// with all keys of an ordered object, which hostile files exploit, and accepts true as a number and a number as a list.
class Json {
 public:
  Json() = default;
  Json(std::nullptr_t) {}  // NOLINT: implicit on purpose, as all of these
  Json(const Json& other);
  Json(Json&& other) noexcept : kind_(std::exchange(other.kind_, Kind::null)), held_(other.held_) {}
  Json& operator=(Json other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~Json() {
    if (kind_ >= Kind::text) release();
  }

  template <class Number>
    requires std::is_arithmetic_v<Number> Json(Number value) {  // NOLINT
      if constexpr (std::same_as<Number, bool>) {
        kind_ = Kind::boolean;
        held_.boolean = value;
      } else if constexpr (std::floating_point<Number>) {
        kind_ = Kind::real;
        held_.real = static_cast<double>(value);
      } else if constexpr (std::is_signed_v<Number>) {
        kind_ = Kind::whole;
        held_.whole = value;
      } else {
        kind_ = Kind::natural;
        held_.natural = value;
      }
    }
  Json(std::string text);  // NOLINT
  template <class Text>
    requires(std::convertible_to<const Text&, std::string_view> && !std::same_as<Text, std::string>)
  Json(const Text& text) : Json(std::string(std::string_view(text))) {}  // NOLINT
  /// An array of a list's elements.
  template <class List>
    requires(
        !std::convertible_to<const List&, std::string_view> && !requires { typename List::mapped_type; } &&
        requires(const List& list) {
          list.begin();
          list.size();
        })
  Json(const List& list) : Json(array()) {  // NOLINT
    for (const auto& one : list) push_back(Json(one));
  }
  /// An object of a map's members.
  template <class Map>
    requires requires { typename Map::mapped_type; }
  Json(const Map& map) : Json(object()) {  // NOLINT
    for (const auto& [key, value] : map) member(key) = Json(value);
  }
  /// An object if every element is an array of two with a text first, otherwise an array.
  Json(std::initializer_list<Json> list);  // NOLINT

  static Json array(std::initializer_list<Json> list = {});
  static Json object();

  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_number_unsigned() const { return kind_ == Kind::natural; }  ///< a whole number that was written without a sign
  bool is_number_integer() const { return kind_ == Kind::whole || kind_ == Kind::natural; }
  bool is_number_float() const { return kind_ == Kind::real; }
  bool is_number() const { return is_number_integer() || is_number_float(); }
  bool is_string() const { return kind_ == Kind::text; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_structured() const { return is_array() || is_object(); }

  /// The value as a T: a flag, a number (converted as C++ does), a text, or a list of these. Throws JsonError for another kind.
  template <class T>
  T get() const {
    if constexpr (std::same_as<T, bool>) {
      return flag();
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (kind_ == Kind::whole) return static_cast<T>(held_.whole);
      if (kind_ == Kind::natural) return static_cast<T>(held_.natural);
      return static_cast<T>(number());
    } else if constexpr (std::same_as<T, std::string>) {
      return text();
    } else {
      T list;
      for (const Json& one : list_itself()) list.push_back(one.get<typename T::value_type>());
      return list;
    }
  }
  /// Throws JsonError unless it is a text.
  const std::string& text() const;

  /// The elements of an array, the values of an object; others have none.
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  const Json* begin() const;
  const Json* end() const { return begin() + size(); }
  Json* begin() { return const_cast<Json*>(std::as_const(*this).begin()); }
  const Json& back() const { return at(size() - 1); }
  Json& back() { return begin()[size() - 1]; }

  /// The value of a key, or end().
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }
  bool contains(std::string_view key) const { return find(key) != end(); }
  /// Throws JsonError if there is no such element.
  const Json& at(std::size_t place) const;
  const Json& at(std::string_view key) const;
  /// The value of the key, or `otherwise`. Throws JsonError unless it is an object.
  Json value(std::string_view key, Json otherwise) const;
  /// Like at(); on a mutable value, a missing key is added as null, and null becomes an object.
  template <class Key>
  const Json& operator[](const Key& key) const {
    if constexpr (std::integral<Key>)
      return at(static_cast<std::size_t>(key));
    else
      return at(std::string_view(key));
  }
  template <class Key>
  Json& operator[](const Key& key) {
    if constexpr (std::integral<Key>)
      return const_cast<Json&>(at(static_cast<std::size_t>(key)));
    else
      return member(key);
  }

  /// Adds an element; null becomes an array.
  void push_back(Json value);
  /// Removes a key, if present.
  void erase(std::string_view key);
  /// Adds the other object's members and replaces existing ones.
  void update(const Json& other);

  /// The members of an object: `for (const auto& [key, value] : json.items())`.
  struct Member {
    const std::string& key;
    const Json& value;
  };
  std::vector<Member> items() const;

  /// Numbers are equal if their values are; the order of an object's members does not count.
  friend bool operator==(const Json& a, const Json& b);

 private:
  enum class Kind : unsigned char { null, boolean, whole, natural, real, text, array, object };
  struct Elements;

  bool flag() const;
  double number() const;
  const Json& list_itself() const;
  Json& member(std::string_view key);
  Elements& make(Kind kind);
  void release() noexcept;

  Kind kind_ = Kind::null;
  union Held {
    bool boolean;
    std::int64_t whole;
    std::uint64_t natural;
    double real;
    std::string* text;
    Elements* elements;
  } held_ = {};
};

/// The events of a parser, in the order of the text; an event that returns false stops the parser.
struct JsonEvents {
  virtual ~JsonEvents() = default;
  /// null, a flag, a number or a text.
  virtual bool scalar(Json value) = 0;
  virtual bool key(std::string& name) = 0;
  virtual bool start_object() = 0;
  virtual bool end_object() = 0;
  virtual bool start_array() = 0;
  virtual bool end_array() = 0;
  virtual bool parse_error(const JsonError&) { return false; }
};

/// Builds a value from the events; text that is not JSON throws JsonError. Derive from it to see the events as well.
class JsonTree : public JsonEvents {
 public:
  /// The value that has been read.
  Json& root() { return root_; }
  /// The open objects and arrays.
  std::size_t depth() const { return open_.size(); }

  bool scalar(Json value) override {
    place(std::move(value));
    return true;
  }
  bool key(std::string& name) override;
  bool start_object() override { return open(Json::object()); }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool start_array() override { return open(Json::array()); }
  bool end_array() override { return JsonTree::end_object(); }
  bool parse_error(const JsonError& error) override { throw error; }

 protected:
  /// Called before each value, objects and arrays included, while depth() counts the enclosing ones.
  virtual void begin_value() {}
  /// The key belongs to the innermost open object.
  bool stands_already(std::string_view key) const { return open_.back()->contains(key); }

 private:
  bool open(Json value);
  Json& place(Json value);

  Json root_;
  std::vector<Json*> open_;
  Json* next_ = nullptr;  ///< the value of the last key
};

/// Reports every value of a text without keeping any. Returns false if it is not JSON or an event stopped it.
bool sax_parse_json(std::string_view text, JsonEvents& events);
bool sax_parse_json(std::istream& bytes, JsonEvents& events);

/// Parses a text; null if it is not JSON. If a key occurs twice, the last value wins.
Json parse_json(std::string_view text);
/// The same, but throws JsonError (nlohmann's message, with the byte).
Json parse_json_or_throw(std::string_view text);

/// Serializes a value, indented by this many columns or on one line (-1). Invalid UTF-8 becomes U+FFFD, numbers that are not
/// finite become null.
std::string dump_json(const Json& json, int indent = -1);

/// The number, or null for NaN and infinities, which JSON lacks.
inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace fedstride
