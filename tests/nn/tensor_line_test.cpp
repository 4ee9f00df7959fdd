#include "nn/tensor_line.hpp"

#include <doctest/doctest.h>

#include "nn/network.hpp"
#include "nn/safetensors.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::tensor_line_test {
namespace {

constexpr const char* kLine = "tensor fc.weight 3 2 | tensor fc.bias 3 | tensor temperature";

}  // namespace

TEST_CASE("a model of tensors has their names, shapes, places and line") {
  const Model model = Model::parse("  tensor fc.weight 3 2|tensor  fc.bias 3 | tensor temperature ", {});
  CHECK(model.line() == kLine);
  CHECK_FALSE(model.has_layers());
  CHECK(model.parameter_count() == 10);
  REQUIRE(model.parameters().size() == 3);
  CHECK(model.parameters()[0].shape == std::vector<std::int64_t>{3, 2});
  CHECK(model.find("fc.bias")->offset == 16);
  CHECK(model.find("temperature")->offset == 32);
  CHECK(model.find("temperature")->size == 1);
  CHECK(model.size() == 48);
  CHECK(view(model.initial(Initialization::glorot, 3)).size() == 48);
  CHECK(Model::parse("dense classes", {{1, 1, 2}, 3}).has_layers());
}

TEST_CASE("a file of its weights gives the same model and the same weights") {
  const Model model = Model::parse(kLine, {});
  Vector weights(model.size());
  for (const Parameter& parameter : model.parameters())
    for (std::size_t i = 0; i < parameter.size; ++i) weights[parameter.offset + i] = static_cast<float>(parameter.offset + i) / 7;
  const SafeTensors file = parse_safetensors(write_safetensors(model, weights), "a file");
  const Model again = model_of(file);
  CHECK(again.line() == model.line());
  const Vector read = exact(again, file);
  for (std::size_t i = 0; i < weights.size(); ++i) CHECK(read[i] == weights[i]);
  CHECK(tensor_line_of(file) == "tensor fc.bias 3 | tensor fc.weight 3 2 | tensor temperature");
}

TEST_CASE("an invalid line of tensors is refused by name") {
  const auto parse = [](const std::string& line) { return Model::parse(line, {}); };
  CHECK_USAGE_ERROR(parse("tensor"), "'tensor'", "'tensor NAME [EXTENTS]'");
  CHECK_USAGE_ERROR(parse("tensor a 2 | relu"), "'relu'", "'tensor NAME [EXTENTS]'");
  CHECK_USAGE_ERROR(parse("tensor a 2 | "), "''", "'tensor NAME [EXTENTS]'");
  CHECK_USAGE_ERROR(parse("tensor a 2 | tensor a 3"), "tensor 'a'");
  CHECK_USAGE_ERROR(parse("tensor a x"), "tensor 'a'", "'x'", "1", "2^31");
  CHECK_USAGE_ERROR(parse("tensor a 0"), "tensor 'a'", "0", "1", "2^31");
  CHECK_USAGE_ERROR(parse("tensor a -3"), "tensor 'a'", " -3");
  CHECK_USAGE_ERROR(parse("tensor a 65536 65536"), "tensor 'a'", "2^31 parameters");
  CHECK_USAGE_ERROR(parse("tensor a 2147483648 2147483648 2147483648 4"), "tensor 'a'", "2^31 parameters");
  CHECK_USAGE_ERROR(parse("tensor \xc3\xa4 2"), "'\xc3\xa4'");
  CHECK_USAGE_ERROR(parse("tensor " + std::string(257, 'a') + " 1"), "257", "256");
  CHECK_USAGE_ERROR(parse("tensor a" + std::string(kMaxTensorLine, ' ')), "500008", "500000");
  std::vector<NamedTensor> many;
  for (std::size_t i = 0; i <= kMaxTensors; ++i) many.push_back({"t" + std::to_string(i), {1}});
  CHECK_USAGE_ERROR(tensor_line(many), "10001", "10000");
  CHECK_USAGE_ERROR(tensor_line({}), "tensors", "0", "1");
}

TEST_CASE("a network refuses a model of tensors") {
  const Model model = Model::parse(kLine, {});
  CHECK_USAGE_ERROR(Network(model, 1), "docs/python.md");
}

}  // namespace fedstride::test::tensor_line_test
