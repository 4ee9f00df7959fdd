#include "sim/run/results.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

#include "client/told_evaluation.hpp"
#include "core/build_info.hpp"
#include "core/json.hpp"
#include "core/spread.hpp"
#include "core/text.hpp"
#include "dp/ledger/statement.hpp"
#include "partitions/natural.hpp"
#include "sim/prepare/setup.hpp"

namespace fedstride {
namespace {

// Adds an evaluation under keys that begin with `name`, such as "test_accuracy" and "test_loss".
void add_evaluation(Json& json, const std::string& name, const std::string& metric, const std::optional<Evaluation>& evaluation) {
  json[name + "_" + metric] = evaluation ? number_or_null(evaluation->accuracy) : Json(nullptr);
  json[name + "_loss"] = evaluation ? number_or_null(evaluation->loss) : Json(nullptr);
}

// Adds the distribution over clients of these evaluations; nothing if there are none.
void add_clients(Json& json, const std::string& name, const std::string& metric, const std::vector<GroupEvaluation>& clients) {
  if (clients.empty()) return;
  const std::string measure = name + "_" + metric;
  const Spread accuracy = spread_of_clients(clients, &GroupEvaluation::accuracy);
  json[measure] = accuracy.mean;
  json[measure + "_deviation"] = accuracy.deviation;
  json[measure + "_p10"] = accuracy.tenth;
  json[measure + "_p50"] = accuracy.median;
  json[measure + "_p90"] = accuracy.ninetieth;
  json[measure + "_worst_tenth"] = accuracy.worst_tenth;
  const bool all_finite = std::ranges::all_of(clients, [](const GroupEvaluation& one) { return std::isfinite(one.loss); });
  json[name + "_loss"] = all_finite ? number_or_null(spread_of_clients(clients, &GroupEvaluation::loss).mean) : Json(nullptr);
}

// For numeric targets, a report has only the loss; the variation of the rows comes from the test of the federation's model on
// the same rows.
GroupEvaluation personal_test(const RoundRecord& record, const ClientReport& report) {
  GroupEvaluation test{.examples = report.personal_examples,
                       .correct = report.personal_correct,
                       .loss = report.personal_loss,
                       .accuracy = static_cast<double>(report.personal_correct) / static_cast<double>(report.personal_examples)};
  if (record.metric != "accuracy" && !record.client_test.empty())
    test.accuracy = std::isfinite(report.personal_loss)
                        ? r_squared(report.personal_loss, record.client_test[report.client].variation)
                        : -std::numeric_limits<double>::infinity();
  return test;
}

// The personal models' tests in the clients' reports.
std::vector<GroupEvaluation> personal_tests(const RoundRecord& record) {
  std::vector<GroupEvaluation> tests;
  for (const ClientReport& report : record.clients)
    if (report.personal_examples > 0) tests.push_back(personal_test(record, report));
  return tests;
}

void add_spent(Json& json, const char* level, const std::optional<SpentSoFar>& spent) {
  if (spent) json[level] = Json{{"epsilon", number_or_null(spent->epsilon)}, {"delta", spent->delta}};
}

// The fields that may be published under privacy: functions of accounted releases and public facts. docs/privacy.md states the
// reason for each, and a test compares its table with the files. Fields that are not listed here are not published.
constexpr std::string_view kOfSummary[] = {
    "rounds",   "finished",        "halted",        "test_accuracy", "test_r2",     "test_loss",    "model_hash",
    "model",    "parameters",      "training_rows", "test_rows",     "version",     "commit",       "numerics_version",
    "compiler", "instruction_set", "randomness",    "privacy",       "ledger_head", "ledger_lines", "metric"};
constexpr std::string_view kOfRound[] = {"round",           "test_accuracy",          "test_r2",  "test_loss", "model_hash",
                                         "example_privacy", "client_privacy",         "clip",     "test_auc",  "test_macro_f1",
                                         "test_log_loss",   "test_balanced_accuracy", "test_mae", "test_mse"};
// The covered fields of a client if only examples are protected. Learning rates and undone steps follow from noisy gradients.
// Under client-level privacy every field belongs to one client and reveals that it was drawn, so none is covered.
std::vector<std::string_view> covered_of_client() {
  std::vector<std::string_view> names{"accepted"};
  for_each_report_field([&](const auto& field) {
    if (field.is(ReportRule::covered)) names.push_back(field.name);
  });
  return names;
}

void add_uncovered(const Json& json, std::span<const std::string_view> covered, std::string_view prefix,
                   std::vector<std::string>& names) {
  for (const auto& [name, value] : json.items()) {
    const std::string full = std::string(prefix) + name;
    if (std::ranges::find(covered, name) == covered.end() && std::ranges::find(names, full) == names.end()) names.push_back(full);
  }
}

std::vector<std::string> names_of_test(const Json& json) {
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items())
    if (name.starts_with("test_") && name != "test_rows") names.push_back(name);
  return names;
}

// The fields of a line that no guarantee covers; "clients.x" is field x of every client.
std::vector<std::string> uncovered_of_round(const Json& json, bool clients_protected, bool test_is_covered) {
  std::vector<std::string> names;
  if (!test_is_covered) names = names_of_test(json);
  add_uncovered(json, kOfRound, "", names);
  std::erase(names, "clients");
  const auto of_client = clients_protected ? std::vector<std::string_view>() : covered_of_client();
  for (const Json& client : json["clients"]) add_uncovered(client, of_client, "clients.", names);
  return names;
}

// Removes the fields in `names`, and the clients' entries if no field is left in any of them.
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

// Over-selection and deadlines favor fast devices; the summary reports by how much.
void note_time(const Setup& setup, const TimeTotals& time, std::vector<std::string>& notes) {
  const auto share = [&](std::size_t tenth) {
    return number_text(std::round(1000.0 * static_cast<double>(time.by_speed[tenth]) / static_cast<double>(time.arrived)) / 10);
  };
  if (time.arrived > 0 && time.late > 0)
    notes.push_back("updates that came too late, " + std::to_string(time.late) + " in all, were left out: " + share(0) +
                    " % of the updates in the model are from the fastest tenth of devices, " + share(9) + " % from the slowest");
  if (time.abandoned > 0)
    notes.push_back(
        counted(time.abandoned, "round") + (setup.rules.sum.adds_noise() ? " released noise alone" : " changed nothing") +
        ", because fewer clients than minimum-arrivals " +
        (setup.configuration.deadline > 0 ? "met the deadline of " + number_text(setup.configuration.deadline) + " seconds"
                                          : "finished"));
}

std::vector<std::string> notes_on(const Setup& setup, const RunSummary& summary) {
  std::vector<std::string> notes = setup.notes;
  if (const auto chance = chance_accuracy(setup.data.test);
      chance && !setup.privacy.on() && summary.rounds > 0 && summary.test.accuracy <= *chance)
    notes.push_back("the test accuracy is no better than that of always predicting the commonest class, " + number_text(*chance));
  for (const auto& [key, is_by_test] : {std::pair("stop-at", setup.configuration.stop_at.part == "test"),
                                        {"patience", setup.configuration.patience > 0 && setup.data.validation_rows.empty()}})
    if (is_by_test)
      notes.push_back(std::string(key) +
                      ": the test rows decide when the run ends, so a result on them is optimistic; to change "
                      "it: --validation-fraction");
  if (summary.idle_rounds > 0) notes.push_back(idle_rounds_text(setup.configuration, summary.idle_rounds, summary.rounds));
  if (summary.failures > 0) notes.push_back(failures_text(summary));
  if (!summary.failed.empty()) notes.push_back(summary.failed);
  if (summary.time) note_time(setup, *summary.time, notes);
  return notes;
}

// True if a field of a client's report is written to the client's entry and, if entries are omitted, counted in the totals.
bool is_written(const auto& field, const RoundRecord& record, const ClientReport& report) {
  if (field.is(ReportRule::shown)) return !record.totals.is_secured || field.is(ReportRule::open);
  if (record.totals.is_secured) return false;
  return (field.is(ReportRule::with_lots) && record.example_spent) ||
         (field.is(ReportRule::with_test) && record.test && report.personal_examples > 0);
}

template <class Number>
Json json_of(const Number& number) {
  if constexpr (std::is_floating_point_v<Number>)
    return number_or_null(number);
  else
    return Json(number);
}
Json json_of(const std::vector<ReleaseRun>& runs) {
  return std::accumulate(runs.begin(), runs.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const ReleaseRun& run) { return sum + run.count; });
}

