#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/choice.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/task.hpp"
#include "core/term.hpp"
#include "core/text.hpp"

namespace fedstride {

// The text form of values that list their terms (core/term.hpp): a JSON object with the terms that differ from a base, by name.
// To add a term, add a line to the list; unknown terms are rejected. Sizes are checked before memory is allocated.

inline constexpr std::uint64_t kMaxTermCount = std::uint64_t{1} << 40;
inline constexpr std::size_t kMaxTermList = 1000;

inline Json term_json(double value) {
  if (!std::isfinite(value)) throw failure("a term must be finite, but it is " + number_text(value));
  return value;
}
template <class Value>
  requires(std::is_enum_v<Value>)
Json term_json(Value value) { return choice_name(value); }
template <class Value>
  requires(std::integral<Value> || std::same_as<Value, std::string>)
Json term_json(const Value& value) { return value; }
template <class Value>
Json term_json(const std::vector<Value>& list) {
  Json json = Json::array();
  for (const Value& one : list) json.push_back(term_json(one));
  return json;
}
inline Json term_json(const std::map<std::string, std::string>& map) { return Json(map); }
/// "0-4,7": ranges of consecutive clients, ascending.
Json term_json(const std::vector<ClientId>& clients);
/// [noise multiplier, clip, count].
inline Json term_json(const ReleaseRun& run) {
  Json list = Json::array();
  list.push_back(term_json(run.noise_multiplier));
  list.push_back(term_json(run.clip));
  list.push_back(run.count);
  return list;
}

template <HasTerms Value>
Json term_json(const Value& value, const Value& base = {}) {
  Json json = Json::object();
  for_each_term<Value>([&]<class Member>(const Term<Value, Member>& term) {
    const Member& own = value.*term.member;
    if (!term.always && own == base.*term.member) return;
    if constexpr (Choice<Member>)
      if (term.name.starts_with('_')) return void(json[std::string(choice_name(own)) + std::string(term.name)] = true);
    if constexpr (HasTerms<Member>)
      json[std::string(term.name)] = term_json(own, base.*term.member);
    else
      json[std::string(term.name)] = term_json(own);
  });
  return json;
}

/// Parses text as a JSON object. Throws Error (failure) for anything else, and for brackets nested more than 8 deep.
Json parse_terms(std::string_view text);

/// Reads what term_json() writes. All functions throw Error (failure), naming the term.
class TermReader {
 public:
  /// `clients` is the number of clients in a ledger. A reader accepts lists of at most four times as many clients in total,
  /// because a few characters can list all of them.
  explicit TermReader(std::uint64_t clients = 0) : clients_(clients), left_(4 * clients) {}

  void read(const Json& json, std::string_view name, double& into) {
    if (!json.is_number()) throw not_a(name, "a number");
    into = json.get<double>();
  }
  void read(const Json& json, std::string_view name, float& into) {
    double number = 0;
    read(json, name, number);
    into = static_cast<float>(number);
  }
  void read(const Json& json, std::string_view name, bool& into) {
    if (!json.is_boolean()) throw not_a(name, "true or false");
    into = json.get<bool>();
  }
  void read(const Json& json, std::string_view name, std::string& into) {
    if (!json.is_string()) throw not_a(name, "a string");
    into = json.get<std::string>();
  }
  template <std::integral Value>
  void read(const Json& json, std::string_view name, Value& into) {
    const std::uint64_t most = std::min<std::uint64_t>(kMaxTermCount, std::numeric_limits<Value>::max());
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most)
      throw not_a(name, "a whole number up to " + std::to_string(most));
    into = static_cast<Value>(json.get<std::uint64_t>());
  }
  template <class Value>
    requires(std::is_enum_v<Value>)
  void read(const Json& json, std::string_view name, Value& into) {
    std::string word;
    read(json, name, word);
    into = make_choice<Value>(std::string(name), word);
  }
  void read(const Json& json, std::string_view name, std::map<std::string, std::string>& into) {
    if (!json.is_object() || json.size() > kMaxTermList)
      throw not_a(name, "an object of at most " + std::to_string(kMaxTermList) + " strings");
    for (const auto& [key, value] : json.items()) read(value, key, into[key]);
  }
  void read(const Json& json, std::string_view name, std::vector<ClientId>& into);
  void read(const Json& json, std::string_view name, ReleaseRun& into) {
    if (!json.is_array() || json.size() != 3) throw not_a(name, "a list of [noise multiplier, clip, count]");
    read(json[0], "noise multiplier", into.noise_multiplier);
    read(json[1], "clip", into.clip);
    read(json[2], "count", into.count);
  }
  template <class Value>
  void read(const Json& json, std::string_view name, std::vector<Value>& into) {
    if (!json.is_array()) throw not_a(name, "a list");
    into.clear();
    for (const Json& one : json) read(one, name, into.emplace_back());
  }
  /// Sets the terms that are present; the others keep their values.
  template <HasTerms Value>
  void read(const Json& json, std::string_view name, Value& into) {
    if (!json.is_object()) throw not_a(name, "a JSON object");
    std::vector<std::string> names;
    std::size_t known = 0;
    for_each_term<Value>([&]<class Member>(const Term<Value, Member>& term) {
      if constexpr (Choice<Member>)
        if (term.name.starts_with('_')) {
          for (const std::string_view choice : kChoiceNames<Member>) {
            names.push_back(std::string(choice) + std::string(term.name));
            if (json.value(names.back(), Json()) != Json(true)) continue;
            into.*term.member = *find_choice<Member>(choice);
            ++known;
          }
          return;
        }
      names.emplace_back(term.name);
      const auto found = json.find(names.back());
      if (found == json.end() && term.always) throw failure("'" + names.back() + "' is missing");
      if (found == json.end()) return;
      ++known;
      read(*found, term.name, into.*term.member);
    });
    if (known == json.size()) return;
    for (const auto& [key, value] : json.items())
      if (std::ranges::find(names, key) == names.end())
        throw failure(unknown_name("term of '" + std::string(name) + "'", key, names));
  }

 private:
  static Error not_a(std::string_view name, const std::string& kind) {
    return failure("'" + std::string(name) + "' is not " + kind);
  }

  std::uint64_t clients_;
  std::uint64_t left_;
};

}  // namespace fedstride
