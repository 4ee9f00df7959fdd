#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "client/outside_training.hpp"
#include "run/run.hpp"
#include "run/setup.hpp"

namespace fedstride {

// Runs whose clients are trained by code of the user's own (client/outside_training.hpp).

/// The settings of a federation whose model is the tensors of a safetensors file, which are the first weights; its clients' examples
/// are outside too, unless the settings name a data set or a partition. Throws Error: usage if they name a model, failure for a file that
/// is none.
Settings with_parameters(Settings settings, const std::filesystem::path& file);

/// True if code from outside trains the clients of this process: Configuration::code says so.
bool is_trained_outside(const Configuration& configuration);

/// True if that code says that all it takes from examples are sums that were clipped and noised here (client/outside_lots.hpp).
bool is_clipped_outside(const Configuration& configuration);

/// Called where a setup is made. Throws Error (usage) for parts that would have to take part in the training: nothing here does.
void check_trained_outside(const Setup& setup);

/// Called where a run begins. Throws Error (usage) if the setup's clients are not those that such a fleet trains.
void require_fleet(const Setup& setup, const FleetMaker& maker);

/// Called where a run goes on. Throws Error (usage) for code that has no name and version.
void require_named_code(const Configuration& configuration, const std::string& folder);

/// An evaluation by code of the user's own, with the metric of the setup's answers. Throws Error (usage) if no test can have given it.
Evaluation checked_evaluation(Evaluation told, const Setup& setup);

/// The fleet of a run whose clients code of the user's own trains, in this process; with `evaluate` that code tests the models, too
/// (without it models of layers are tested here, others not at all).
FleetMaker outside_fleet(OutsideTraining train,
                         std::function<Evaluation(const Vector& model, EvaluatedOn examples)> evaluate = {});

}  // namespace fedstride
