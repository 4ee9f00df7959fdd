#include "core/json.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace fedstride {

/// The values of an array or an object; an object's values have keys, in the same order.
struct Json::Elements {
  static constexpr std::size_t kLinear = 16;  ///< up to this many keys are searched linearly

  using Places = std::map<std::string, std::size_t, std::less<>>;

  std::vector<Json> values = {};
  std::vector<std::string> keys = {};
  std::unique_ptr<Places> places = {};  ///< index of the keys; null while there are at most kLinear

  Elements() = default;
  Elements(const Elements& other)
      : values(other.values), keys(other.keys), places(other.places ? std::make_unique<Places>(*other.places) : nullptr) {}

  /// Returns values.size() if the key is missing.
  std::size_t find(std::string_view key) const {
    if (!places) return static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
    const auto found = places->find(key);
    return found == places->end() ? keys.size() : found->second;
  }
  Json& add(std::string_view key) {
    keys.emplace_back(key);
    if (places)
      places->emplace(keys.back(), keys.size() - 1);
    else if (keys.size() > kLinear)
      look_up();
    return values.emplace_back();
  }
  void erase(std::size_t place) {
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(place));
    keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(place));
    if (places) look_up();
  }

 private:
  void look_up() {
    places = std::make_unique<Places>();
    for (std::size_t i = 0; i < keys.size(); ++i) places->emplace(keys[i], i);
  }
};

Json::Json(const Json& other) : kind_(other.kind_), held_(other.held_) {
  if (kind_ == Kind::text) held_.text = new std::string(*other.held_.text);
  if (is_structured()) held_.elements = new Elements(*other.held_.elements);
}

Json::Json(std::string text) : kind_(Kind::text) { held_.text = new std::string(std::move(text)); }

Json::Json(std::initializer_list<Json> list) {
  const bool is_object =
      std::ranges::all_of(list, [](const Json& one) { return one.is_array() && one.size() == 2 && one.begin()->is_string(); });
  make(is_object ? Kind::object : Kind::array);
  if (!is_object) held_.elements->values = list;
  if (is_object)
    for (const Json& pair : list)
      if (const std::string& key = pair.begin()->text(); !contains(key)) member(key) = pair.back();
}

Json Json::array(std::initializer_list<Json> list) {
  Json json;
  json.make(Kind::array).values = list;
  return json;
}

Json Json::object() {
  Json json;
  json.make(Kind::object);
  return json;
}

Json::Elements& Json::make(Kind kind) {
  held_.elements = new Elements;
  kind_ = kind;
  return *held_.elements;
}

// Moves nested values out one by one, because text may nest them deeper than the call stack allows.
void Json::release() noexcept {
  if (kind_ == Kind::text) {
    delete held_.text;
    return;
  }
  std::vector<Json> left;
  const auto take = [&](Elements& elements) {
    for (Json& value : elements.values)
      if (value.is_structured() && !value.empty()) left.push_back(std::move(value));
  };
  take(*held_.elements);
  delete held_.elements;
  while (!left.empty()) {
    const Json one = std::move(left.back());
    left.pop_back();
    take(*one.held_.elements);
  }
}

const std::string& Json::text() const {
  if (kind_ != Kind::text) throw JsonError("expected a string");
  return *held_.text;
}

bool Json::flag() const {
  if (kind_ != Kind::boolean) throw JsonError("expected true or false");
  return held_.boolean;
}

double Json::number() const {
  if (kind_ != Kind::real) throw JsonError("expected a number");
  return held_.real;
}

const Json& Json::list_itself() const {
  if (kind_ != Kind::array) throw JsonError("expected an array");
  return *this;
}

std::size_t Json::size() const { return is_structured() ? held_.elements->values.size() : 0; }

const Json* Json::begin() const { return is_structured() ? held_.elements->values.data() : nullptr; }

const Json* Json::find(std::string_view key) const { return is_object() ? begin() + held_.elements->find(key) : end(); }

const Json& Json::at(std::size_t place) const {
  if (!is_array() || place >= size()) throw JsonError("there is no element " + std::to_string(place));
  return begin()[place];
}

const Json& Json::at(std::string_view key) const {
  const Json* found = find(key);
  if (found == end()) throw JsonError("there is no \"" + std::string(key) + "\"");
  return *found;
}

