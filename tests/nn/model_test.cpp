#include "nn/model.hpp"

#include <doctest/doctest.h>

#include "nn/models.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::model_test {
namespace {

constexpr Shape kCifar{32, 32, 3};
constexpr Shape kMnist{28, 28, 1};

std::size_t count(std::string_view name, Shape input, int classes) {
  return Model::parse(name, input, classes).parameter_count();
}

}  // namespace

TEST_CASE("the named models have the published numbers of parameters") {
  CHECK(count("adadp-cnn", kCifar, 10) == 1'094'730);
  CHECK(count("adadp-mlp", kMnist, 10) == 334'336);
  CHECK(count("yu-cnn", kMnist, 10) == 21'840);
  CHECK(count("logistic", kMnist, 10) == 7'850);
  CHECK(count("abadi-mlp", {1, 1, 60}, 10) == 60 * 1000 + 1000 + 1000 * 10 + 10);
  CHECK(count("covertype-mlp", {1, 1, 54}, 7) == 54 * 100 + 100 + 100 * 100 + 100 + 100 * 7 + 7);
  CHECK(count("pfl-cnn", kCifar, 10) == 1'626'442);
  CHECK(count("tutorial-cnn", kMnist, 10) == 26'010);
  CHECK(count("femnist-cnn", kMnist, 62) == 6'603'710);  // Caldas et al., as LEAF's code prints it
  CHECK(count("simple-cnn", kCifar, 10) == 62'006);
  CHECK(count("simple-cnn", kMnist, 10) == 44'426);
  CHECK(kNamedModels.size() == 15 + 4);  // those of sequences: sequence_test.cpp
}

TEST_CASE("the residual networks have their papers' numbers of parameters, layer by layer") {
  // A norm has as many scales and shifts as a batch norm.
  const auto convolution = [](std::size_t from, std::size_t to, std::size_t kernel) {
    return from * to * kernel * kernel + 2 * to;
  };
  const auto stage = [&](std::size_t from, std::size_t to, std::size_t blocks) {
    return convolution(from, to, 3) + (2 * blocks - 1) * convolution(to, to, 3);
  };
  CHECK(count("resnet20-gn", kCifar, 10) == 269'722);  // "0.27M" in He et al.'s table 6
  CHECK(count("resnet20-gn", kCifar, 10) ==
        convolution(3, 16, 3) + stage(16, 16, 3) + stage(16, 32, 3) + stage(32, 64, 3) + 64 * 10 + 10);
  CHECK(count("resnet8-gn", kCifar, 10) ==
        convolution(3, 16, 3) + stage(16, 16, 1) + stage(16, 32, 1) + stage(32, 64, 1) + 64 * 10 + 10);
  CHECK(count("resnet18-gn", kCifar, 10) == 11'173'962);
  CHECK(count("resnet18-gn", kCifar, 10) == convolution(3, 64, 3) + stage(64, 64, 2) + stage(64, 128, 2) + stage(128, 256, 2) +
                                                stage(256, 512, 2) + convolution(64, 128, 1) + convolution(128, 256, 1) +
                                                convolution(256, 512, 1) + 512 * 10 + 10);
}

TEST_CASE("shapes run through the line as the papers state them") {
  const auto model = Model::parse("adadp-cnn", kCifar, 10);
  REQUIRE(model.shapes().size() == model.layers().size() + 1);
  CHECK(model.shapes()[1] == Shape{30, 30, 64});
  CHECK(model.shapes()[3] == Shape{14, 14, 64});
  CHECK(model.shapes()[4] == Shape{12, 12, 64});
  CHECK(model.shapes()[6] == Shape{5, 5, 64});
  CHECK(model.shapes().back() == Shape{1, 1, 10});
  const auto tutorial = Model::parse("tutorial-cnn", kMnist, 10);
  CHECK(tutorial.shapes()[1] == Shape{14, 14, 16});
  CHECK(tutorial.shapes()[3] == Shape{13, 13, 16});
  CHECK(tutorial.shapes()[4] == Shape{5, 5, 32});
  CHECK(tutorial.shapes()[6] == Shape{4, 4, 32});
}

TEST_CASE("parameters have PyTorch's names and shapes, and begin at multiples of 16") {
  const auto model = Model::parse("adadp-cnn", kCifar, 10);
  std::vector<std::string> names;
  std::size_t end = 0;
  for (const Parameter& parameter : model.parameters()) {
    names.push_back(parameter.name);
    CHECK(parameter.offset % 16 == 0);
    CHECK(parameter.offset >= end);
    CHECK(parameter.offset < end + 16);
    end = parameter.offset + parameter.size;
  }
  CHECK(model.size() >= end);
  CHECK(model.size() < end + 16);
  CHECK(names == std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "fc1.weight", "fc1.bias",
                                          "fc2.weight", "fc2.bias", "fc3.weight", "fc3.bias"});
  CHECK(model.find("conv1.weight")->shape == std::vector<std::int64_t>{64, 3, 3, 3});
  CHECK(model.find("conv2.bias")->shape == std::vector<std::int64_t>{64});
  CHECK(model.find("conv2.bias")->layer == 3);
  CHECK(model.find("fc1.weight")->shape == std::vector<std::int64_t>{500, 1600});
  CHECK(model.find("fc4.weight") == nullptr);
  CHECK(Model::parse("adadp-mlp", kMnist, 10).find("fc1.bias") == nullptr);
}

TEST_CASE("frozen layers are named as their parameters are") {
  const auto model = Model::parse("conv 2 3 | relu | conv 2 3 | dense 4 | dense classes", {8, 8, 1}, 3);
  CHECK(model.frozen("") == std::vector<bool>(5, false));
  CHECK(model.frozen("conv1, fc1") == std::vector<bool>{true, false, false, true, false});
  CHECK_USAGE_ERROR(model.frozen("conv1,conv3"), "'conv3'", "conv1", "conv2", "fc1", "fc2");
  CHECK_USAGE_ERROR(model.frozen("conv1,"), "''", "conv1", "conv2", "fc1", "fc2");
}

}  // namespace fedstride::test::model_test
