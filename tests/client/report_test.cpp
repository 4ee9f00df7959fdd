// Over the list: a number that is added to it is checked, hidden and added up by its own line.
#include "client/report.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

#include "tests/support/refusal.hpp"
#include "tests/support/reports.hpp"

namespace fedstride::test::report_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A report with one number, of one if it is some of anything.
template <class Value>
ClientReport with(const ReportField<Value>& field, Value value, std::uint64_t of = 1) {
  ClientReport report;
  if (field.of != nullptr) {
    report.*field.of = of;
    for_each_report_number([&](const auto& other) {  // that is some of another
      if constexpr (std::is_same_v<decltype(other.member), decltype(field.of)>)
        if (other.member == field.of && other.of != nullptr) report.*other.of = of;
    });
  }
  report.*field.member = value;
  return report;
}

std::string words_of(std::string_view name) {
  std::string words(name);
  for (char& c : words) c = c == '_' ? ' ' : c;
  return words;
}

}  // namespace

TEST_CASE("every member has a name of its own and words; rounds have sums of counts and means of other numbers") {
  std::set<std::string_view> names, numbers;
  for_each_report_field([&](const auto& field) {
    CAPTURE(field.name);
    CHECK(names.insert(field.name).second);
    CHECK_FALSE(field.text.empty());
    CHECK_FALSE((field.is(ReportRule::summed) && field.is(ReportRule::averaged)));
    if (!field.of_round_name().empty()) {
      CHECK(numbers.insert(field.of_round_name()).second);
      CHECK((field.is(ReportRule::shown) || field.is(ReportRule::with_lots)));
    }
    if (field.is(ReportRule::summed)) CHECK(field.adds_up());
    if (field.is(ReportRule::secured)) CHECK((field.adds_up() || field.name == "loss"));
  });
  CHECK(names.size() > 20);
}

TEST_CASE("a number beyond its range is impossible, and sent as none; one at its end is kept") {
  CHECK(impossible(ClientReport{}) == "");
  for_each_report_number([&]<class Value>(const ReportField<Value>& field) {
    CAPTURE(field.name);
    const auto check_refused = [&](const ClientReport& report) {
      CHECK(names(impossible(report), {words_of(field.name)}));
      const ClientReport sent = sendable(report);
      CHECK(impossible(sent) == "");
      CHECK((field.is(ReportRule::pooled) ? sent.*field.member == 0 : std::isnan(static_cast<double>(sent.*field.member))));
    };
    const auto check_kept = [&](const ClientReport& report) {
      CHECK(impossible(report) == "");
      CHECK(differences(sendable(report), report) == "");
    };
    if constexpr (std::is_floating_point_v<Value>) {
      const bool is_any = std::isinf(field.most) && field.of == nullptr;
      const double most = is_any ? std::numeric_limits<double>::max() : std::isinf(field.most) ? 1 : field.most;
      check_kept(with(field, most));
      check_refused(with(field, kInfinity));
      check_refused(with(field, -kInfinity));
      if (!is_any) check_refused(with(field, std::nextafter(most, kInfinity)));
      if (field.is(ReportRule::negative))
        check_kept(with(field, -most));
      else
        check_refused(with(field, -1e-300));
      if (field.is(ReportRule::pooled))
        check_refused(with(field, kNan));
      else
        check_kept(with(field, kNan));
      if (field.of != nullptr) check_refused(with(field, 0.5, 0));
    } else if (field.of != nullptr) {
      check_kept(with(field, Value{3}, 3));
      CHECK(names(impossible(with(field, Value{4}, 3)), {words_of(field.name), "4", "to 3"}));
    }
  });
}

TEST_CASE("a sum that cannot be sent is one of none") {
  const ClientReport sent = sendable({.steps = 5, .statistic = kInfinity, .statistics = 4, .alignment = 9, .pairs = 3});
  CHECK(sent.statistics + sent.pairs == 0);
  CHECK(sent.steps == 5);
}

TEST_CASE("under secure aggregation a report has what is open, and any other number is one too many") {
  const ClientReport full = full_report();
  const ClientReport bare = stripped(full);
  CHECK_FALSE(is_more_than_stripped(bare));
  CHECK_FALSE(is_more_than_stripped({}));
  for_each_report_field([&]<class Value>(const ReportField<Value>& field) {
    CAPTURE(field.name);
    const bool is_open = field.is(ReportRule::open);
    if (is_open) CHECK(bare.*field.member == full.*field.member);
    ClientReport one = bare;
    one.*field.member = full.*field.member;
    if constexpr (field.kIsNumber) CHECK(is_more_than_stripped(one) == !is_open);
  });
}

TEST_CASE("sums of reports have what adds up, in whatever order, without what is impossible") {
  std::vector<ClientReport> reports;
  for (unsigned client = 0; client < 3; ++client) {
    ClientReport& report = reports.emplace_back();
    for_each_report_number(
        [&]<class Value>(const ReportField<Value>& field) { report.*field.member = static_cast<Value>(client + 1); });
  }
  reports[1].within = -4;
  const ClientReport sum = sum_of(reports);
  for_each_report_number([&](const auto& field) {
    CAPTURE(field.name);
    const double all = field.name == "within" ? 0 : 6;
    if (field.name != "loss") CHECK(static_cast<double>(sum.*field.member) == (field.adds_up() ? all : 0));
  });
  CHECK(sum.loss == (1 * 1 + 2 * 2 + 3 * 3) / 6.0);
  reports[1].measure = kInfinity;
  reports[2].expected = kNan;
  const ClientReport less = sum_of(reports);
  CHECK(less.measure == 4);
  CHECK(less.expected == 3);
  reports[2].failure = "too late";
  CHECK(sum_of(reports).loss == (1 * 1 + 2 * 2) / 3.0);
  CHECK(std::isnan(sum_of({}).loss));
}

}  // namespace fedstride::test::report_test
