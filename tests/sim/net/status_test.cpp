#include "sim/net/status.hpp"
#include "tests/support/json.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace fedstride::test::status_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

FederationStatus made(std::uint32_t rounds, std::uint32_t clients) {
  FederationStatus status{.version = "1.0",
                          .title = "cifar10, adadp-cnn",
                          .folder = "results/one",
                          .state = "round " + std::to_string(rounds + 1),
                          .rounds = rounds + 100,
                          .done = rounds,
                          .seconds_running = 1000,
                          .seconds_in_round = 12.5,
                          .deadline = 60,
                          .received = 123456789,
                          .refused = 3};
  status.privacy = {{"example", 3.25, 1e-5, 8, true}, {"client", 1.5, 1e-3, 0, false}};
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    RoundPoint point{.round = round, .train_loss = 2.0 / round, .seconds = 10, .answered = clients, .missing = 1};
    if (round % 2 == 0) point.accuracy = 0.1 + 0.8 * round / rounds;
    status.points.push_back(point);
  }
  for (ClientId k = 0; k < clients; ++k)
    status.clients.push_back({.client = k, .connected = true, .address = "10.0.0.1:" + std::to_string(40000 + k)});
  return status;
}

struct Sample {
  std::string name = {};
  std::map<std::string, std::string> labels = {};
  double value = 0;
};

/// Removes and returns the longest prefix of these characters.
std::string taken(std::string_view& text, std::string_view characters) {
  const std::string part(text.substr(0, text.find_first_not_of(characters)));
  text.remove_prefix(part.size());
  return part;
}

void expect(std::string_view& text, std::string_view part) {
  REQUIRE(text.starts_with(part));
  text.remove_prefix(part.size());
}

constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyz_0123456789";

std::string taken_label_value(std::string_view& text) {
  std::string value;
  for (expect(text, "\""); !text.starts_with('"'); text.remove_prefix(1)) {
    REQUIRE(!text.empty());
    if (text[0] == '\\') {
      text.remove_prefix(1);
      REQUIRE(!text.empty());
      REQUIRE(std::string_view("\\\"n").find(text[0]) != std::string_view::npos);
      value += text[0] == 'n' ? '\n' : text[0];
    } else {
      value += text[0];
    }
  }
  expect(text, "\"");
  return value;
}

Sample parsed_sample(std::string_view line) {
  Sample sample{.name = taken(line, kNameCharacters)};
  if (line.starts_with('{')) {
    do {
      line.remove_prefix(1);
      const std::string label = taken(line, kNameCharacters);
      expect(line, "=");
      CHECK(sample.labels.emplace(label, taken_label_value(line)).second);
    } while (line.starts_with(','));
    expect(line, "}");
  }
  expect(line, " ");
  if (line == "NaN" || line == "+Inf" || line == "-Inf") {
    sample.value = line == "NaN" ? kNan : std::stod(std::string(line));
    return sample;
  }
  REQUIRE(line.find_first_not_of("0123456789.e+-") == line.npos);
  std::size_t used = 0;
  sample.value = std::stod(std::string(line), &used);
  CHECK(used == line.size());
  return sample;
}

/// Parses every line of the text format; an invalid line fails a check.
std::vector<Sample> parsed_metrics(const std::string& text) {
  std::vector<Sample> samples;
  std::set<std::string> described, series;
  std::string name;
  std::istringstream lines(text);
  CHECK(text.ends_with('\n'));
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    std::string_view rest = line;
    if (rest.starts_with("# HELP")) {
      expect(rest, "# HELP ");
      name = taken(rest, kNameCharacters);
      CHECK(name.starts_with("fedstride_"));
      CHECK(described.insert(name).second);
      CHECK(rest.size() > 1);
      CHECK(rest.find('\\') == rest.npos);
      REQUIRE(std::getline(lines, line));
      rest = line;
      expect(rest, "# TYPE " + name);
      CHECK(rest == (name.ends_with("_total") ? " counter" : " gauge"));
    } else {
      samples.push_back(parsed_sample(rest));
      CHECK(samples.back().name == name);
      CHECK(series.insert(line.substr(0, line.rfind(' '))).second);
    }
  }
  return samples;
}

