#pragma once

#include <string>

#include "data/data_folder.hpp"
#include "data/dataset.hpp"
#include "nn/evaluation.hpp"
#include "nn/model.hpp"
#include "run/configuration.hpp"

namespace fedstride {

/// A model from a file, and its evaluation.
struct ModelEvaluation {
  Model model;
  std::string dataset;
  std::vector<std::string> class_names;
  Evaluation evaluation;
  bool is_covered = true;  ///< false: of rows that the run's guarantee protects, so that this number is not covered by it
};

/// True if the rows that a run is evaluated on are protected by its own guarantee: no release covers numbers measured on them.
bool tests_protected_rows(const Configuration& run, bool training_part);
/// Refuses to evaluate a run whose results are publishable on rows that it protects. Throws Error (usage).
void require_covered(const Configuration& run, const std::string& folder, bool training_part);

/// Evaluates a model.safetensors, or the one in a run's folder, on the test examples (or the training ones) of a data
/// set; an empty `dataset` means the one the file was trained on, and then, with a run's folder, empty `data` and `data_dir` of the
/// options the run's own, and its settings of how a file is read where `options.read` says nothing else. With `options.data` it is the
/// data set 'file'. Throws Error.
ModelEvaluation evaluate_file(const std::string& path, const std::string& dataset, const DataOptions& options, bool training_part,
                              int threads);

/// For programs: accuracy, loss, examples and accuracy per class as JSON.
std::string evaluation_json(const ModelEvaluation& result);

}  // namespace fedstride
