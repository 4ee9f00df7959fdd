// Every layer of the registry, without a list of them: the slow twin's gradient is that of finite differences, the network's is the
// slow twin's, private training's parts are those of single examples, and PyTorch has the layer (pytorch_test.cpp compares them).
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "core/family.hpp"
#include "core/files.hpp"
#include "core/function_ref.hpp"
#include "nn/models.hpp"
#include "nn/safetensors.hpp"
#include "tests/nn/layer_checks.hpp"
#include "tests/nn/layer_examples.hpp"

namespace fedstride::test::every_layer_test {

TEST_CASE("every layer: its gradient is that of finite differences, the network's is the twin's, each example's is its own") {
  for_each_layer([]<class Kind>(const Kind&, const Example& example) {
    INFO("layer ", std::string(Kind::kName), ": its gradient is in its twin (tests/kits/reference*.hpp) and in its stage (nn/)");
    const Model model = Model::parse(example.line, example.form);
    CHECK_MESSAGE(std::ranges::any_of(model.layers(), [](const Layer& layer) { return std::holds_alternative<Kind>(layer); }),
                  "its example (tests/nn/layer_examples.hpp) is '", example.line, "', a model without it");
    check_against_finite_differences(example.line, example.form);
    for (const int rows : {1, 5}) check_against_twin(example.line, example.form, rows);
    if constexpr (!Kind::kTraits.mixes_examples) check_against_materialized(example.line, example.form, 4);
  });
}

TEST_CASE("every layer: its line and its file give the same model again, and the order of pieces changes no bit") {
  const auto backwards = [](int count, function_ref<void(int)> piece) {
    while (count > 0) piece(--count);
  };
  for_each_layer([&]<class Kind>(const Kind&, const Example& example) {
    INFO("layer ", std::string(Kind::kName));
    const Setting setting(example.line, example.form, 5);
    CHECK(Model::parse(setting.model.line(), example.form).line() == setting.model.line());
    const auto file = parse_safetensors(write_safetensors(setting.model, setting.weights), "x");
    CHECK(model_of(file).line() == setting.model.line());
    CHECK(exact(setting.model, file) == setting.weights);
    Network one(setting.model, 5), other(setting.model, 5);
    CHECK(network_gradient(one, setting).gradient == network_gradient(other, setting, backwards).gradient);
    if constexpr (Kind::kTraits.mixes_examples) return;
    CHECK(norms_of(one, setting) == norms_of(other, setting, backwards));
    const auto factors = some_factors(5);
    CHECK(weighted_sum(one, factors) == weighted_sum(other, factors, backwards));
  });
}

TEST_CASE("every layer: an example's term in a weighted sum has the same bits in every batch, and its norm is that of the term") {
  // Terms of one example each: their sums are exact.
  const auto term = [](Network& network, std::size_t rows, std::size_t row) {
    std::vector<float> factors(rows, 0.0F);
    factors[row] = 1;
    std::vector<double> sum(network.model().size());
    network.weighted_sum(factors, [&](std::size_t offset, std::span<const double> part) {
      std::ranges::copy(part, sum.begin() + static_cast<std::ptrdiff_t>(offset));
      return 0.0;
    });
    return sum;
  };
  std::vector<Example> examples;
  for_each_layer([&]<class Kind>(const Kind&, const Example& example) {
    if (!Kind::kTraits.mixes_examples) examples.push_back(example);
  });
  const ExampleForm picture{{28, 28, 1}, 10}, color{{32, 32, 3}, 10};
  for (const char* line : {"conv 32 5 | maxpool 2 2 | relu | conv 64 5 | relu | maxpool 2 2 | dense 64 | relu | dense classes",
                           "conv 70 3 | dense 300 | tanh | dense classes"})
    examples.push_back({std::string(line), picture});
  for (const std::string_view name : {"adadp-cnn", "resnet8-gn"})
    examples.push_back({std::string(find_named_model(name)->line), color});
  for (const Example& example : examples) {
    CAPTURE(example.line);
    const FloatingPointMode mode;
    constexpr std::size_t kRows = 37;
    const Setting setting(example.line, example.form, kRows);
    Network batch(setting.model, kRows), single(setting.model, 1);
    const auto norms = norms_of(batch, setting);
    std::vector<double> sum(setting.model.size()), expected(setting.model.size());
    for (const std::size_t row : {std::size_t{0}, std::size_t{5}, std::size_t{12}, kRows - 1}) {
      CAPTURE(row);
      const std::vector<double> among = term(batch, kRows, row);
      const std::size_t size = setting.model.input().size();
      std::copy_n(setting.inputs.begin() + static_cast<std::ptrdiff_t>(row * size), size, single.inputs(1).begin());
      std::vector<double> own_norm(1);
      single.per_example(setting.weights.data(), setting.batch_of(row), own_norm);
      CHECK(term(single, 1, 0) == among);
      CHECK(own_norm[0] == norms[row]);
      CHECK(norm(among) <= norms[row]);
      CHECK(norm(among) >= norms[row] / (1 + Network::kNormMargin));
    }
  }
}

TEST_CASE("examples/load_in_pytorch.py builds every layer that a line may name") {
  const std::string script = read_file(FEDSTRIDE_SOURCE_DIR "/examples/load_in_pytorch.py");
  for (const std::string& name : part_names<WrittenLayer>())
    CHECK_MESSAGE(script.find('"' + name + '"') != std::string::npos, "examples/load_in_pytorch.py has no layer '", name,
                  "'; Builder.layer says which module each one is");
}

}  // namespace fedstride::test::every_layer_test
