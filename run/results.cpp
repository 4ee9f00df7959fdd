#include "run/results.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/build_info.hpp"
#include "core/json.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

OrderedJson number(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

void add_evaluation(OrderedJson& json, const std::string& name, const std::optional<Evaluation>& evaluation) {
  json[name + "_accuracy"] = evaluation ? number(evaluation->accuracy) : OrderedJson(nullptr);
  json[name + "_loss"] = evaluation ? number(evaluation->loss) : OrderedJson(nullptr);
}

void add_spent(OrderedJson& json, const char* level, const std::optional<SpentSoFar>& spent) {
  if (spent) json[level] = OrderedJson{{"epsilon", number(spent->epsilon)}, {"delta", spent->delta}};
}

// The entries of a line that no guarantee covers. Rates and undone steps follow from noisy gradients, which covers them if
// examples are protected, but they are one client's own.
std::vector<std::string> not_covered(const RoundRecord& record) {
  if (!record.example_spent && !record.client_spent) return {};
  std::vector<std::string> names{"validation_accuracy",
                                 "validation_loss",
                                 "train_loss",
                                 "examples",
                                 "seconds",
                                 "evaluation_seconds",
                                 "examples_per_second",
                                 "worst_client_accuracy",
                                 "best_client_accuracy",
                                 "client_accuracy_deviation",
                                 "failed_clients",
                                 "clients.examples",
                                 "clients.loss",
                                 "clients.accuracy",
                                 "clients.empty_lots",
                                 "clients.nonfinite",
                                 "clients.gradient_norm",
                                 "clients.clipped_share",
                                 "clients.update_norm",
                                 "clients.failure"};
  if (record.client_spent)
    for (const char* name : {"no_step_kept", "clients.client", "clients.rows", "clients.learning_rate", "clients.steps",
                             "clients.accepted", "clients.rejected", "clients.releases"})
      names.emplace_back(name);
  return names;
}

// Removes the entries in `names`; "clients.x" is x of every client, and clients without entries are removed.
void leave_out(OrderedJson& json, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!name.starts_with("clients.")) {
      json.erase(name);
      continue;
    }
    for (OrderedJson& client : json["clients"]) client.erase(name.substr(8));
  }
  if (std::ranges::all_of(json["clients"], [](const OrderedJson& client) { return client.empty(); })) json.erase("clients");
}

// As the round's entry does, the count of idle rounds follows from clients' own steps, which client-level privacy leaves open.
std::vector<std::string> notes_on(const Setup& setup, const RunSummary& summary) {
  std::vector<std::string> notes = setup.notes;
  const bool covered = !setup.privacy.client || !setup.configuration.publishable;
  if (summary.idle_rounds > 0 && covered)
    notes.push_back(idle_rounds_text(setup.configuration, summary.idle_rounds, summary.rounds));
  return notes;
}

double rate(std::uint64_t examples, double seconds) { return seconds > 0 ? static_cast<double>(examples) / seconds : 0; }

}  // namespace

std::string round_json(const RoundRecord& record, bool publishable) {
  OrderedJson json;
  json["round"] = record.round;
  add_evaluation(json, "test", record.test);
  add_evaluation(json, "validation", record.validation);
  json["train_loss"] = number(record.train_loss);
  json["examples"] = record.examples;
  json["seconds"] = record.seconds;
  json["evaluation_seconds"] = record.evaluation_seconds;
  json["examples_per_second"] = rate(record.examples, record.seconds);
  json["model_hash"] = record.model_hash;
  if (record.is_idle()) json["no_step_kept"] = true;
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
  OrderedJson& clients = json["clients"] = OrderedJson::array();
  for (std::size_t i = 0; i < record.clients.size(); ++i) {
    const ClientReport& report = record.clients[i];
    OrderedJson client{
        {"client", report.client},
        {"rows", report.rows},
        {"examples", report.examples},
        {"loss", number(report.loss)},
        {"accuracy", record.client_accuracy.empty() ? OrderedJson(nullptr) : OrderedJson(record.client_accuracy[report.client])},
        {"learning_rate", number(report.learning_rate)},
        {"steps", report.steps},
        {"accepted", report.steps - report.rejected},
        {"rejected", report.rejected},
        {"update_norm", number(report.update_norm)}};
    if (record.example_spent) {
      std::uint64_t releases = 0;
      for (const ReleaseRun& run : report.releases) releases += run.count;
      client["releases"] = releases;
      client["empty_lots"] = report.empty_lots;
      client["nonfinite"] = report.nonfinite;
      client["gradient_norm"] = number(report.gradient_norm);
      client["clipped_share"] = number(report.clipped_share);
    }
    if (!report.failure.empty()) client["failure"] = report.failure;
    clients.push_back(std::move(client));
  }
  add_spent(json, "example_privacy", record.example_spent);
  add_spent(json, "client_privacy", record.client_spent);
  if (const auto names = not_covered(record); !names.empty()) {
    if (publishable)
      leave_out(json, names);
    else
      json["not_covered"] = names;
  }
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
  OrderedJson json;
  json["rounds"] = summary.rounds;
  json["finished"] = !summary.interrupted;
  if (!summary.halted.empty()) json["halted"] = summary.halted;
  json["test_accuracy"] = number(summary.test.accuracy);
  json["test_loss"] = number(summary.test.loss);
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
  json["data_hash"] = setup.data.hash;
  json["partition_hash"] = setup.partition_hash;
  const auto brought = std::accumulate(setup.row_counts.begin(), setup.row_counts.end(), std::uint64_t{0});
  json["training_rows"] = setup.own_data.empty() ? setup.data.train.size() - setup.validation_rows.size() : brought;
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
    OrderedJson& statements = json["privacy"] = OrderedJson::array();
    for (const PrivacyStatement& statement : summary.privacy) statements.push_back(parse_ordered_json(statement_json(statement)));
    std::vector<std::string> names{"examples", "seconds", "evaluation_seconds", "examples_per_second",
                                   "failed_updates_this_session"};
    if (setup.privacy.client) names.emplace_back("idle_rounds");
    if (setup.configuration.publishable)
      for (const auto& name : names) json.erase(name);
    else
      json["not_covered"] = names;
  }
  return dump_json(json, 2) + "\n";
}

}  // namespace fedstride