const Sample& found_sample(const std::vector<Sample>& samples, const std::string& name, const std::string& label = "",
                           const std::string& value = "") {
  const auto found = std::find_if(samples.begin(), samples.end(), [&](const Sample& sample) {
    return sample.name == "fedstride_" + name && (label.empty() || sample.labels.at(label) == value);
  });
  if (found == samples.end()) throw std::runtime_error("no sample of " + name);
  return *found;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++times;
  return times;
}

std::string tags(const std::string& html) {
  std::string all;
  for (auto at = html.find('<'); at != html.npos; at = html.find('<', at + 1))
    all += html.substr(at, html.find('>', at) - at) + "\n";
  return all;
}

TEST_CASE("the JSON status has every number under its name") {
  auto status = made(4, 2);
  status.clients[1].in_cohort = true;
  status.clients[1].seconds_waiting = 7.5;
  status.clients[1].trouble = "timed out";
  const auto json = Json::parse(status_json(status));
  CHECK(json["state"] == "round 5");
  CHECK(json["rounds"] == 104);
  CHECK(json["received"] == 123456789);
  CHECK(json["privacy"][0]["epsilon"] == 3.25);
  CHECK(json["privacy"][0]["seeded"] == true);
  CHECK(json["points"].size() == 4);
  CHECK(json["points"][3]["accuracy"] == doctest::Approx(0.9));
  CHECK(json["clients"][1]["seconds_waiting"] == 7.5);
  CHECK(json["clients"][1]["trouble"] == "timed out");
  CHECK(json["clients"][0]["address"] == "10.0.0.1:40000");
}

TEST_CASE("NaN is null in JSON, NaN in the metrics, and does not appear on the page") {
  auto status = made(4, 1);
  status.points[3].train_loss = kNan;
  status.points[3].accuracy = kNan;
  status.privacy[0].epsilon = std::numeric_limits<double>::infinity();
  const auto json = Json::parse(status_json(status));
  CHECK(json["points"][0]["accuracy"].is_null());
  CHECK(json["points"][3]["accuracy"].is_null());
  CHECK(json["points"][3]["train_loss"].is_null());
  CHECK(json["privacy"][0]["epsilon"].is_null());
  const auto samples = parsed_metrics(status_metrics(status));
  CHECK(std::isnan(found_sample(samples, "train_loss").value));
  CHECK(std::isinf(found_sample(samples, "privacy_epsilon", "level", "example").value));
  CHECK(count(status_page(status), "nan") == 0);
}

TEST_CASE("every line of the metrics is valid Prometheus text format") {
  auto status = made(10, 3);
  status.clients[2].connected = false;
  status.clients[2].received = 18446744073709551615u;
  const auto samples = parsed_metrics(status_metrics(status));
  CHECK(found_sample(samples, "rounds_done_total").value == 10);
  CHECK(found_sample(samples, "test_accuracy_ratio").value == doctest::Approx(0.9));
  CHECK(found_sample(samples, "clients_connected").value == 2);
  CHECK(found_sample(samples, "client_connected", "client", "2").value == 0);
  CHECK(found_sample(samples, "client_received_bytes_total", "client", "2").value == 18446744073709551615.0);
  CHECK(found_sample(samples, "privacy_epsilon_budget", "level", "example").value == 8);
  CHECK(std::isinf(found_sample(samples, "privacy_epsilon_budget", "level", "client").value));
  parsed_metrics(status_metrics(FederationStatus{}));
}