// A client's entry; `metric` is the key of accuracies.
Json entry_of(const RoundRecord& record, const ClientReport& report, const std::string& metric) {
  Json client;
  for_each_report_field([&](const auto& field) {
    if (is_written(field, record, report)) client[std::string(field.name)] = json_of(report.*field.member);
  });
  if (report.failure.empty()) client.erase("failure");
  if (record.totals.is_secured) return client;
  client["accepted"] = report.steps - report.rejected;
  client[metric] = record.client_accuracy.empty() ? Json(nullptr) : Json(record.client_accuracy[report.client]);
  if (!record.client_test.empty()) {
    const GroupEvaluation& own = record.client_test[report.client];
    client["own_examples"] = own.examples;
    client["own_" + metric] = own.examples > 0 ? Json(own.accuracy) : Json(nullptr);
    client["own_loss"] = own.examples > 0 ? number_or_null(own.loss) : Json(nullptr);
  }
  if (record.test && report.personal_examples > 0)
    client["personal_" + metric] = number_or_null(personal_test(record, report).accuracy);
  return client;
}

// Adds the totals of a round, which readers otherwise compute from the clients' entries.
void add_totals(Json& json, const RoundRecord& record) {
  ClientTotals totals;
  for (const ClientReport& client : record.clients)
    for_each_report_number([&](const auto& field) {
      if (is_written(field, record, client)) totals.add(field.name, static_cast<double>(client.*field.member));
    });
  json["participants"] = record.clients.size();
  totals.visit([&](std::string_view name, double value, bool is_sum) {
    json[std::string(name)] = is_sum ? Json(static_cast<std::uint64_t>(value)) : number_or_null(value);
  });
}

