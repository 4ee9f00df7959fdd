#include "client/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/exact_sum.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

struct Anything {
  template <class Value>
  operator Value() const;
};
template <class... Members>
consteval std::size_t member_count() {
  if constexpr (requires { ClientReport{Members{}..., Anything{}}; })
    return member_count<Members..., Anything>();
  else
    return sizeof...(Members);
}
static_assert(member_count<>() == std::tuple_size_v<decltype(kReportFields)>, "kReportFields lists all members of ClientReport");

template <class Value>
double largest(const ReportField<Value>& field, const ClientReport& report) {
  if (field.of == nullptr) return field.most;
  const auto all = static_cast<double>(report.*field.of);
  return all == 0 || std::isinf(field.most) ? all : field.most;
}

template <class Value>
bool is_possible(const ReportField<Value>& field, const ClientReport& report) {
  const Value number = report.*field.member;
  if constexpr (std::is_integral_v<Value>) return field.of == nullptr || number <= report.*field.of;
  const auto value = static_cast<double>(number);
  if (std::isnan(value)) return !field.is(ReportRule::pooled);
  const double size = field.is(ReportRule::negative) ? std::abs(value) : value;
  return size >= 0 && size <= largest(field, report) && std::isfinite(size);
}

std::string words_of(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string name_of(std::uint64_t ClientReport::*member) {
  std::string name;
  for_each_report_number([&](const auto& field) {
    if constexpr (std::is_same_v<decltype(member), decltype(field.member)>)
      if (field.member == member) name = words_of(field.name);
  });
  return name;
}

}  // namespace

ClientReport sendable(ClientReport report) {
  for_each_report_number([&]<class Value>(const ReportField<Value>& field) {
    if constexpr (std::is_floating_point_v<Value>) {
      if (is_possible(field, report)) return;
      report.*field.member = field.unknown();
      if (field.of != nullptr && field.is(ReportRule::pooled)) report.*field.of = 0;  // an empty sum
    }
  });
  return report;
}

std::string impossible(const ClientReport& report) {
  std::string why;
  for_each_report_number([&](const auto& field) {
    if (!why.empty() || is_possible(field, report)) return;
    const std::string most = number_text(largest(field, report));
    why = "its report has " + words_of(field.name) + " " + number_text(report.*field.member) + "; it must be finite, from " +
          (field.is(ReportRule::negative) ? "-" + most : "0") + " to " + most;
    if (field.of != nullptr) why += ", with " + name_of(field.of) + " " + number_text(report.*field.of);
  });
  return why;
}

ClientReport stripped(const ClientReport& report) {
  ClientReport bare;
  for_each_report_field([&]<class Value>(const ReportField<Value>& field) {
    if (field.is(ReportRule::open))
      bare.*field.member = report.*field.member;
    else if constexpr (std::is_floating_point_v<Value>)
      bare.*field.member = field.unknown();
  });
  return bare;
}

bool is_more_than_stripped(const ClientReport& report) {
  bool is_more = false;
  for_each_report_number([&](const auto& field) {
    const auto number = static_cast<double>(report.*field.member);
    is_more |= !field.is(ReportRule::open) && number != 0 && !std::isnan(number);
  });
  return is_more;
}

ClientReport sum_of(std::span<const ClientReport> reports) {
  ClientReport sum;
  for_each_report_number([&]<class Value>(const ReportField<Value>& field) {
    if constexpr (std::is_floating_point_v<Value>) {
      std::array<ExactTotal, 2> totals;  // of the numbers from 0 up, and of those below 0
      for (const ClientReport& report : reports)
        if (field.adds_up() && is_possible(field, report))
          totals[report.*field.member < 0 ? 1 : 0].add(std::abs(report.*field.member));
      sum.*field.member = totals[0].value() - totals[1].value();
    } else if (field.adds_up()) {
      for (const ClientReport& report : reports) sum.*field.member += report.*field.member;
    }
  });
  double loss = 0;
  double counted = 0;
  for (const ClientReport& report : reports) {
    if (!report.failure.empty()) continue;
    loss += report.loss * static_cast<double>(report.examples);
    counted += static_cast<double>(report.examples);
  }
  sum.loss = counted > 0 ? loss / counted : std::numeric_limits<double>::quiet_NaN();
  return sum;
}

}  // namespace fedstride
