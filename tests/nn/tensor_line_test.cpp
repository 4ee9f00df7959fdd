#include "nn/tensor_line.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "nn/network.hpp"
#include "nn/safetensors.hpp"

namespace fedstride::test::tensor_line_test {
namespace {

constexpr const char* kLine = "tensor fc.weight 3 2 | tensor fc.bias 3 | tensor temperature";

std::string refusal(const std::string& line) {
  try {
    Model::parse(line, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a model of tensors has their names, shapes and places, and its line again") {
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
  CHECK(view(model.initial(Initialisation::glorot, 3)).size() == 48);
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

TEST_CASE("what is no line of tensors is refused by name") {
  CHECK(refusal("tensor") ==
        "'tensor' stands in a model of tensors; there, valid is 'tensor NAME' with its extents: "
        "'tensor fc.weight 10 784'");
  CHECK(refusal("tensor a 2 | relu").starts_with("'relu' stands in a model of tensors"));
  CHECK(refusal("tensor a 2 | ").starts_with("'' stands in a model of tensors"));
  CHECK(refusal("tensor a 2 | tensor a 3") == "tensor 'a' is there twice");
  CHECK(refusal("tensor a x") == "tensor 'a' has an extent 'x'; it must be a whole number from 1 to 2^31");
  CHECK(refusal("tensor a 0") == "tensor 'a' has an extent of 0; it must be a whole number from 1 to 2^31");
  CHECK(refusal("tensor a -3").starts_with("tensor 'a' has an extent of -3"));
  CHECK(refusal("tensor a 65536 65536").starts_with("tensor 'a' brings the model to more than 2^31 parameters"));
  CHECK(refusal("tensor a 2147483648 2147483648 2147483648 4").starts_with("tensor 'a' brings the model"));
  CHECK(refusal("tensor \xc3\xa4 2").starts_with("a tensor is called"));
  CHECK(refusal("tensor " + std::string(257, 'a') + " 1").find("and has 257 characters; at most 256") != std::string::npos);
  CHECK(refusal("tensor a" + std::string(kMaxTensorLine, ' ')).starts_with("the model's line has"));
  std::vector<NamedTensor> many;
  for (std::size_t i = 0; i <= kMaxTensors; ++i) many.push_back({"t" + std::to_string(i), {1}});
  CHECK_THROWS_WITH_AS(tensor_line(many), "a model has 10001 tensors; at most 10000 are supported", Error);
  CHECK_THROWS_WITH_AS(tensor_line({}), "a model has no tensors; it needs one at least", Error);
}

TEST_CASE("nothing here computes with a model of tensors") {
  const Model model = Model::parse(kLine, {});
  CHECK_THROWS_WITH_AS(Network(model, 1), doctest::Contains("the model is tensors alone"), Error);
}

}  // namespace fedstride::test::tensor_line_test