TEST_CASE("R2 is shown under its own name and not in percent") {
  auto status = made(4, 2);
  for (RoundPoint& point : status.points) {
    point.metric = "R2";
    if (point.accuracy) point.accuracy = -0.25;
  }
  const Json json = Json::parse(status_json(status));
  CHECK(json["points"][3]["r2"] == -0.25);
  CHECK_FALSE(json["points"][3].contains("accuracy"));
  CHECK(found_sample(parsed_metrics(status_metrics(status)), "test_r2_ratio").value == -0.25);
  const std::string page = status_page(status);
  CHECK(count(page, "accuracy") == 0);
  CHECK(count(page, "Test R2") >= 1);
  CHECK(count(page, "-0.2500") >= 1);
}

TEST_CASE("certificate expiry is in JSON and metrics, and on the page from thirty days before") {
  auto status = made(4, 2);
  status.now = 1'800'000'000;
  CHECK(Json::parse(status_json(status))["certificate_expires"].is_null());
  CHECK(status_metrics(status).find("expiry") == std::string::npos);
  status.certificate_expires = status.now + 40 * 86400;
  status.clients[1].certificate_expires = status.now + 40 * 86400 + 1;
  CHECK(Json::parse(status_json(status))["certificate_expires"] == status.certificate_expires);
  CHECK(Json::parse(status_json(status))["clients"][1]["certificate_expires"] == status.clients[1].certificate_expires);
  CHECK(Json::parse(status_json(status))["clients"][0]["certificate_expires"].is_null());
  const auto samples = parsed_metrics(status_metrics(status));
  CHECK(found_sample(samples, "certificate_expiry_timestamp_seconds").value == 1'800'000'000 + 40 * 86400);
  CHECK(found_sample(samples, "client_certificate_expiry_timestamp_seconds", "client", "1").value ==
        1'800'000'000 + 40 * 86400 + 1);
  const std::string end = "2027-02-24 08:00 UTC";
  CHECK(count(status_page(status), end) == 0);
  status.now += 11 * 86400;
  CHECK(count(status_page(status), end) == 2);  // above the figures, and in the client's row
  CHECK(count(status_page(status), "29 days") == 2);
}

TEST_CASE("hostile text changes no tag of the page and no line of the metrics") {
  const std::string hostile = "</title><script>alert(\"1\")</script>'&\n# TYPE x\\ \x01";
  const auto plain = made(6, 2);
  auto status = plain;
  status.version = status.title = status.folder = hostile;
  status.privacy[0].level = hostile;
  status.clients[0].address = status.clients[1].trouble = hostile;
  CHECK(tags(status_page(status)) == tags(status_page(plain)));
  CHECK(count(status_page(status), "&lt;script&gt;") >= 6);
  const auto samples = parsed_metrics(status_metrics(status));
  CHECK(found_sample(samples, "info").labels.at("title") == hostile);
  CHECK(found_sample(samples, "privacy_epsilon", "level", hostile).value == 3.25);
  CHECK(Json::parse(status_json(status))["clients"][1]["trouble"] == hostile);

  status.title = "caf\xe9 \xff";
  CHECK(Json::parse(status_json(status))["title"] == "caf\xef\xbf\xbd \xef\xbf\xbd");
  CHECK(found_sample(parsed_metrics(status_metrics(status)), "info").labels.at("title") == "caf\xef\xbf\xbd \xef\xbf\xbd");
}

TEST_CASE("page and metrics say when a client was last heard, free disk space and the certificate's last days") {
  auto status = made(6, 3);
  status.clients[1].connected = false;
  status.clients[1].seconds_silent = 185;
  status.clients[2].connected = false;
  status.disk_free = 2'500'000'000;
  status.now = 1'000'000;
  status.certificate_expires = status.now + 40 * 86400 + 2 * 3600;
  const std::string page = status_page(status);
  CHECK(count(page, "away, seen 3 min 05 s ago") == 1);
  CHECK(count(page, ", seen ") == 1);
  CHECK(count(page, "<dt>disk free</dt><dd>2.5 GB</dd>") == 1);
  CHECK(count(page, "<dt>certificate valid for</dt><dd>40 d 2 h</dd>") == 1);
  const auto samples = parsed_metrics(status_metrics(status));
  CHECK(found_sample(samples, "disk_free_bytes").value == 2.5e9);
  CHECK(found_sample(samples, "client_silent_seconds", "client", "1").value == 185);
  CHECK(std::isnan(found_sample(samples, "client_silent_seconds", "client", "2").value));
  CHECK(Json::parse(status_json(status))["disk_free"] == 2'500'000'000);
}

TEST_CASE("a client's metrics are valid, under the coordinator's names where they mean the same") {
  const MemberReport report{.version = "1.0",
                            .client = 3,
                            .joined = true,
                            .last_round = 7,
                            .seconds_silent = 1.5,
                            .memory = 1000,
                            .disk_free = 2000,
                            .certificate_expires = 1'900'000'000};
  const auto samples = parsed_metrics(member_metrics(report));
  CHECK(found_sample(samples, "info").labels.at("client") == "3");
  CHECK(found_sample(samples, "joined").value == 1);
  CHECK(found_sample(samples, "last_round").value == 7);
  CHECK(found_sample(samples, "silent_seconds").value == 1.5);
  auto status = made(1, 1);
  status.certificate_expires = 1;
  const auto coordinator = parsed_metrics(status_metrics(status));
  for (const char* name : {"resident_memory_bytes", "disk_free_bytes", "certificate_expiry_timestamp_seconds"}) {
    CHECK(found_sample(samples, name).value > 0);
    CHECK(found_sample(coordinator, name).value >= 0);
  }
}

TEST_CASE("the page is self-contained and reloads itself until the run is over") {
  auto status = made(6, 2);
  const std::string page = status_page(status);
  for (const char* outside : {"src=", "url(", "@import", "<script", "<link", "//"}) CHECK(count(page, outside) == 0);
  const std::string refresh = "<meta http-equiv=\"refresh\" content=\"5\">";
  CHECK(count(page, refresh) == 1);
  CHECK(count(page, "round 7 of 106") == 1);
  CHECK(count(page, "16 min left") == 1);  // 100 rounds of 10 s, less 12.5 s
  for (const char* over : {"finished", "halted: the privacy budget is spent"}) {
    status.state = over;
    CHECK(count(status_page(status), refresh) == 0);
    CHECK(count(status_page(status), over) == 2);  // title and text
  }
}

TEST_CASE("late clients come first in a table of at most 200") {
  auto status = made(6, 500);
  for (auto& client : status.clients) client.in_cohort = client.answered = true;
  for (const std::size_t late : {333u, 499u}) {
    status.clients[late].answered = false;
    status.clients[late].seconds_waiting = 31 + static_cast<double>(late) / 100;
  }
  status.clients[7].answered = false;
  status.clients[7].connected = false;
  status.clients[7].seconds_waiting = 3;
  const std::string page = status_page(status);
  CHECK(count(page, "<tr><td>") + count(page, "<tr class=\"late\"><td>") == 200);
  CHECK(count(page, "<tr class=\"late\">") == 2);
  CHECK(count(page, "<p class=\"small\">300 ") == 1);
  const auto first = page.find("<td>499</td>"), second = page.find("<td>333</td>"), third = page.find("<td>7</td>");
  REQUIRE(third != page.npos);
  CHECK(first < second);
  CHECK(second < third);
  CHECK(third < page.find("<tr><td>0</td>"));
  CHECK(page.substr(third, 60).find("away") != page.npos);
  CHECK(page.size() < 100'000);
}

TEST_CASE("the curve stays small over many rounds and keeps its extremes") {
  CHECK(count(status_page(made(0, 1)), "<svg") == 0);
  CHECK(count(status_page(made(2, 1)), "<svg") == 1);
  CHECK(count(status_page(made(2, 1)), "<circle") == 1);
  auto status = made(20'000, 1);
  const auto plain = status_page(status);
  status.points[9999].accuracy = 0.0;
  const auto dip = status_page(status);
  CHECK(plain.size() < 40'000);
  CHECK(plain != dip);
  CHECK(count(dip, "</text>") > 8);
}

}  // namespace
}  // namespace fedstride::test::status_test
