#include "experiments/results.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/build_info.hpp"

namespace fedstride {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

void add_evaluation(Json& json, const std::string& name, const std::optional<Evaluation>& evaluation) {
  json[name + "_accuracy"] = evaluation ? number(evaluation->accuracy) : Json(nullptr);
  json[name + "_loss"] = evaluation ? number(evaluation->loss) : Json(nullptr);
}

double rate(std::uint64_t examples, double seconds) { return seconds > 0 ? static_cast<double>(examples) / seconds : 0; }

}  // namespace

std::string round_json(const RoundRecord& record) {
  Json json;
  json["round"] = record.round;
  add_evaluation(json, "test", record.test);
  add_evaluation(json, "validation", record.validation);
  json["train_loss"] = number(record.train_loss);
  json["examples"] = record.examples;
  json["seconds"] = record.seconds;
  json["examples_per_second"] = rate(record.examples, record.seconds);
  json["model_hash"] = record.model_hash;
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
  Json& clients = json["clients"] = Json::array();
  for (std::size_t i = 0; i < record.clients.size(); ++i) {
    const ClientReport& report = record.clients[i];
    Json client{{"client", report.client},
                {"rows", report.rows},
                {"examples", report.examples},
                {"loss", number(report.loss)},
                {"accuracy", record.client_accuracy.empty() ? Json(nullptr) : Json(record.client_accuracy[report.client])},
                {"learning_rate", number(report.learning_rate)},
                {"steps", report.steps},
                {"accepted", report.steps - report.rejected},
                {"rejected", report.rejected}};
    if (!report.failure.empty()) client["failure"] = report.failure;
    clients.push_back(std::move(client));
  }
  return json.dump();
}

std::string summary_json(const Setup& setup, const RunSummary& summary, const std::string& model_hash) {
  const BuildInfo build = build_info();
  Json json;
  json["rounds"] = summary.rounds;
  json["finished"] = !summary.interrupted;
  json["test_accuracy"] = number(summary.test.accuracy);
  json["test_loss"] = number(summary.test.loss);
  json["examples"] = summary.examples;
  json["seconds"] = summary.seconds;
  json["examples_per_second"] = rate(summary.examples, summary.seconds);
  json["failed_updates_this_session"] = summary.failures;
  json["pieces_helped_this_session"] = summary.pieces_helped;
  json["peak_memory_bytes"] = peak_memory();
  json["model_hash"] = model_hash;
  json["model"] = setup.model.line();
  json["parameters"] = setup.model.parameter_count();
  json["data_hash"] = setup.data.hash;
  json["partition_hash"] = setup.partition_hash;
  json["training_rows"] = setup.data.train.size() - setup.validation_rows.size();
  json["test_rows"] = setup.data.test.size();
  json["notes"] = setup.notes;
  json["version"] = build.version;
  json["compiler"] = build.compiler;
  json["instruction_set"] = build.instruction_set;
  json["randomness"] = "seeded";
  return json.dump(2) + "\n";
}

}  // namespace fedstride
