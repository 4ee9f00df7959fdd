#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "core/files.hpp"
#include "core/random.hpp"
#include "nn/network.hpp"
#include "nn/safetensors.hpp"
#include "tests/kits/reference.hpp"
#include "tests/nn/layer_examples.hpp"
#include "tests/nn/setting.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::pytorch_test {
namespace {

constexpr int kRows = 6;

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Saves tensors in double as two files, whose sum they are.
void write_exactly(const std::filesystem::path& folder, const std::string& name, const Model& model,
                   const std::vector<double>& values) {
  Vector high(values.size()), low(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    view(high)[i] = static_cast<float>(values[i]);
    view(low)[i] = static_cast<float>(values[i] - static_cast<double>(view(high)[i]));
  }
  write_file(folder / (name + ".safetensors"), write_safetensors(model, high));
  write_file(folder / (name + "_rest.safetensors"), write_safetensors(model, low));
}

/// Writes the sum of the examples' gradients, of which some are clipped, and the norm to which they are.
void write_clipped(const std::filesystem::path& folder, const Model& model, Network& network, const Vector& weights,
                   const std::vector<float>& inputs, const Batch& batch) {
  std::copy(inputs.begin(), inputs.end(), network.inputs(kRows).begin());
  std::vector<double> norms(kRows);
  network.per_example(weights.data(), batch, norms);
  auto sorted = norms;
  std::sort(sorted.begin(), sorted.end());
  const double clip = sorted[kRows / 2];  // some are clipped
  std::vector<float> factors;
  for (const double norm : norms) factors.push_back(static_cast<float>(std::min(1.0, clip / norm)));
  Vector sum(model.size());
  network.weighted_sum(factors, [&](std::size_t offset, std::span<const double> part) {
    std::ranges::transform(part, view(sum).begin() + static_cast<std::ptrdiff_t>(offset),
                           [](double value) { return static_cast<float>(value); });
    return 0.0;
  });
  write_file(folder / "clipped.safetensors", write_safetensors(model, sum));
  write_file(folder / "clip.txt", std::to_string(clip));
}

/// Writes a model, a batch, its scores and mean gradient by the slow twin, the weights after one SGD step by the network, and, where
/// examples have gradients of their own, the sum of these, clipped.
void write_case(const std::filesystem::path& folder, std::string_view line, const ExampleForm& form) {
  constexpr float kRate = 0.1F;
  const auto model = Model::parse(line, form);
  // At seed 1, rounding carries one of resnet20's activations over the kink of relu.
  Vector weights = model.initial(Initialization::fan_in, 2);
  RandomStream random(2, {.purpose = Purpose::test});
  const RandomExamples<float> made(form, kRows, random);
  const auto &inputs = made.inputs, &values = made.values;
  const auto& labels = made.labels;
  std::vector<Row> rows;
  for (Row row = 0; row < kRows; ++row) rows.push_back(row);
  const Batch batch{labels, rows, {}, values};
  write_file(folder / "model.safetensors", write_safetensors(model, weights));
  const std::vector<double> exact_weights(weights.begin(), weights.end()), exact_inputs(inputs.begin(), inputs.end());
  const auto twin = reference_gradient<double>(model, exact_weights, exact_inputs, batch);
  write_exactly(folder, "gradient", model, twin.gradient);
  write_file(folder / "scores.bin", bytes_of(twin.scores));
  Network network(model, kRows);
  std::filesystem::remove(folder / "clipped.safetensors");
  if (model.running_statistics().empty()) write_clipped(folder, model, network, weights, inputs, batch);
  write_file(folder / "parameters.txt", std::to_string(model.parameter_count()));
  std::copy(inputs.begin(), inputs.end(), network.inputs(kRows).begin());
  network.gradient(weights.data(), batch, [&](std::size_t offset, std::span<const float> gradient) {
    for (std::size_t i = 0; i < gradient.size(); ++i) view(weights)[offset + i] -= kRate * gradient[i];
    return 0.0;
  });
  network.add_batches(weights.data());
  write_file(folder / "step.safetensors", write_safetensors(model, weights));
  write_file(folder / "inputs.bin", bytes_of(inputs));
  write_file(folder / "labels.bin", bytes_of(labels));
  write_file(folder / "values.bin", bytes_of(values));
  write_file(folder / "rate.txt", "0.1");
}

}  // namespace

