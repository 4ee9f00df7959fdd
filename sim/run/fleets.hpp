#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "client/outside_training.hpp"
#include "server/fleet.hpp"
#include "sim/prepare/setup.hpp"

namespace fedstride {

class Threads;

/// What a fleet needs to know about a run that begins or continues.
struct FleetTask {
  const Setup& setup;
  Threads& threads;
  const std::atomic<bool>* stop = nullptr;
  std::filesystem::path folder = {};  ///< the run's folder
  std::string identity = {};          ///< run_identity
  std::uint32_t round = 0;            ///< the last checkpoint's round
};

/// Makes the fleet of a run.
struct FleetMaker {
  std::function<std::shared_ptr<Fleet>(const FleetTask& task)> make;
  RowsAre rows = RowsAre::here;
  std::function<void(const Setup& setup)> check = {};  ///< refuses a setup that the fleet cannot run; may be empty
  bool trains_outside = false;                         ///< clients are trained by user code or in other processes
  bool holds_states = true;                            ///< clients' states are in this process (Fleet::keep_states)
};

/// Throws Error (usage) if this fleet cannot train the configuration's clients. Called when a run begins.
void require_fleet(const Configuration& configuration, const FleetMaker& maker);

std::shared_ptr<Fleet> in_process_fleet(const FleetTask& task);

// --- user code (client/outside_training.hpp) ---

/// Settings for a federation whose model consists of the tensors in a safetensors file, which are also its initial weights.
/// Partition outside is set too, unless the settings specify a data set or a partition. Throws Error: usage if the settings
/// specify a model or init, failure for an invalid file.
Settings with_parameters(Settings settings, const std::filesystem::path& file);

/// Completes an evaluation by user code with the metric for the setup's targets. Throws Error (usage) for impossible values.
Evaluation checked_evaluation(Evaluation told, const DataSetup& setup);

/// Evaluation by user code.
using OutsideEvaluation = std::function<Evaluation(const Vector& model, EvaluatedOn examples)>;

/// The fleet of a run whose clients are trained by user code in this process. With `evaluate`, user code also evaluates the
/// models; otherwise models with layers are evaluated by fedstride, and others are not evaluated.
FleetMaker outside_fleet(OutsideTraining train, OutsideEvaluation evaluate = {});

}  // namespace fedstride
