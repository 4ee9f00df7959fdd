#pragma once

#include <string>

#include "data/data_folder.hpp"
#include "data/dataset.hpp"
#include "nn/evaluation.hpp"
#include "nn/model.hpp"

namespace fedstride {

/// A model from a file, and its evaluation.
struct ModelEvaluation {
  Model model;
  std::string dataset;
  std::vector<std::string> class_names;
  Evaluation evaluation;
};

/// Evaluates a model.safetensors, or the one in a run's folder, on the test examples (or the training ones) of a data
/// set; an empty `dataset` means the one the file was trained on, and then, with a run's folder, empty `data` and `data_dir` of the
/// options the run's own, and its settings of how a file is read where `options.read` says nothing else. With `options.data` it is the
/// data set 'file'. Throws Error.
ModelEvaluation evaluate_file(const std::string& path, const std::string& dataset, const DataOptions& options, bool training_part,
                              int threads);

/// For programs: accuracy, loss, examples and accuracy per class as JSON.
std::string evaluation_json(const ModelEvaluation& result);

}  // namespace fedstride
