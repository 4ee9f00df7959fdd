#include "experiments/evaluate.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "data/datasets.hpp"
#include "nn/safetensors.hpp"
#include "sim/threads.hpp"

namespace fedstride {

ModelEvaluation evaluate_file(const std::string& path, const std::string& dataset, const std::string& data_dir,
                              bool training_part, int threads) {
  std::filesystem::path file(path);
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) file /= "model.safetensors";
  const SafeTensors tensors = read_safetensors(file);
  const auto metadata = [&](const std::string& key) {
    const auto found = tensors.metadata.find(key);
    return found == tensors.metadata.end() ? std::string() : found->second;
  };
  const std::string line = metadata("model");
  if (line.empty())
    throw failure("'" + file.string() + "' does not say which layers its model has; files that fedstride wrote do");
  const std::string name = dataset.empty() ? metadata("dataset") : dataset;
  const DataPair data = load_dataset(name, DataOptions{data_dir});
  const Dataset& part = training_part ? data.train : data.test;
  ModelEvaluation result{Model::parse(line, part.shape, part.classes), name, part.class_names, {}};
  const Vector weights = exact(result.model, tensors);
  Threads pool(threads);
  Evaluator evaluator(result.model, part);
  pool.for_each_task(1, [&](std::size_t) {
    result.evaluation = evaluator.evaluate(weights, [&](int count, function_ref<void(int)> piece) { pool.for_each_piece(count, piece); });
  });
  return result;
}

std::string evaluation_json(const ModelEvaluation& result) {
  nlohmann::ordered_json json;
  json["dataset"] = result.dataset;
  json["examples"] = result.evaluation.examples;
  json["accuracy"] = result.evaluation.accuracy;
  json["loss"] = result.evaluation.loss;
  json["class_examples"] = result.evaluation.class_examples;
  json["class_correct"] = result.evaluation.class_correct;
  json["model"] = result.model.line();
  return json.dump(2);
}

}  // namespace fedstride
