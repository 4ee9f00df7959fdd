// Every layer of the registry, without a list of them: the slow twin's gradient is that of finite differences, the network's is the
// slow twin's, private training's parts are those of single examples, and PyTorch has the layer (pytorch_test.cpp compares them).
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "core/family.hpp"
#include "core/files.hpp"
#include "core/function_ref.hpp"
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
    check_against_materialized(example.line, example.form, 4);
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
    CHECK(norms_of(one, setting) == norms_of(other, setting, backwards));
    const auto factors = some_factors(5);
    CHECK(weighted_sum(one, factors) == weighted_sum(other, factors, backwards));
  });
}

TEST_CASE("examples/load_in_pytorch.py builds every layer that a line may name") {
  const std::string script = read_file(FEDSTRIDE_SOURCE_DIR "/examples/load_in_pytorch.py");
  for (const std::string& name : part_names<WrittenLayer>())
    CHECK_MESSAGE(script.find('"' + name + '"') != std::string::npos, "examples/load_in_pytorch.py has no layer '", name,
                  "'; Builder.layer says which module each one is");
}

}  // namespace fedstride::test::every_layer_test