Json Json::value(std::string_view key, Json otherwise) const {
  if (!is_object()) throw JsonError("expected an object");
  const Json* found = find(key);
  if (found != end()) return *found;
  return otherwise;
}

Json& Json::member(std::string_view key) {
  if (is_null()) make(Kind::object);
  if (!is_object()) throw JsonError("expected an object");
  const std::size_t place = held_.elements->find(key);
  return place < size() ? begin()[place] : held_.elements->add(key);
}

void Json::push_back(Json value) {
  if (is_null()) make(Kind::array);
  if (!is_array()) throw JsonError("expected an array");
  held_.elements->values.push_back(std::move(value));
}

void Json::erase(std::string_view key) {
  if (const Json* found = find(key); found != end()) held_.elements->erase(static_cast<std::size_t>(found - begin()));
}

void Json::update(const Json& other) {
  for (const auto& [key, value] : other.items()) member(key) = value;
}

std::vector<Json::Member> Json::items() const {
  std::vector<Member> members;
  for (std::size_t i = 0; is_object() && i < size(); ++i) members.push_back({held_.elements->keys[i], begin()[i]});
  return members;
}

bool operator==(const Json& a, const Json& b) {
  using Kind = Json::Kind;
  if (a.is_number() && b.is_number()) {
    if (a.kind_ == Kind::real || b.kind_ == Kind::real) return a.get<double>() == b.get<double>();
    if (a.kind_ != b.kind_ && (a.kind_ == Kind::whole ? a.held_.whole : b.held_.whole) < 0) return false;
    return a.held_.natural == b.held_.natural;
  }
  if (a.kind_ != b.kind_) return false;
  if (a.kind_ == Kind::boolean) return a.held_.boolean == b.held_.boolean;
  if (a.kind_ == Kind::text) return *a.held_.text == *b.held_.text;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), b.end());
  if (!a.is_object()) return true;
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.items())
    if (const Json* found = b.find(key); found == b.end() || !(*found == value)) return false;
  return true;
}

Json& JsonTree::place(Json value) {
  if (open_.empty()) return root_ = std::move(value);
  if (open_.back()->is_object()) return *next_ = std::move(value);
  open_.back()->push_back(std::move(value));
  return open_.back()->back();
}

namespace {

using Library = nlohmann::ordered_json;

/// Forwards the library's events.
class Events final : public nlohmann::json_sax<Library> {
 public:
  explicit Events(JsonTree& to) : to_(to) {}
  bool null() override { return place(nullptr); }
  bool boolean(bool value) override { return place(value); }
  bool number_integer(number_integer_t value) override { return place(value); }
  bool number_unsigned(number_unsigned_t value) override { return place(value); }
  bool number_float(number_float_t value, const std::string&) override { return place(value); }
  bool string(std::string& value) override { return place(std::move(value)); }
  bool binary(Library::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool key(std::string& name) override {
    to_.key(name);
    return true;
  }
  bool end_object() override { return end_array(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override {
    to_.close();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Library::exception& error) override {
    constexpr int kNumberOutOfRange = 406;
    throw JsonError(error.what(), position, error.id == kNumberOutOfRange);
  }

 private:
  bool place(Json value) {
    to_.place(std::move(value));
    return true;
  }
  bool open(Json value) {
    to_.open(std::move(value));
    return true;
  }

  JsonTree& to_;
};

Library library_value(const Json& json) {
  if (json.is_string()) return json.text();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_null()) return nullptr;
  Library all = json.is_object() ? Library::object() : Library::array();
  if (json.is_array())
    for (const Json& value : json) all.push_back(library_value(value));
  for (const auto& [key, value] : json.items()) all.get_ref<Library::object_t&>().emplace_back(key, library_value(value));
  return all;
}

}  // namespace

void parse_json(std::string_view text, JsonTree& tree) {
  Events events(tree);
  Library::sax_parse(text, &events);
}

Json parse_json_or_throw(std::string_view text) {
  JsonTree tree;
  parse_json(text, tree);
  return std::move(tree.root());
}

Json parse_json(std::string_view text) {
  try {
    return parse_json_or_throw(text);
  } catch (const JsonError&) {
    return nullptr;
  }
}

std::string dump_json(const Json& json, int indent) {
  return library_value(json).dump(indent, ' ', false, Library::error_handler_t::replace);
}

}  // namespace fedstride
