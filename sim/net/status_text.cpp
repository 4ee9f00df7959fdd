#include <algorithm>
#include <cmath>
#include <concepts>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "client/told_evaluation.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sim/net/status.hpp"

namespace fedstride {
namespace {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

Json json_of(const PrivacySpent& spent) {
  return {{"level", spent.level},
          {"epsilon", spent.epsilon},
          {"delta", spent.delta},
          {"budget", spent.budget},
          {"seeded", spent.seeded}};
}

Json json_of(const RoundPoint& point) {
  return {{"round", point.round},
          {std::string(metric_key(point.metric)), point.accuracy ? Json(*point.accuracy) : Json()},
          {"train_loss", point.train_loss},
          {"seconds", point.seconds},
          {"answered", point.answered},
          {"missing", point.missing},
          {"model_hash", std::string(point.hash())}};
}

/// Returns an expiry as JSON; null for 0 (none).
Json expiry_json(std::int64_t expires) { return expires != 0 ? Json(expires) : Json(); }

Json json_of(const ClientStatus& client) {
  return {{"client", client.client},
          {"connected", client.connected},
          {"address", client.address},
          {"in_cohort", client.in_cohort},
          {"answered", client.answered},
          {"seconds_waiting", client.seconds_waiting},
          {"seconds_silent", client.seconds_silent},
          {"last_round", client.last_round},
          {"received", client.received},
          {"sent", client.sent},
          {"missed", client.missed},
          {"certificate_expires", expiry_json(client.certificate_expires)},
          {"trouble", client.trouble}};
}

template <class Item>
Json json_of(const std::vector<Item>& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(json_of(item));
  return list;
}

std::string valid_utf8(std::string_view text) { return parse_json(dump_json(Json(text))).get<std::string>(); }

std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : valid_utf8(text)) {
    if (c == '\\' || c == '"') value += '\\';
    if (c == '\n')
      value += "\\n";
    else
      value += c;
  }
  return value;
}

std::string sample(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return number_text(value);
}

std::string sample(std::integral auto value) { return number_text(value); }

/// Builds the Prometheus text format.
class Exposition {
 public:
  /// Starts a metric, to be followed by its samples. Names that end in _total are counters.
  void metric(std::string_view name, std::string_view help) {
    name_ = "fedstride_" + std::string(name);
    const std::string_view type = name.ends_with("_total") ? "counter" : "gauge";
    text_.append("# HELP ").append(name_).append(" ").append(help);
    text_.append("\n# TYPE ").append(name_).append(" ").append(type).append("\n");
  }

  void add(auto value, Labels labels = {}) {
    text_ += name_;
    char before = '{';
    for (const auto& [label, of] : labels) {
      text_.append(1, before).append(label).append("=\"").append(label_value(of)).append("\"");
      before = ',';
    }
    text_.append(before == ',' ? "} " : " ").append(sample(value)).append("\n");
  }

  void one(std::string_view name, std::string_view help, auto value) {
    metric(name, help);
    add(value);
  }

  /// Adds a metric with one sample for each client.
  void clients(std::string_view name, std::string_view help, const std::vector<ClientStatus>& clients, auto value) {
    if (clients.empty()) return;
    metric(name, help);
    for (const auto& client : clients) add(value(client), {{"client", number_text(client.client)}});
  }

