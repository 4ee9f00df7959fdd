#include "run/outside.hpp"

#include <string_view>
#include <utility>

#include "client/told_evaluation.hpp"
#include "core/error.hpp"
#include "nn/safetensors.hpp"
#include "objectives/plain.hpp"
#include "optim/optimizers.hpp"
#include "personal/no_personal.hpp"
#include "sim/dealt_states.hpp"
#include "sim/outside_fleet.hpp"

namespace fedstride {
Settings with_parameters(Settings settings, const std::filesystem::path& file) {
  for (const char* key : {"model", "init"})
    if (settings.contains(key))
      throw usage_error(std::string(key) + " is given besides parameters '" + file.string() +
                        "', which says what the model is and how it begins; valid is one of them");
  settings["model"] = {tensor_line_of(read_safetensors(file))};
  settings["init"] = {file.string()};
  if (!settings.contains("partition") && !settings.contains("dataset") && !settings.contains("data"))
    settings["partition"] = {std::string("outside")};
  return settings;
}

namespace {

constexpr std::string_view kClips = " (clipped sum)";

// The name and version of the code that trains; empty if none does.
std::string trainer_of(const Configuration& configuration) {
  constexpr std::string_view kKey = "; train=";
  const std::string code = "; " + configuration.code;
  const std::size_t begin = code.find(kKey);
  if (begin == std::string::npos) return {};
  const std::string from = code.substr(begin + kKey.size());
  return from.substr(0, from.find("; "));
}

}  // namespace

bool is_trained_outside(const Configuration& configuration) { return !trainer_of(configuration).empty(); }

bool is_clipped_outside(const Configuration& configuration) { return trainer_of(configuration).ends_with(kClips); }

void check_trained_outside(const Setup& setup) {
  const Configuration& configuration = setup.configuration;
  const std::string who = setup.model.has_layers() ? "code of your own trains the clients" : "the model is tensors alone";
  const auto refuse = [&](const std::string& key, std::string_view value, std::string_view valid) {
    throw usage_error(key + " is '" + std::string(value) + "'; " + who + ", and only " + std::string(valid) + " is valid");
  };
  if (example_level(configuration.privacy) != nullptr && !is_clipped_outside(configuration))
    refuse("dp", configuration.privacy.name(),
           "none, client, or example with code that says that it takes every gradient from Task.lots() "
           "(fedstride.uses_clipped_sum)");
  if (configuration.objective.as<Plain>() == nullptr) refuse("local-objective", configuration.objective.name(), "plain");
  if (configuration.personal->makes()) refuse("personal", configuration.personal.name(), "none");
  if (configuration.optimizer->pools()) refuse("optimizer", configuration.optimizer.name(), "one that pools nothing");
  const AttackPart& attack = *configuration.attack;
  if (attack.attackers() > 0 && !attack.conspires())
    refuse("attack", configuration.attack.name(), "one that replaces updates at the coordinator");
  if (configuration.augment != Augmentation::none) refuse("augment", choice_name(configuration.augment), "none");
  if (!configuration.freeze.empty()) refuse("freeze", configuration.freeze, "''");
  if (!setup.model.has_layers() && configuration.client_test != 0)
    refuse("client-test", std::to_string(configuration.client_test), "0");
}

void require_fleet(const Setup& setup, const FleetMaker& maker) {
  const bool needs_code = is_trained_outside(setup.configuration) || !setup.model.has_layers();
  if (needs_code && !maker.trains_outside)
    throw usage_error(
        (setup.model.has_layers() ? "code '" + setup.configuration.code + "' trains the clients"
                                  : std::string("the model is tensors alone")) +
        ", which this command cannot do; valid are fedstride.run(train=...) in Python (docs/python.md) and 'fedstride serve'");
}

void require_named_code(const Configuration& configuration, const std::string& folder) {
  const auto unnamed = configuration.code.find("=?");
  if (unnamed == std::string::npos) return;
  const auto begin = configuration.code.rfind(' ', unnamed);
  const auto first = begin == std::string::npos ? 0 : begin + 1;
  throw usage_error("the run in '" + folder + "' has code without a name and version (" +
                    configuration.code.substr(first, unnamed - first) +
                    "), so that nothing says that it would go on with the same; give them when a run begins "
                    "(fedstride.named)");
}

Evaluation checked_evaluation(Evaluation told, const Setup& setup) {
  told.metric = metric_of(setup.data.train.form().targets);
  told.is_told = true;
  if (const std::string why = impossible(sendable(told)); !why.empty()) throw usage_error("evaluate " + why);
  return told;
}

FleetMaker outside_fleet(OutsideTraining train, std::function<Evaluation(const Vector& model, EvaluatedOn examples)> evaluate) {
  const auto make = [train = std::move(train), evaluate = std::move(evaluate)](const FleetTask& task) {
    const Setup& setup = task.setup;
    auto fleet = std::make_shared<OutsideFleet>(setup.training, setup.row_counts, train);
    if (setup.configuration.client_state == ClientStateRule::keep) {
      deal_out_states(task.folder, task.identity, task.round, std::vector<std::size_t>(setup.rows.size()), 1);
      fleet->keep_in(StateStore(state_store_path(task.folder, 0, 1), task.identity, task.round));
    }
    RunFleet made = run_fleet(std::move(fleet));
    if (evaluate)
      made.evaluate = [evaluate, &setup](const Vector& model, EvaluatedOn examples) {
        return checked_evaluation(evaluate(model, examples), setup);
      };
    return made;
  };
  return {.make = make, .trains_outside = true};
}

}  // namespace fedstride
