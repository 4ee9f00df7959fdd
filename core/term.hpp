#pragma once

#include <string_view>

namespace fedstride {

/// A member of a value and its name in text. A value with kTerms, a list of Terms, is written and read term by term
/// (core/term_json.hpp). A name such as "_clip" belongs to a Choice that is written as "CHOICE_clip": true.
template <class Owner, class Value>
struct Term {
  std::string_view name;
  Value Owner::*member;
  bool always = false;  ///< always written, and required
};
template <class Owner, class Value>
Term(std::string_view, Value Owner::*) -> Term<Owner, Value>;
template <class Owner, class Value>
Term(std::string_view, Value Owner::*, bool) -> Term<Owner, Value>;

/// A list of Terms: terms(...)(visit) calls visit(all of them).
template <class... T>
constexpr auto terms(const T&... term) {
  return [=](const auto& visit) { visit(term...); };
}

template <class Value>
concept HasTerms = requires {
  Value::kTerms;
};

template <HasTerms Value, class Visit>
constexpr void for_each_term(const Visit& visit) {
  Value::kTerms([&](const auto&... term) { (visit(term), ...); });
}

}  // namespace fedstride
