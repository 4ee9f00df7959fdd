#include "run/evaluate.hpp"

#include <filesystem>

#include "core/error.hpp"
#include "core/json.hpp"
#include "data/datasets.hpp"
#include "nn/safetensors.hpp"
#include "partitions/own_rows.hpp"
#include "run/configuration.hpp"
#include "run/private_moments.hpp"
#include "sim/threads.hpp"

namespace fedstride {
namespace {

/// How a file is to be read: as said, and as the run did where nothing is.
ReadSettings merged(const ReadSettings& said, ReadSettings settings) {
  const Configuration nothing;
  Configuration from;
  Configuration into;
  static_cast<ReadSettings&>(from) = said;
  static_cast<ReadSettings&>(into) = settings;
  for (const SettingInfo& info : settings_of<Configuration>())
    if (info.get(&from) != info.get(&nothing)) info.set(&into, info.get(&from));
  return into;
}

}  // namespace

bool tests_protected_rows(const Configuration& run, bool training_part) {
  if (run.privacy.as<NoPrivacy>() != nullptr || run.partition.as<OwnRows>() != nullptr) return false;
  return training_part || !names_public_test(run.dataset, run);
}

void require_covered(const Configuration& run, const std::string& folder, bool training_part) {
  if (run.publishable && tests_protected_rows(run, training_part))
    throw usage_error(
        "the run in '" + folder +
        "' is publishable, and these rows are protected by it; a number measured on them is "
        "covered by no release: valid are data that it does not protect (--data FILE), or a run with evaluate private");
}

ModelEvaluation evaluate_file(const std::string& path, const std::string& dataset, const DataOptions& options, bool training_part,
                              int threads) {
  std::filesystem::path file(path);
  std::error_code error;
  DataOptions place = options;
  bool is_covered = true;
  if (!options.data.empty() && !dataset.empty() && dataset != kOwnFile)
    throw usage_error("dataset is '" + dataset + "' and data is '" + options.data + "'; valid is one of them");
  if (std::filesystem::is_directory(file, error)) {
    const auto configuration = file / "config.toml";
    if (dataset.empty() && std::filesystem::exists(configuration, error)) {
      const Configuration run = resolve(read_settings(configuration.string()));
      place = data_options(run);
      if (options.data.empty() && !options.brought) {
        require_covered(run, path, training_part);
        is_covered = !tests_protected_rows(run, training_part);
      }
      place.read = merged(options.read, place.read);
      if (!options.data.empty()) place.data = options.data;
      place.brought = options.brought;
      if (!options.data_dir.empty()) place.data_dir = options.data_dir;
      if (training_part && run.partition.as<OwnRows>() != nullptr)
        throw usage_error("part is 'train'; the rows of the run in '" + path + "' are with its clients, only test is valid");
    }
    file /= "model.safetensors";
  }
  const SafeTensors tensors = read_safetensors(file);
  take_moments(tensors.metadata, place.read);
  ModelEvaluation result{
      .model = model_of(tensors), .dataset = dataset, .class_names = {}, .evaluation = {}, .is_covered = is_covered};
  if (const auto trained_on = tensors.metadata.find("dataset"); dataset.empty() && trained_on != tensors.metadata.end())
    result.dataset = trained_on->second;
  if (!options.data.empty() || options.brought) result.dataset = kOwnFile;
  if (result.dataset.empty()) throw usage_error("'" + file.string() + "' does not say what it was trained on; name a --dataset");
  if (!result.model.has_layers())
    throw usage_error("'" + file.string() +
                      "' holds tensors alone, which no layers connect; only code of your own can evaluate it (docs/python.md)");
  if (options.read != ReadSettings() && !dataset_source(result.dataset).read)
    throw usage_error(
        "settings of how files are read are given; they go with data of your own (--data FILE), not with data set '" +
        result.dataset + "'");
  const DataPair data = load_dataset(result.dataset, place);
  const Dataset& part = training_part ? data.train : data.test;
  if (result.model.form() != part.form())
    throw usage_error("the model is for " + result.model.form().text() + "; dataset '" + result.dataset + "' has " +
                      part.form().text());
  result.class_names = part.class_names;
  const Vector weights = exact(result.model, tensors);
  Threads pool(threads);
  Evaluator evaluator(result.model, part);
  pool.for_each_task(1, [&](std::size_t) {
    result.evaluation =
        evaluator.evaluate(weights, [&](int count, function_ref<void(int)> piece) { pool.for_each_piece(count, piece); });
  });
  return result;
}

std::string evaluation_json(const ModelEvaluation& result) {
  Json json;
  json["dataset"] = result.dataset;
  json["examples"] = result.evaluation.examples;
  if (result.evaluation.metric != "accuracy") json["metric"] = result.evaluation.metric;
  json["accuracy"] = result.evaluation.accuracy;
  json["loss"] = result.evaluation.loss;
  json["class_examples"] = result.evaluation.class_examples;
  json["class_correct"] = result.evaluation.class_correct;
  json["model"] = result.model.line();
  if (!result.is_covered) json["not_covered"] = true;
  return dump_json(json, 2);
}

}  // namespace fedstride
