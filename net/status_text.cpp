#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "core/json.hpp"
#include "core/text.hpp"
#include "net/status.hpp"

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
  return {{"round", point.round},           {"accuracy", point.accuracy ? Json(*point.accuracy) : Json()},
          {"train_loss", point.train_loss}, {"seconds", point.seconds},
          {"answered", point.answered},     {"missing", point.missing},
          {"model_hash", point.model_hash}};
}

/// Absent expiries are null.
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

std::string sample(std::uint64_t value) { return number_text(value); }

/// The text format, metric after metric.
class Exposition {
 public:
  /// Begins a metric; its samples follow. A counter's name ends in _total.
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = "fedstride_" + std::string(name);
    text_.append("# HELP ").append(name_).append(" ").append(help);
    text_.append("\n# TYPE ").append(name_).append(" ").append(type).append("\n");
  }

  template <class Number>
  void add(Number value, Labels labels = {}) {
    text_ += name_;
    char before = '{';
    for (const auto& [label, of] : labels) {
      text_.append(1, before).append(label).append("=\"").append(label_value(of)).append("\"");
      before = ',';
    }
    text_.append(before == ',' ? "} " : " ").append(sample(value)).append("\n");
  }

  template <class Number>
  void one(std::string_view name, std::string_view type, std::string_view help, Number value) {
    metric(name, type, help);
    add(value);
  }

  /// One sample for each client.
  template <class Value>
  void clients(std::string_view name, std::string_view type, std::string_view help, const std::vector<ClientStatus>& clients,
               Value value) {
    if (clients.empty()) return;
    metric(name, type, help);
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
  out.one("rounds", "gauge", "Rounds to be done.", std::uint64_t{status.rounds});
  out.one("rounds_done_total", "counter", "Rounds done, those of earlier sessions included.", std::uint64_t{status.done});
  out.one("finished", "gauge", "1 once all rounds are done.", whole(status.state == "finished"));
  out.one("halted", "gauge", "1 once the run has ended before its time.", whole(status.state.starts_with("halted")));
  out.one("session_seconds", "gauge", "Time since this coordinator began.", status.seconds_running);
  out.one("current_round_seconds", "gauge", "Time since the round in hand began.", status.seconds_in_round);
  if (status.deadline > 0) out.one("round_deadline_seconds", "gauge", "Longest duration of a round.", status.deadline);
  if (!points.empty()) {
    const auto& last = points.back();
    out.one("last_round_seconds", "gauge", "Duration of the last round done.", last.seconds);
    out.one("last_round_answered_clients", "gauge", "Clients in the sum of the last round.", std::uint64_t{last.answered});
    out.one("last_round_missing_clients", "gauge", "Clients asked and not in the sum of the last round.",
            std::uint64_t{last.missing});
    out.one("train_loss", "gauge", "Training loss of the last round; NaN if no client finished.", last.train_loss);
  }
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (!point->accuracy) continue;
    out.one("test_accuracy_ratio", "gauge", "Test accuracy of the last round that was evaluated.", *point->accuracy);
    out.one("test_accuracy_round", "gauge", "The round of that test accuracy.", std::uint64_t{point->round});
    break;
  }
  out.one("gradient_examples_total", "counter", "Examples whose gradient was computed, all rounds.", status.examples);
}

void add_privacy(Exposition& out, const std::vector<PrivacySpent>& privacy) {
  if (privacy.empty()) return;
  out.metric("privacy_epsilon", "gauge", "Epsilon spent; seeded: what it would be if the seed were secret.");
  for (const auto& spent : privacy) out.add(spent.epsilon, {{"level", spent.level}, {"seeded", spent.seeded ? "true" : "false"}});
  out.metric("privacy_delta", "gauge", "Delta of that epsilon.");
  for (const auto& spent : privacy) out.add(spent.delta, {{"level", spent.level}});
  out.metric("privacy_epsilon_budget", "gauge", "Epsilon not to be passed; +Inf: none is set.");
  for (const auto& spent : privacy)
    out.add(spent.budget > 0 ? spent.budget : std::numeric_limits<double>::infinity(), {{"level", spent.level}});
}

void add_clients(Exposition& out, const std::vector<ClientStatus>& clients) {
  std::uint64_t connected = 0;
  for (const auto& client : clients) connected += whole(client.connected);
  out.one("clients", "gauge", "Clients of the roster.", std::uint64_t{clients.size()});
  out.one("clients_connected", "gauge", "Clients that are connected.", connected);
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help, auto value) {
    out.clients(name, type, help, clients, value);
  };
  using Client = const ClientStatus&;
  each("client_connected", "gauge", "1 if the client is connected.", [](Client c) { return whole(c.connected); });
  each("client_in_cohort", "gauge", "1 if the round in hand asks the client.", [](Client c) { return whole(c.in_cohort); });
  each("client_answered", "gauge", "1 if its update of the round in hand is in.", [](Client c) { return whole(c.answered); });
  each("client_waiting_seconds", "gauge", "Time its update has been waited for.", [](Client c) { return c.seconds_waiting; });
  each("client_silent_seconds", "gauge", "Time since its last byte.", [](Client c) { return c.seconds_silent; });
  each("client_last_round", "gauge", "The last round it answered; 0: none.",
       [](Client c) { return std::uint64_t{c.last_round}; });
  each("client_received_bytes_total", "counter", "Bytes received from it.", [](Client c) { return c.received; });
  each("client_sent_bytes_total", "counter", "Bytes sent to it.", [](Client c) { return c.sent; });
  if (std::ranges::any_of(clients, [](Client c) { return c.certificate_expires != 0; })) {
    out.metric("client_certificate_expiry_timestamp_seconds", "gauge", "When the certificate it showed last expires.");
    for (Client client : clients)
      if (client.certificate_expires != 0)
        out.add(static_cast<std::uint64_t>(client.certificate_expires), {{"client", number_text(client.client)}});
  }
  each("client_missed_rounds_total", "counter", "Rounds closed without it, this session.", [](Client c) { return c.missed; });
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
                  {"certificate_expires", expiry_json(status.certificate_expires)},
                  {"privacy", json_of(status.privacy)},
                  {"points", json_of(status.points)},
                  {"clients", json_of(status.clients)}};
  return dump_json(json) + "\n";
}

std::string status_metrics(const FederationStatus& status) {
  Exposition out;
  out.metric("info", "gauge", "What runs here; always 1.");
  out.add(std::uint64_t{1}, {{"version", status.version}, {"title", status.title}});
  add_rounds(out, status);
  out.one("received_bytes_total", "counter", "Bytes received, all connections.", status.received);
  out.one("sent_bytes_total", "counter", "Bytes sent, all connections.", status.sent);
  out.one("refused_connections_total", "counter", "Connections ended for a reason.", status.refused);
  if (status.certificate_expires != 0)
    out.one("certificate_expiry_timestamp_seconds", "gauge",
            "When the coordinator's certificate, or the authority behind it, expires.",
            static_cast<std::uint64_t>(status.certificate_expires));
  out.one("resident_memory_bytes", "gauge", "Memory of the coordinator.", status.memory);
  add_privacy(out, status.privacy);
  add_clients(out, status.clients);
  return std::move(out).text();
}

}  // namespace fedstride
