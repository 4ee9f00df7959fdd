#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_folder.hpp"
#include "data/dataset.hpp"
#include "nn/evaluation.hpp"
#include "nn/metrics.hpp"
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
  Metrics metrics = {};
  bool is_covered = true;  ///< false: the run's guarantee protects the rows but does not cover the evaluation
};

/// Evaluates a model.safetensors, or the model in a run's folder, on the test (or training) examples of a data set. An empty
/// `dataset` means the model's training data set. For a run's folder, empty `options.data` and `options.data_dir` then mean the
/// run's own paths, and the run's settings for reading files apply unless `options.read` overrides them. `options.data` implies
/// data set 'file': it is read through the model's schema (data/schema.hpp), and every row of a file without a test part is
/// tested. Throws Error.
ModelEvaluation evaluate_file(const std::string& path, const std::string& dataset, const DataOptions& options, bool training_part,
                              int threads);

/// Accuracy, loss, number of examples, accuracy per class and the metrics, as JSON.
std::string evaluation_json(const ModelEvaluation& result);

/// A model's predictions for the rows of a file.
struct Predictions {
  Targets targets = Targets::classes;
  std::vector<std::string> names = {};  ///< of the classes, flags or values; numbers, from 0, if they have none
  std::vector<double> numbers = {};     ///< rows x names: probabilities, or values
  std::vector<std::string> notes = {};  ///< about reading the data
};

/// Predicts every row of `options.data` (or `brought`), in the file's order; its columns are matched by name, and it needs no
/// answers. `path` is as in evaluate_file. With `client`, that client's personal model, which must be in the run's folder, is
/// used. Throws Error (usage) for positions and for files of which rows would be left out.
Predictions predict_file(const std::string& path, const DataOptions& options, std::optional<ClientId> client, int threads);
/// A line for each row, after a header: row (from 1); class and probability_NAME of each class, probability_NAME of each flag, or
/// the values.
std::string predictions_csv(const Predictions& predictions);

/// The evaluation of a finished run on each client's own test rows.
struct ClientsEvaluation {
  std::string dataset;
  std::vector<std::string> class_names;
  std::string_view metric = "accuracy";          ///< the metric in GroupEvaluation::accuracy
  std::vector<GroupEvaluation> global = {};      ///< the run's model, by client
  std::vector<GroupEvaluation> fine_tuned = {};  ///< after local epochs on the client's training rows; empty if not requested
  std::vector<GroupEvaluation> personal = {};    ///< the clients' personal models; empty if the run makes none
  Metrics metrics = {};                          ///< of the run's model on the whole test part
  std::vector<Metrics> client_metrics = {};      ///< of the run's model, by client
  std::vector<std::string> client_names = {};    ///< of natural clients; else empty
  bool is_covered = true;                        ///< false: the run's guarantee protects the rows but not the results
};

/// Evaluates on each client's own test rows: the model in a run's folder; if `epochs` is above 0, each client's model after this
/// many local epochs with the run's optimizer, without privacy or a local objective; and the clients' personal models, if the
/// run makes any: those in its folder (clients without one use the run's model), or fine-tuned ones. Empty `data` and `data_dir`
/// mean the run's own. Throws Error (usage) if the clients have no test rows or hold the rows themselves, if the run has private
/// components, or if it is publishable and the results would not be covered.
ClientsEvaluation evaluate_clients(const std::string& folder, const std::string& data_dir, int epochs, int threads,
                                   const std::string& data = {});

/// The clients' accuracy, weighted by the numbers of their test rows.
double mean_by_rows(const std::vector<GroupEvaluation>& clients);

std::string clients_json(const ClientsEvaluation& result);

}  // namespace fedstride
