#include "sim/settings/client_reports.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "sim/run/results.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/reports.hpp"

namespace fedstride::test::client_reports_test {
namespace {

std::vector<ClientReport> reports_of(std::initializer_list<ClientId> clients) {
  std::vector<ClientReport> reports;
  for (const ClientId client : clients) reports.push_back({.client = client, .rows = 3, .steps = client + 1U, .rejected = 1});
  return reports;
}

std::set<ClientId> written(const ClientReports& which, const std::vector<ClientReport>& reports) {
  std::set<ClientId> clients;
  for (const std::size_t place : which.chosen(reports)) clients.insert(reports[place].client);
  return clients;
}

}  // namespace

TEST_CASE("all, none or a number of clients") {
  const auto reports = reports_of({0, 4, 7, 9});
  CHECK(written(ClientReports::of("all", 1), reports) == std::set<ClientId>{0, 4, 7, 9});
  CHECK(written(ClientReports::of("none", 1), reports).empty());
  CHECK(written(ClientReports::of("3", 1), reports).size() == 3);
  CHECK(written(ClientReports::of("4", 1), reports).size() == 4);
  CHECK(written(ClientReports::of("4000000000", 1), reports).size() == 4);
  CHECK(std::ranges::is_sorted(ClientReports::of("3", 1).chosen(reports)));
  for (const char* bad : {"", "some", "0", "-1", "3.5", "3 ", "99999999999", "ALL"})
    CHECK_USAGE_ERROR(ClientReports::of(bad, 1), "client-reports", "'" + std::string(bad) + "'", "all", "none", "1");
}

TEST_CASE("a client that is drawn is drawn in every round it takes part in, and another seed draws others") {
  std::vector<ClientReport> everyone;
  for (ClientId client = 0; client < 1000; ++client) everyone.push_back({.client = client});
  const auto chosen = written(ClientReports::of("100", 5), everyone);
  CHECK(chosen.size() == 100);
  CHECK(written(ClientReports::of("50", 5), everyone).size() == 50);
  for (const ClientId client : written(ClientReports::of("50", 5), everyone)) CHECK(chosen.contains(client));
  CHECK(written(ClientReports::of("100", 6), everyone) != chosen);
  std::vector<ClientReport> some;
  for (ClientId client = 0; client < 1000; client += 2) some.push_back({.client = client});
  for (const ClientId client : chosen)
    if (client % 2 == 0) CHECK(written(ClientReports::of("100", 5), some).contains(client));
}

TEST_CASE("a line that leaves clients out has totals over all of them") {
  RoundRecord record{.round = 1, .clients = reports_of({0, 4, 7, 9})};
  for (ClientReport& report : record.clients) report.learning_rate = 0.5 * (report.client + 1);
  const Json all = parse_json(round_json(record, false));
  CHECK(all.at("clients").size() == 4);
  CHECK_FALSE(all.contains("participants"));
  const Json two = parse_json(round_json(record, false, ClientReports::of("2", 1)));
  CHECK(two.at("clients").size() == 2);
  CHECK(two.at("participants") == 4);
  CHECK(two.at("steps") == 1 + 5 + 8 + 10);
  CHECK(two.at("rejected_steps") == 4);
  CHECK(two.at("rejected_share") == doctest::Approx(4.0 / 24));
  CHECK(two.at("learning_rate") == doctest::Approx(0.5 * (1 + 5 + 8 + 10) / 4));
  const Json none = parse_json(round_json(record, false, ClientReports::of("none", 1)));
  CHECK(none.at("clients").empty());
  CHECK(none.at("steps") == 24);
  CHECK_FALSE(none.contains("gradient_norm"));
}

TEST_CASE("every number that is shown is in a client's entry, and the round's are those of the entries, with them and without") {
  RoundRecord record{
      .round = 1, .test = Evaluation{}, .clients = {full_report(0), full_report(1)}, .example_spent = SpentSoFar{}};
  for (ClientReport& report : record.clients) report.failure.clear();
  const Json line = parse_json(round_json(record, false));
  const Json none = parse_json(round_json(record, false, ClientReports::of("none", 1)));
  ClientTotals totals;
  for (const Json& client : line.at("clients"))
    for (const auto& [name, value] : client.items())
      if (value.is_number()) totals.add(name, value.get<double>());
  std::set<std::string> numbers;
  totals.visit([&](std::string_view name, double value, bool) {
    CAPTURE(name);
    numbers.emplace(name);
    CHECK(none.at(std::string(name)) == value);
  });
  CHECK(numbers.contains("rejected_share"));
  for_each_report_number([&](const auto& field) {
    CAPTURE(field.name);
    const bool is_shown = field.is(ReportRule::shown | ReportRule::with_lots | ReportRule::with_test);
    CHECK(line.at("clients").at(1).contains(std::string(field.name)) == is_shown);
    if (is_shown) CHECK(line.at("clients").at(1).at(std::string(field.name)) == record.clients[1].*field.member);
    if (const std::string name(field.of_round_name()); !name.empty()) CHECK(numbers.contains(name));
  });
  CHECK(line.at("clients").at(0).at("accepted") == record.clients[0].steps - record.clients[0].rejected);
}

}  // namespace fedstride::test::client_reports_test
