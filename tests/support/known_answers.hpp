#pragma once

#include <doctest/doctest.h>

#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "core/part.hpp"

namespace fedstride::test {

/// By the name of a part, what it gives for inputs that are the same for all: numbers worked out from its paper, by hand or by another
/// program than this one.
template <class Answer>
using KnownAnswers = std::map<std::string_view, Answer>;

/// Calls check(part, answer) for every part of the registry of Family, a Chosen<...>. A part that has no answer fails.
template <class Family, class Answer, class Check>
void for_each_known(const KnownAnswers<Answer>& answers, const Check& check,
                    const std::source_location& place = std::source_location::current()) {
  const std::string_view path = place.file_name();
  for (const std::string& name : Family::registry().names()) {
    const std::string part = std::string(Family::registry().key()) + " '" + name + "'";
    const auto known = answers.find(name);
    CHECK_MESSAGE(known != answers.end(), part, " has no known answer; work it out from the paper and write a line {\"", name,
                  "\", ...} in kKnown of ", path.substr(path.rfind("tests/")));
    if (known == answers.end()) continue;
    INFO(part, " does not give its known answer");
    Family chosen;
    chosen.choose(name);
    check(chosen, known->second);
  }
}

/// Sets the part's setting of that name, if it has one.
template <class Family>
void set_if_there(Family& chosen, std::string_view setting, const SettingValue& value) {
  if (const SettingInfo* info = chosen.part().find(setting)) chosen.part().set(*info, value);
}

/// Single precision's rounding apart.
inline void check_close(const std::vector<double>& values, const std::vector<double>& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == doctest::Approx(expected[i]).epsilon(2e-6));
}

}  // namespace fedstride::test