// Adds what is known about a round whose reports the server receives only as a sum.
void add_secure(Json& json, const RoundRecord& record) {
  json["participants"] = record.clients.size();
  if (!record.totals.is_told) return;
  json["steps"] = record.totals.sums.steps;
  json["rejected_steps"] = record.totals.sums.rejected;
}

void add_time(Json& json, const RoundTime& time) {
  json["virtual_seconds"] = seconds_of(time.end);
  json["late_clients"] = time.count(TaskFate::late);
  json["lost_clients"] = time.count(TaskFate::lost);
  json["dropped_updates"] = time.count(TaskFate::dropped);
  json["mean_staleness"] = time.mean_staleness();
  json["largest_staleness"] = time.largest_staleness();
}

void add_time(Json& json, const TimeTotals& time) {
  json["virtual_seconds"] = seconds_of(time.now);
  json["arrived_updates"] = time.arrived;
  json["late_clients"] = time.late;
  json["lost_clients"] = time.lost;
  json["dropped_updates"] = time.dropped;
  json["abandoned_rounds"] = time.abandoned;
  json["mean_staleness"] = time.arrived > 0 ? static_cast<double>(time.staleness) / static_cast<double>(time.arrived) : 0.0;
  json["largest_staleness"] = time.largest_staleness;
  Json& tenths = json["updates_by_speed"] = Json::array();
  for (const std::uint64_t count : time.by_speed) tenths.push_back(count);
}

// A number of each client that has test rows.
std::vector<double> of_tested(const std::vector<GroupEvaluation>& clients, double GroupEvaluation::*number) {
  std::vector<double> numbers;
  for (const GroupEvaluation& client : clients)
    if (client.examples > 0) numbers.push_back(client.*number);
  return numbers;
}

double rate(std::uint64_t examples, double seconds) { return seconds > 0 ? static_cast<double>(examples) / seconds : 0; }

}  // namespace

std::uint64_t RoundRecord::failures() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(clients, [](const ClientReport& client) { return !client.failure.empty(); }));
}

Spread spread_of_clients(const std::vector<GroupEvaluation>& clients, double GroupEvaluation::*number) {
  return spread_of(of_tested(clients, number));
}

std::vector<double> accuracies_of_clients(const RoundRecord& record) {
  if (record.client_accuracy.empty() || record.client_test.empty()) return record.client_accuracy;
  return of_tested(record.client_test, &GroupEvaluation::accuracy);
}

