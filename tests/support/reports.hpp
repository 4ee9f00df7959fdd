#pragma once

#include <cmath>
#include <string>

#include "core/client_report.hpp"

namespace fedstride::test {

/// A report in which no member has its initial value or that of another, or that of another seed.
inline ClientReport full_report(unsigned seed = 0) {
  ClientReport report;
  unsigned number = 100 * (seed + 1);
  for_each_report_field([&]<class Value>(const ReportField<Value>& field) {
    ++number;
    if constexpr (field.kIsNumber)
      report.*field.member = static_cast<Value>(number);
    else if constexpr (std::is_same_v<Value, std::string>)
      report.*field.member = std::to_string(number);
    else
      report.*field.member = {{number + 0.5, 0.25, number}, {2, 3, 4}};
  });
  return report;
}

/// The names of the members in which two reports differ; NaN is like NaN.
inline std::string differences(const ClientReport& a, const ClientReport& b) {
  std::string names;
  for_each_report_field([&]<class Value>(const ReportField<Value>& field) {
    const Value &one = a.*field.member, &other = b.*field.member;
    if (one != other && (one == one || other == other)) names += std::string(field.name) + " ";
  });
  return names;
}

}  // namespace fedstride::test