  std::string text() && { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

std::uint64_t whole(bool value) { return value ? 1 : 0; }

void add_rounds(Exposition& out, const FederationStatus& status) {
  const auto& points = status.points;
  out.one("rounds", "Total number of rounds.", status.rounds);
  out.one("rounds_done_total", "Rounds completed, including those of earlier sessions.", status.done);
  out.one("finished", "1 once all rounds are completed.", whole(status.state == "finished"));
  out.one("halted", "1 once the run has stopped early.", whole(status.state.starts_with("halted")));
  out.one("session_seconds", "Time since this coordinator started.", status.seconds_running);
  out.one("current_round_seconds", "Time since the current round began.", status.seconds_in_round);
  if (status.deadline > 0) out.one("round_deadline_seconds", "Deadline of a round.", status.deadline);
  if (!points.empty()) {
    const auto& last = points.back();
    out.one("last_round_seconds", "Duration of the last completed round.", last.seconds);
    out.one("last_round_answered_clients", "Clients in the sum of the last round.", last.answered);
    out.one("last_round_missing_clients", "Clients asked in the last round that are not in its sum.", last.missing);
    out.one("train_loss", "Training loss of the last round; NaN if no client finished.", last.train_loss);
  }
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (!point->accuracy) continue;
    const std::string name = "test_" + std::string(metric_key(point->metric));
    out.one(name + "_ratio", "Test " + std::string(point->metric) + " of the last evaluated round.", *point->accuracy);
    out.one(name + "_round", "Last evaluated round.", point->round);
    break;
  }
  out.one("gradient_examples_total", "Examples whose gradient was computed, over all rounds.", status.examples);
}

/// What coordinators and clients tell alike.
void add_process(Exposition& out, const auto& report) {
  if (report.certificate_expires != 0)
    out.one("certificate_expiry_timestamp_seconds", "Expiry of this party's certificate or, if earlier, of its authority.",
            report.certificate_expires);
  out.one("resident_memory_bytes", "Resident memory of this process.", report.memory);
  out.one("disk_free_bytes", "Free disk space for this party's folder.", report.disk_free);
}

void add_privacy(Exposition& out, const std::vector<PrivacySpent>& privacy) {
  if (privacy.empty()) return;
  out.metric("privacy_epsilon", "Epsilon spent; if seeded is true, it would hold only if the seed were secret.");
  for (const auto& spent : privacy) out.add(spent.epsilon, {{"level", spent.level}, {"seeded", spent.seeded ? "true" : "false"}});
  out.metric("privacy_delta", "Delta at which epsilon is reported.");
  for (const auto& spent : privacy) out.add(spent.delta, {{"level", spent.level}});
  out.metric("privacy_epsilon_budget", "Limit on epsilon; +Inf if none is set.");
  for (const auto& spent : privacy)
    out.add(spent.budget > 0 ? spent.budget : std::numeric_limits<double>::infinity(), {{"level", spent.level}});
}

void add_clients(Exposition& out, const std::vector<ClientStatus>& clients) {
  std::uint64_t connected = 0;
  for (const auto& client : clients) connected += whole(client.connected);
  out.one("clients", "Clients in the federation.", clients.size());
  out.one("clients_connected", "Connected clients.", connected);
  const auto each = [&](std::string_view name, std::string_view help, auto value) { out.clients(name, help, clients, value); };
  using Client = const ClientStatus&;
  each("client_connected", "1 if the client is connected.", [](Client c) { return whole(c.connected); });
  each("client_in_cohort", "1 if the client is in the cohort of the current round.", [](Client c) { return whole(c.in_cohort); });
  each("client_answered", "1 if the client's update for the current round has arrived.",
       [](Client c) { return whole(c.answered); });
  each("client_waiting_seconds", "Time spent waiting for the client's update.", [](Client c) { return c.seconds_waiting; });
  each("client_silent_seconds", "Time since the last byte from the client; NaN if there was none in this session.",
       [](Client c) { return c.seconds_silent; });
  each("client_last_round", "Last round the client answered; 0 if none.", [](Client c) { return c.last_round; });
  each("client_received_bytes_total", "Bytes received from the client.", [](Client c) { return c.received; });
  each("client_sent_bytes_total", "Bytes sent to the client.", [](Client c) { return c.sent; });
  if (std::ranges::any_of(clients, [](Client c) { return c.certificate_expires != 0; })) {
    out.metric("client_certificate_expiry_timestamp_seconds", "Expiry of the certificate the client last presented.");
    for (Client client : clients)
      if (client.certificate_expires != 0) out.add(client.certificate_expires, {{"client", number_text(client.client)}});
  }
  each("client_missed_rounds_total", "Rounds closed without the client in this session.", [](Client c) { return c.missed; });
}

}  // namespace

std::string status_json(const FederationStatus& status) {
  const Json json{{"version", status.version},
                  {"title", status.title},
                  {"folder", status.folder},
                  {"state", status.state},
                  {"rounds", status.rounds},
                  {"done", status.done},
                  {"seconds_running", status.seconds_running},
                  {"seconds_in_round", status.seconds_in_round},
                  {"deadline", status.deadline},
                  {"examples", status.examples},
                  {"received", status.received},
                  {"sent", status.sent},
                  {"refused", status.refused},
                  {"memory", status.memory},
                  {"disk_free", status.disk_free},
                  {"certificate_expires", expiry_json(status.certificate_expires)},
                  {"privacy", json_of(status.privacy)},
                  {"points", json_of(status.points)},
                  {"clients", json_of(status.clients)}};
  return dump_json(json) + "\n";
}

std::string status_metrics(const FederationStatus& status) {
  Exposition out;
  out.metric("info", "Version and title of the run; always 1.");
  out.add(1, {{"version", status.version}, {"title", status.title}});
  add_rounds(out, status);
  out.one("received_bytes_total", "Bytes received over all connections.", status.received);
  out.one("sent_bytes_total", "Bytes sent over all connections.", status.sent);
  out.one("refused_connections_total", "Connections refused or ended with a reason.", status.refused);
  add_process(out, status);
  add_privacy(out, status.privacy);
  add_clients(out, status.clients);
  return std::move(out).text();
}

std::string member_metrics(const MemberReport& report) {
  Exposition out;
  out.metric("info", "Version and number of the client; always 1.");
  out.add(1, {{"version", report.version}, {"client", number_text(report.client)}});
  out.one("joined", "1 if the coordinator can ask this client to train.", whole(report.joined));
  out.one("last_round", "Last round this client answered; 0 if none.", report.last_round);
  out.one("silent_seconds", "Time since a coordinator last asked this client for something.", report.seconds_silent);
  add_process(out, report);
  return std::move(out).text();
}

}  // namespace fedstride