std::string round_json(const RoundRecord& record, bool publishable, const ClientReports& reports) {
  Json json;
  json["round"] = record.round;
  const std::string metric(metric_key(record.metric));
  add_evaluation(json, "test", metric, record.test);
  for (const NamedNumber& number : record.test_metrics)
    if (const std::string key = "test_" + std::string(number.name); !json.contains(key)) json[key] = number_or_null(number.value);
  add_evaluation(json, "validation", metric, record.validation);
  json["train_loss"] = number_or_null(record.totals.sums.loss);
  for (const NamedNumber& number : record.numbers) json[std::string(number.name)] = number_or_null(number.value);
  json["examples"] = record.totals.sums.examples;
  if (!record.totals.is_secured) {  // the counts are of plain frames; masked updates and keys differ in size
    json["uplink_bytes"] = record.bytes.uplink;
    json["downlink_bytes"] = record.bytes.downlink;
    json["wasted_bytes"] = record.bytes.wasted;
  }
  json["seconds"] = record.seconds;
  json["evaluation_seconds"] = record.evaluation_seconds;
  json["examples_per_second"] = rate(record.totals.sums.examples, record.seconds);
  json["model_hash"] = record.model_hash;
  if (record.is_idle()) json["no_step_kept"] = true;
  if (record.backdoor_success) json["backdoor_success"] = *record.backdoor_success;
  add_clients(json, "own", metric, record.client_test);
  if (record.test) add_clients(json, "personal", metric, personal_tests(record));
  if (const std::vector<double> accuracies = accuracies_of_clients(record); !accuracies.empty()) {
    const auto [worst, best] = std::ranges::minmax(accuracies);
    json["worst_client_accuracy"] = worst;
    json["best_client_accuracy"] = best;
    double mean = 0;
    double square = 0;
    for (const double accuracy : accuracies) mean += accuracy;
    mean /= static_cast<double>(accuracies.size());
    for (const double accuracy : accuracies) square += (accuracy - mean) * (accuracy - mean);
    json["client_accuracy_deviation"] = std::sqrt(square / static_cast<double>(accuracies.size()));
  }
  json["failed_clients"] = record.failures();
  if (record.time) add_time(json, *record.time);
  const std::vector<std::size_t> written = reports.chosen(record.clients);
  if (record.totals.is_secured)
    add_secure(json, record);
  else if (written.size() < record.clients.size())
    add_totals(json, record);
  Json& clients = json["clients"] = Json::array();
  for (const std::size_t i : written) clients.push_back(entry_of(record, record.clients[i], metric));
  add_spent(json, "example_privacy", record.example_spent);
  add_spent(json, "client_privacy", record.client_spent);
  if (record.example_spent || record.client_spent)
    cover(json, uncovered_of_round(json, record.client_spent.has_value(), record.test_is_covered), publishable);
  return dump_json(json);
}

std::string failures_text(const RunSummary& summary) {
  constexpr std::size_t kMostReasons = 3;
  std::vector<std::pair<std::uint64_t, std::string>> reasons;
  for (const auto& [reason, count] : summary.reasons) reasons.emplace_back(count, reason);
  std::ranges::stable_sort(reasons, std::greater<>(), &std::pair<std::uint64_t, std::string>::first);
  std::vector<std::string> parts;
  for (const auto& [count, reason] : std::span(reasons).first(std::min(kMostReasons, reasons.size())))
    parts.push_back(reason + " (" + std::to_string(count) + ")");
  if (reasons.size() > kMostReasons) parts.push_back("and " + counted(reasons.size() - kMostReasons, "other reason"));
  return "in " + std::to_string(summary.failed_rounds) + " of " + counted(summary.session_rounds, "round") +
         (summary.session_rounds < summary.rounds ? " of this session" : "") + " clients were left out, " +
         counted(summary.failures, "update") + " in all: " + joined(parts, "; ");
}

std::string idle_rounds_text(const Configuration& configuration, std::uint64_t idle, std::uint64_t rounds) {
  return "in " + std::to_string(idle) + " of " + counted(rounds, "round") + " every step of every client was undone; " +
         idle_rounds_advice(configuration);
}

std::string idle_rounds_advice(const Configuration& configuration) {
  const ChosenPart& optimizer = configuration.optimizer;
  std::string text;
  if (const SettingInfo* rate = optimizer.part().find("learning-rate"))
    text = "start with a --learning-rate below " + value_text(optimizer.part().get(*rate)) + ", or ";
  return text + "use an optimizer that never undoes steps (--optimizer sgd)";
}

std::span<const std::string_view> summary_keys() {
  static constexpr std::string_view kKeys[] = {"rounds",
                                               "finished",
                                               "halted",
                                               "metric",
                                               "test_accuracy",
                                               "test_r2",
                                               "test_loss",
                                               "examples",
                                               "uplink_bytes",
                                               "downlink_bytes",
                                               "wasted_bytes",
                                               "evaluated_rows",
                                               "seconds",
                                               "evaluation_seconds",
                                               "examples_per_second",
                                               "idle_rounds",
                                               "virtual_seconds",
                                               "arrived_updates",
                                               "late_clients",
                                               "lost_clients",
                                               "dropped_updates",
                                               "abandoned_rounds",
                                               "mean_staleness",
                                               "largest_staleness",
                                               "updates_by_speed",
                                               "failed_updates_this_session",
                                               "pieces_helped_this_session",
                                               "peak_memory_bytes",
                                               "model_hash",
                                               "model",
                                               "parameters",
                                               "secure_aggregation",
                                               "data_hash",
                                               "partition_hash",
                                               "chance_accuracy",
                                               "class_names",
                                               "client_names",
                                               "training_rows",
                                               "test_rows",
                                               "validation_rows",
                                               "notes",
                                               "numerics_version",
                                               "version",
                                               "commit",
                                               "compiler",
                                               "instruction_set",
                                               "randomness",
                                               "ledger_head",
                                               "ledger_lines",
                                               "privacy",
                                               "not_covered"};
  return kKeys;
}

