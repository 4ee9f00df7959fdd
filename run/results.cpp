#include "run/results.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "core/build_info.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "run/evaluate_clients.hpp"

namespace fedstride {
namespace {

void add_evaluation(Json& json, const std::string& name, const std::optional<Evaluation>& evaluation) {
  json[name + "_accuracy"] = evaluation ? number_or_null(evaluation->accuracy) : Json(nullptr);
  json[name + "_loss"] = evaluation ? number_or_null(evaluation->loss) : Json(nullptr);
}

// How a model of each client, or one on the rows of each, is spread over them; nothing if none was tested.
void add_clients(Json& json, const std::string& name, const std::vector<GroupEvaluation>& clients) {
  if (clients.empty()) return;
  const Spread accuracy = spread_of_clients(clients, &GroupEvaluation::accuracy);
  json[name + "_accuracy"] = accuracy.mean;
  json[name + "_accuracy_deviation"] = accuracy.deviation;
  json[name + "_accuracy_p10"] = accuracy.tenth;
  json[name + "_accuracy_p50"] = accuracy.median;
  json[name + "_accuracy_p90"] = accuracy.ninetieth;
  json[name + "_accuracy_worst_tenth"] = accuracy.worst_tenth;
  const bool all_finite = std::ranges::all_of(clients, [](const GroupEvaluation& one) { return std::isfinite(one.loss); });
  json[name + "_loss"] = all_finite ? number_or_null(spread_of_clients(clients, &GroupEvaluation::loss).mean) : Json(nullptr);
}

// Numbers are neither right nor wrong: a report tells their loss, and how much the rows vary is known here, from the test of the
// federation's model on the same rows.
GroupEvaluation personal_test(const RoundRecord& record, const ClientReport& report) {
  GroupEvaluation test{.examples = report.personal_examples,
                       .correct = report.personal_correct,
                       .loss = report.personal_loss,
                       .accuracy = static_cast<double>(report.personal_correct) / static_cast<double>(report.personal_examples)};
  if (record.test && record.test->metric != "accuracy" && !record.client_test.empty())
    test.accuracy = std::isfinite(report.personal_loss)
                        ? r_squared(report.personal_loss, record.client_test[report.client].variation)
                        : -std::numeric_limits<double>::infinity();
  return test;
}

// The tests of personal models that clients have made.
std::vector<GroupEvaluation> personal_tests(const RoundRecord& record) {
  std::vector<GroupEvaluation> tests;
  for (const ClientReport& report : record.clients)
    if (report.personal_examples > 0) tests.push_back(personal_test(record, report));
  return tests;
}

void add_spent(Json& json, const char* level, const std::optional<SpentSoFar>& spent) {
  if (spent) json[level] = Json{{"epsilon", number_or_null(spent->epsilon)}, {"delta", spent->delta}};
}

// The fields that may be published under privacy: functions of accounted releases and of public facts. docs/privacy.md gives
// the reason for each, and a test holds its table against the files. A field that is not here is not published.
constexpr std::string_view kOfSummary[] = {"rounds",     "finished", "halted",           "test_accuracy", "test_loss",
                                           "model_hash", "model",    "parameters",       "training_rows", "test_rows",
                                           "version",    "commit",   "numerics_version", "compiler",      "instruction_set",
                                           "randomness", "privacy",  "ledger_head",      "ledger_lines",  "metric"};
constexpr std::string_view kOfRound[] = {"round",      "test_accuracy",   "test_loss",
                                         "model_hash", "example_privacy", "client_privacy"};
// Rates and undone steps follow from noisy gradients, which covers them if examples are protected, but they are one client's
// own, and that it has a line says that it was drawn.
constexpr std::string_view kOfClient[] = {"client", "rows", "learning_rate", "steps", "accepted", "rejected", "releases"};

void add_uncovered(const Json& json, std::span<const std::string_view> covered, std::string_view prefix,
                   std::vector<std::string>& names) {
  for (const auto& [name, value] : json.items()) {
    const std::string full = std::string(prefix) + name;
    if (std::ranges::find(covered, name) == covered.end() && std::ranges::find(names, full) == names.end()) names.push_back(full);
  }
}

// Names the fields of a line that no guarantee covers; "clients.x" is x of every client.
std::vector<std::string> uncovered_of_round(const Json& json, bool clients_protected, bool test_is_covered) {
  std::vector<std::string> names;
  if (!test_is_covered) names = {"test_accuracy", "test_loss"};
  add_uncovered(json, kOfRound, "", names);
  std::erase(names, "clients");
  const std::span<const std::string_view> of_client = kOfClient;
  for (const Json& client : json["clients"])
    add_uncovered(client, clients_protected ? of_client.first(0) : of_client, "clients.", names);
  return names;
}

// Removes the fields in `names`, and the clients if nothing of them is left.
void leave_out(Json& json, const std::vector<std::string>& names) {
  constexpr std::string_view kClients = "clients.";
  for (const std::string& name : names) {
    if (!name.starts_with(kClients)) {
      json.erase(name);
      continue;
    }
    for (Json& client : json["clients"]) client.erase(name.substr(kClients.size()));
  }
  if (const auto clients = json.find("clients");
      clients != json.end() && std::ranges::all_of(*clients, [](const Json& client) { return client.empty(); }))
    json.erase("clients");
}

void cover(Json& json, const std::vector<std::string>& uncovered, bool publishable) {
  if (publishable)
    leave_out(json, uncovered);
  else
    json["not_covered"] = uncovered;
}

std::vector<std::string> notes_on(const Setup& setup, const RunSummary& summary) {
  std::vector<std::string> notes = setup.notes;
  if (summary.idle_rounds > 0) notes.push_back(idle_rounds_text(setup.configuration, summary.idle_rounds, summary.rounds));
  return notes;
}

// The numbers of a round that a reader would take from its clients' reports (sweep/results/round_lines.cpp).
void add_totals(Json& json, const RoundRecord& record) {
  struct Mean {
    double sum = 0;
    std::uint64_t count = 0;
    void add(double value) {
      if (!std::isfinite(value)) return;
      sum += value;
      ++count;
    }
    Json json() const { return count > 0 ? number_or_null(sum / static_cast<double>(count)) : Json(nullptr); }
  };
  std::uint64_t steps = 0;
  std::uint64_t rejected = 0;
  Mean learning_rate;
  Mean gradient_norm;
  Mean clipped_share;
  Mean update_norm;
  for (const ClientReport& client : record.clients) {
    steps += client.steps;
    rejected += client.rejected;
    learning_rate.add(client.learning_rate);
    update_norm.add(client.update_norm);
    gradient_norm.add(client.gradient_norm);
    clipped_share.add(client.clipped_share);
  }
  json["participants"] = record.clients.size();
  json["steps"] = steps;
  json["rejected_steps"] = rejected;
  json["rejected_share"] = steps > 0 ? number_or_null(static_cast<double>(rejected) / static_cast<double>(steps)) : Json(nullptr);
  json["learning_rate"] = learning_rate.json();
  json["update_norm"] = update_norm.json();
  if (record.example_spent) {
    json["gradient_norm"] = gradient_norm.json();
    json["clipped_share"] = clipped_share.json();
  }
}

double rate(std::uint64_t examples, double seconds) { return seconds > 0 ? static_cast<double>(examples) / seconds : 0; }

}  // namespace

std::string round_json(const RoundRecord& record, bool publishable, const ClientReports& reports) {
  Json json;
  json["round"] = record.round;
  add_evaluation(json, "test", record.test);
  add_evaluation(json, "validation", record.validation);
  json["train_loss"] = number_or_null(record.train_loss);
  json["examples"] = record.examples;
  json["seconds"] = record.seconds;
  json["evaluation_seconds"] = record.evaluation_seconds;
  json["examples_per_second"] = rate(record.examples, record.seconds);
  json["model_hash"] = record.model_hash;
  if (record.is_idle()) json["no_step_kept"] = true;
  if (record.backdoor_success) json["backdoor_success"] = *record.backdoor_success;
  add_clients(json, "own", record.client_test);
  if (record.test) add_clients(json, "personal", personal_tests(record));
  if (!record.client_accuracy.empty()) {
    const auto [worst, best] = std::ranges::minmax(record.client_accuracy);
    json["worst_client_accuracy"] = worst;
    json["best_client_accuracy"] = best;
    double mean = 0;
    double square = 0;
    for (const double accuracy : record.client_accuracy) mean += accuracy;
    mean /= static_cast<double>(record.client_accuracy.size());
    for (const double accuracy : record.client_accuracy) square += (accuracy - mean) * (accuracy - mean);
    json["client_accuracy_deviation"] = std::sqrt(square / static_cast<double>(record.client_accuracy.size()));
  }
  json["failed_clients"] = std::ranges::count_if(record.clients, [](const auto& client) { return !client.failure.empty(); });
  const std::vector<std::size_t> written = reports.chosen(record.clients);
  if (written.size() < record.clients.size()) add_totals(json, record);
  Json& clients = json["clients"] = Json::array();
  for (const std::size_t i : written) {
    const ClientReport& report = record.clients[i];
    Json client{{"client", report.client},
                {"rows", report.rows},
                {"examples", report.examples},
                {"loss", number_or_null(report.loss)},
                {"accuracy", record.client_accuracy.empty() ? Json(nullptr) : Json(record.client_accuracy[report.client])},
                {"learning_rate", number_or_null(report.learning_rate)},
                {"steps", report.steps},
                {"accepted", report.steps - report.rejected},
                {"rejected", report.rejected},
                {"update_norm", number_or_null(report.update_norm)}};
    if (!record.client_test.empty()) {
      client["own_accuracy"] = record.client_test[report.client].accuracy;
      client["own_loss"] = number_or_null(record.client_test[report.client].loss);
    }
    if (record.test && report.personal_examples > 0) {
      client["personal_accuracy"] = number_or_null(personal_test(record, report).accuracy);
      client["personal_loss"] = number_or_null(report.personal_loss);
    }
    if (record.example_spent) {
      std::uint64_t releases = 0;
      for (const ReleaseRun& run : report.releases) releases += run.count;
      client["releases"] = releases;
      client["empty_lots"] = report.empty_lots;
      client["nonfinite"] = report.nonfinite;
      client["gradient_norm"] = number_or_null(report.gradient_norm);
      client["clipped_share"] = number_or_null(report.clipped_share);
    }
    if (!report.failure.empty()) client["failure"] = report.failure;
    clients.push_back(std::move(client));
  }
  add_spent(json, "example_privacy", record.example_spent);
  add_spent(json, "client_privacy", record.client_spent);
  if (record.example_spent || record.client_spent)
    cover(json, uncovered_of_round(json, record.client_spent.has_value(), record.test_is_covered), publishable);
  return dump_json(json);
}

std::string idle_rounds_text(const Configuration& configuration, std::uint64_t idle, std::uint64_t rounds) {
  return "in " + std::to_string(idle) + " of " + counted(rounds, "round") + " no step of anybody was kept; " +
         idle_rounds_advice(configuration);
}

std::string idle_rounds_advice(const Configuration& configuration) {
  const ChosenPart& optimizer = configuration.optimizer;
  std::string text;
  if (const SettingInfo* rate = optimizer.part().find("learning-rate"))
    text = "begin with a smaller --learning-rate than " + value_text(optimizer.part().get(*rate)) + ", or ";
  return text + "take an optimizer that undoes no step (--optimizer sgd)";
}

std::string summary_json(const Setup& setup, const RunSummary& summary, const std::string& model_hash) {
  const BuildInfo build = build_info();
  Json json;
  json["rounds"] = summary.rounds;
  json["finished"] = !summary.interrupted;
  if (!summary.halted.empty()) json["halted"] = summary.halted;
  if (summary.test.metric != "accuracy") json["metric"] = summary.test.metric;
  json["test_accuracy"] = number_or_null(summary.test.accuracy);
  json["test_loss"] = number_or_null(summary.test.loss);
  json["examples"] = summary.examples;
  json["evaluated_rows"] = summary.test.examples;
  json["seconds"] = summary.seconds;
  json["evaluation_seconds"] = summary.evaluation_seconds;
  json["examples_per_second"] = rate(summary.examples, summary.seconds);
  json["idle_rounds"] = summary.idle_rounds;
  json["failed_updates_this_session"] = summary.failures;
  json["pieces_helped_this_session"] = summary.pieces_helped;
  json["peak_memory_bytes"] = peak_memory();
  json["model_hash"] = model_hash;
  json["model"] = setup.model.line();
  json["parameters"] = setup.model.parameter_count();
  if (!setup.privacy.on()) {  // whoever knows all rows but one could test a guess of it by such a hash
    json["data_hash"] = setup.data.hash;
    json["partition_hash"] = setup.partition_hash;
  }
  const auto brought = std::accumulate(setup.row_counts.begin(), setup.row_counts.end(), std::uint64_t{0});
  json["training_rows"] = setup.rows.row_count() > 0 ? setup.data.train.size() - setup.validation_rows.size() : brought;
  json["test_rows"] = setup.data.test.size();
  json["notes"] = notes_on(setup, summary);
  json["numerics_version"] = kNumericsVersion;
  json["version"] = build.version;
  json["commit"] = build.commit;
  json["compiler"] = build.compiler;
  json["instruction_set"] = build.instruction_set;
  json["randomness"] = choice_name(setup.privacy.on() ? setup.configuration.randomness : Randomness::seeded);
  if (setup.privacy.on()) {
    json["ledger_head"] = summary.ledger.head;
    json["ledger_lines"] = summary.ledger.lines;
    Json& statements = json["privacy"] = Json::array();
    for (const PrivacyStatement& statement : summary.privacy) statements.push_back(parse_json(statement_json(statement)));
    std::vector<std::string> names;
    if (!summary.test_is_covered) names = {"test_accuracy", "test_loss"};
    add_uncovered(json, kOfSummary, "", names);
    cover(json, names, setup.configuration.publishable);
  }
  return dump_json(json, 2) + "\n";
}

}  // namespace fedstride
