#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/data_folder.hpp"
#include "data/dataset.hpp"
#include "nn/evaluation.hpp"
#include "nn/model.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride {

/// A model from a file, and its evaluation.
struct ModelEvaluation {
  Model model;
  std::string dataset;
  std::vector<std::string> class_names = {};
  std::vector<std::string> notes = {};  ///< about reading the data
  Evaluation evaluation = {};
  bool is_covered = true;  ///< false: the run's guarantee protects the rows but does not cover the evaluation
};

/// Evaluates a model.safetensors, or the model in a run's folder, on the test (or training) examples of a data set. An empty
/// `dataset` means the model's training data set. For a run's folder, empty `options.data` and `options.data_dir` then mean the
/// run's own paths, and the run's settings for reading files apply unless `options.read` overrides them. `options.data` implies
/// data set 'file': it is read through the model's schema (data/schema.hpp), and every row of a file without a test part is
/// tested. Throws Error.
ModelEvaluation evaluate_file(const std::string& path, const std::string& dataset, const DataOptions& options, bool training_part,
                              int threads);

/// Accuracy, loss, number of examples and accuracy per class, as JSON.
std::string evaluation_json(const ModelEvaluation& result);

/// The evaluation of a finished run on each client's own test rows.
struct ClientsEvaluation {
  std::string dataset;
  std::vector<std::string> class_names;
  std::string_view metric = "accuracy";          ///< the metric in GroupEvaluation::accuracy
  std::vector<GroupEvaluation> global = {};      ///< the run's model, by client
  std::vector<GroupEvaluation> fine_tuned = {};  ///< after local epochs on the client's training rows; empty if not requested
  std::vector<GroupEvaluation> personal = {};    ///< the clients' personal models; empty if the run makes none
  std::vector<std::vector<std::uint64_t>> confusion =
      {};                  ///< of the run's model on the whole test part, [actual][predicted]; empty if targets are not classes
  bool is_covered = true;  ///< false: the run's guarantee protects the rows but not the results
};

/// Evaluates on each client's own test rows: the model in a run's folder; if `epochs` is above 0, each client's model after this
/// many local epochs with the run's optimizer, without privacy or a local objective; and the clients' personal models, if the
/// run makes any: those in its folder (clients without one use the run's model), or fine-tuned ones. Empty `data` and `data_dir`
/// mean the run's own. Throws Error (usage) if the clients have no test rows or hold the rows themselves, if the run has private
/// components, or if it is publishable and the results would not be covered.
ClientsEvaluation evaluate_clients(const std::string& folder, const std::string& data_dir, int epochs, int threads,
                                   const std::string& data = {});

std::string clients_json(const ClientsEvaluation& result);

}  // namespace fedstride
