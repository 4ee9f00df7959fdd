#include "sim/run/fleets.hpp"

#include <utility>

#include "client/told_evaluation.hpp"
#include "core/error.hpp"
#include "nn/safetensors.hpp"
#include "sim/fleet/dealt_states.hpp"
#include "sim/fleet/in_process_fleet.hpp"
#include "sim/settings/rules.hpp"

namespace fedstride {
namespace {

/// A fleet of clients trained by user code. Its answers include client states, which are kept if client-state is keep.
class OutsideFleet : public LocalFleet {
 public:
  OutsideFleet(const Setup& setup, OutsideTraining train, OutsideEvaluation evaluate)
      : setup_(setup), train_(std::move(train)), evaluate_(std::move(evaluate)) {}

  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    const auto rows = [&](ClientId client) { return setup_.clients.row_counts[client]; };
    const auto describe = [&](ClientId client) {
      return outside_task(setup_.training, task, client, rows(client), states_ ? states_->read(client) : std::string());
    };
    train_(task, cohort, describe, [&](OutsideAnswer answer) {
      const ClientId client = answer.client;
      if (answer.failure.empty()) {
        progress_ += answer.examples;
        if (states_) states_->write(client, answer.state);
      }
      send_answer(setup_.training, task, rows(client), std::move(answer),
                  [&](const ClientUpdate& update) { updates.add(update, task.scale); });
    });
  }

  std::optional<Evaluation> evaluate(const Vector& model, EvaluatedOn examples) override {
    if (!evaluate_) return std::nullopt;
    return checked_evaluation(evaluate_(model, examples), setup_);
  }

 private:
  const Setup& setup_;
  OutsideTraining train_;
  OutsideEvaluation evaluate_;
};

/// Makes the fleet keep the clients' states in the run's folder.
void keep_states(LocalFleet& fleet, const FleetTask& task) {
  deal_out_states(task.folder, task.identity, task.round, std::vector<std::size_t>(task.setup.clients.rows.size()), 1);
  fleet.keep_in(StateStore(state_store_path(task.folder, 0, 1), task.identity, task.round));
}

}  // namespace

Settings with_parameters(Settings settings, const std::filesystem::path& file) {
  for (const char* key : {"model", "init"})
    if (settings.contains(key))
      throw usage_error(std::string(key) + " is set together with parameters '" + file.string() +
                        "', which defines the model and its initial weights; set only one of them");
  settings["model"] = {tensor_line_of(read_safetensors(file))};
  settings["init"] = {file.string()};
  if (!settings.contains("partition") && !settings.contains("dataset") && !settings.contains("data"))
    settings["partition"] = {std::string("outside")};
  return settings;
}

Evaluation checked_evaluation(Evaluation told, const DataSetup& setup) {
  told.metric = metric_of(setup.data.train.form().targets);
  told.is_told = true;
  if (const std::string why = impossible(sendable(told)); !why.empty()) throw usage_error("evaluate " + why);
  return told;
}

void require_fleet(const Configuration& configuration, const FleetMaker& maker) {
  if (maker.rows == RowsAre::here) check_rules(configuration, RuleScope::rows_here);
  if (!maker.trains_outside) check_rules(configuration, RuleScope::no_code);
}

std::shared_ptr<Fleet> in_process_fleet(const FleetTask& task) {
  const Setup& setup = task.setup;
  auto fleet = std::make_shared<InProcessFleet>(setup.model, setup.data.train, setup.training, setup.clients.rows, task.threads);
  fleet->stop_when(task.stop);
  if (setup.training.keeps_clients()) keep_states(*fleet, task);
  return fleet;
}

FleetMaker outside_fleet(OutsideTraining train, OutsideEvaluation evaluate) {
  const auto make = [train = std::move(train), evaluate = std::move(evaluate)](const FleetTask& task) {
    auto fleet = std::make_shared<OutsideFleet>(task.setup, train, evaluate);
    if (task.setup.configuration.client_state == ClientStateRule::keep) keep_states(*fleet, task);
    return fleet;
  };
  return {.make = make, .trains_outside = true};
}

}  // namespace fedstride