TEST_CASE("the same weights in PyTorch give the same scores, the same step and the same clipped sum") {
  const char* python = std::getenv("FEDSTRIDE_PYTORCH");
  if (python == nullptr) FEDSTRIDE_SKIP("FEDSTRIDE_PYTORCH names no Python that has PyTorch");
  struct Case {
    std::string line;
    Shape input;
    Targets targets = Targets::classes;
    int vocabulary = 0;
  };
  std::vector<Case> cases = {
      {"adadp-cnn", {32, 32, 3}},
      {"yu-cnn", {28, 28, 1}},
      {"tutorial-cnn", {28, 28, 1}},
      {"conv 5 3 stride 2 pad 2 nobias | tanh | avgpool 3 2 | flatten | dense 7 nobias | dense classes", {11, 14, 2}},
      {"conv 6 3 | groupnorm 2 | relu | maxpool 2 2 | conv 8 2 | groupnorm 1 | tanh | dense 12 | groupnorm 3 | dense classes",
       {11, 14, 2}},
      {"femnist-cnn", {28, 28, 1}},
      {"simple-cnn", {32, 32, 3}},
      {"resnet8-gn", {16, 16, 3}},
      {"resnet20-gn", {8, 8, 3}},
      {"resnet20", {8, 8, 3}},
      {"resnet18", {4, 4, 3}},
      {"batchnorm | dense 7 nobias | batchnorm cumulative | tanh | dense classes", {1, 1, 9}},
      {"resnet18-gn", {4, 4, 3}},
      {"conv 6 3 2 1 | layernorm | gelu | maxpool 3 2 pad 1 | leakyrelu | conv 8 2 | sigmoid | avgpool 3 1 pad 1 | dense 12 | "
       "layernorm | leakyrelu 0.2 | residual { dense 12 | gelu } | dense classes",
       {21, 24, 2}},
      {"repeat 2 { residual { conv 6 3 2 1 | groupnorm 3 | residual { conv 6 1 | tanh } } } | residual pad { conv 9 3 2 1 } | "
       "globalavgpool | dense classes",
       {17, 20, 4}},
      {"dense 16 | layernorm | gelu | residual { dense 16 | sigmoid } | dense classes", {1, 1, 9}},
      {"dense 7 | tanh | dense outputs", {1, 1, 9}, Targets::values},
      {"dense 7 | tanh | dense outputs", {1, 1, 9}, Targets::flags},
      {"embedding 8 | lstm 24 | lstm 19 | last | dense classes", {12, 1, 1}, Targets::classes, 15},
      {"embedding 8 | gru 24 | relu | gru 19 | dense classes", {12, 1, 1}, Targets::positions, 15},
      {"sequence | gru 9 | last | dense classes", {7, 5, 2}},
      {"embedding 6 | positions | attention 2 | dense 9 | tanh | attention 3 | dense classes",
       {12, 1, 1},
       Targets::positions,
       15},
      {"small-transformer", {20, 1, 1}, Targets::positions, 15},
  };
  for_each_layer([&]<class Kind>(const Kind&, const Example& example) {
    // PyTorch draws other masks.
    if constexpr (!std::is_same_v<Kind, Dropout>)
      cases.push_back({example.line, example.form.shape, example.form.targets, example.form.vocabulary});
  });
  const auto folder = std::filesystem::temp_directory_path() / ("fedstride-pytorch-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const Case& item : cases) {
    CAPTURE(item.line);
    write_case(folder, item.line, {item.input, 10, item.targets, item.vocabulary});
    const std::string script = std::string(FEDSTRIDE_SOURCE_DIR) + "/tests/nn/pytorch_check.py";
    CHECK(std::system(("'" + std::string(python) + "' '" + script + "' '" + folder.string() + "'").c_str()) == 0);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace fedstride::test::pytorch_test
