#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fedstride {

/// Thrown for text that is not JSON, a value of the wrong kind, and a missing key or element.
struct JsonError : std::runtime_error {
  explicit JsonError(const std::string& what, std::size_t at = 0, bool range = false)
      : std::runtime_error(what), byte(at), out_of_range(range) {}
  std::size_t byte;   ///< the position at which parsing stopped; 0 for a value of the wrong kind
  bool out_of_range;  ///< the error is a number that no double can hold
};

/// A JSON value. An object's members keep their insertion order. nlohmann's library parses and writes the text (core/json.cpp).
/// The library's own class is not used: it adds 1.4 seconds of compile time to each file that uses it, compares a new key with
/// all keys of an ordered object, which hostile files can exploit, and accepts true as a number and a number as a list.
class Json {
 public:
  Json() = default;
  Json(std::nullptr_t) {}  // NOLINT: implicit on purpose, like all of these
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
  /// An object with a map's members.
  template <class Map>
    requires requires { typename Map::mapped_type; }
  Json(const Map& map) : Json(object()) {  // NOLINT
    for (const auto& [key, value] : map) member(key) = Json(value);
  }
  /// An object if every element is an array of a string and a value, otherwise an array.
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

  /// The value as a T: a boolean, a number (converted as in C++), a string, or a list of these. Throws JsonError for any other
  /// kind.
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
  /// Throws JsonError unless the value is a string.
  const std::string& text() const;

  /// The elements of an array or the values of an object; other kinds have none.
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
  /// The value of the key, or `otherwise`. Throws JsonError unless this is an object.
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
  /// Adds the other object's members, replacing existing ones.
  void update(const Json& other);

  /// The members of an object: `for (const auto& [key, value] : json.items())`.
  struct Member {
    const std::string& key;
    const Json& value;
  };
  std::vector<Member> items() const;

  /// Numbers are equal if their values are; the order of an object's members does not matter.
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

/// Builds a value from a parser's events, in the order of the text. Derive from this class to see keys and nesting as well.
class JsonTree {
 public:
  virtual ~JsonTree() = default;

  /// The value that has been read.
  Json& root() { return root_; }
  /// The number of open objects and arrays.
  std::size_t depth() const { return open_.size(); }

  virtual void key(std::string& name) { next_ = &(*open_.back())[name]; }
  /// An empty object or array begins.
  virtual void open(Json value) { open_.push_back(&place(std::move(value))); }
  void close() { open_.pop_back(); }
  /// Null, a boolean, a number, a string or what open() begins.
  Json& place(Json value);

 protected:
  /// True if the innermost open object already has the key.
  bool stands_already(std::string_view key) const { return open_.back()->contains(key); }

 private:
  Json root_;
  std::vector<Json*> open_;
  Json* next_ = nullptr;  ///< the value of the last key
};

/// Parses text into the tree. Throws JsonError, with nlohmann's message and the byte position, if it is not JSON.
void parse_json(std::string_view text, JsonTree& tree);

/// Parses text; returns null if it is not JSON. If a key occurs twice, the last value wins.
Json parse_json(std::string_view text);
/// The same, but throws JsonError with nlohmann's message and the byte position.
Json parse_json_or_throw(std::string_view text);

/// Serializes a value, indented by this many columns or on one line (-1). Invalid UTF-8 becomes U+FFFD, and numbers that are not
/// finite become null.
std::string dump_json(const Json& json, int indent = -1);

/// The number, or null for NaN and infinities, which JSON lacks.
inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace fedstride