std::vector<std::string> uncovered_of_summary(const Json& summary, bool test_is_covered) {
  std::vector<std::string> names;
  if (!test_is_covered) names = names_of_test(summary);
  add_uncovered(summary, kOfSummary, "", names);
  return names;
}

std::string summary_json(const Setup& setup, const RunSummary& summary, const std::string& model_hash) {
  const BuildInfo build = build_info();
  Json json;
  json["rounds"] = summary.rounds;
  json["finished"] = !summary.interrupted;
  if (!summary.halted.empty()) json["halted"] = summary.halted;
  json["metric"] = summary.test.metric;
  json["test_" + std::string(metric_key(summary.test.metric))] = number_or_null(summary.test.accuracy);
  json["test_loss"] = number_or_null(summary.test.loss);
  json["examples"] = summary.examples;
  if (!setup.configuration.is_secure()) {
    json["uplink_bytes"] = summary.bytes.uplink;
    json["downlink_bytes"] = summary.bytes.downlink;
    json["wasted_bytes"] = summary.bytes.wasted;
  }
  json["evaluated_rows"] = summary.test.examples;
  json["seconds"] = summary.seconds;
  json["evaluation_seconds"] = summary.evaluation_seconds;
  json["examples_per_second"] = rate(summary.examples, summary.seconds);
  json["idle_rounds"] = summary.idle_rounds;
  if (summary.time) add_time(json, *summary.time);
  json["failed_updates_this_session"] = summary.failures;
  json["pieces_helped_this_session"] = summary.pieces_helped;
  json["peak_memory_bytes"] = peak_memory();
  json["model_hash"] = model_hash;
  json["model"] = setup.model.line();
  json["parameters"] = setup.model.parameter_count();
  if (setup.configuration.is_secure()) json["secure_aggregation"] = choice_name(setup.configuration.secure_aggregation);
  if (!setup.privacy.on()) {  // with a hash of the data, anyone who knows all rows but one could test a guess of that row
    json["data_hash"] = setup.data.hash;
    json["partition_hash"] = setup.clients.partition_hash;
    if (const auto chance = chance_accuracy(setup.data.test)) json["chance_accuracy"] = *chance;
    if (!setup.data.train.class_names.empty()) json["class_names"] = setup.data.train.class_names;
  }
  const auto brought = std::accumulate(setup.clients.row_counts.begin(), setup.clients.row_counts.end(), std::uint64_t{0});
  constexpr std::size_t kMostNames = 10'000;
  if (const auto& names = setup.data.train.client_names;
      setup.configuration.partition.as<Natural>() != nullptr && setup.clients.size() <= std::min(names.size(), kMostNames))
    json["client_names"] = std::vector(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(setup.clients.size()));
  json["training_rows"] =
      setup.clients.rows.row_count() > 0 ? setup.data.train.size() - setup.data.validation_rows.size() : brought;
  json["test_rows"] = setup.data.test.size();
  if (!setup.data.validation_rows.empty() && !setup.privacy.on()) json["validation_rows"] = setup.data.validation_rows.size();
  json["notes"] = notes_on(setup, summary);
  json["numerics_version"] = numerics_version(setup.configuration);
  json["version"] = build.version;
  json["commit"] = build.commit;
  json["compiler"] = build.compiler;
  json["instruction_set"] = build.instruction_set;
  json["randomness"] = choice_name(setup.privacy.on() ? setup.configuration.randomness : Randomness::seeded);
  if (setup.privacy.on()) {
    json["ledger_head"] = summary.ledger.head;
    json["ledger_lines"] = summary.ledger.lines;
    json["privacy"] = parse_json(statements_json(summary.privacy));
    cover(json, uncovered_of_summary(json, summary.test_is_covered), setup.configuration.publishable);
  }
  return dump_json(json, 2) + "\n";
}

}  // namespace fedstride
