#include "nn/model_blocks.hpp"

#include <doctest/doctest.h>

#include <iterator>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/family.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "nn/model.hpp"
#include "nn/models.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::blocks_test {
namespace {

constexpr Shape kPicture{9, 8, 4};

std::string line(std::string_view text, Shape input = kPicture) { return Model::parse(text, input, 10).line(); }

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The layers of a model, as text, with the slots they read.
std::vector<std::string> laid(std::string_view text, Shape input = kPicture) {
  const Model model = Model::parse(text, input, 10);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    const auto [from, added] = model.reads()[i];
    result.push_back(layer_text(model.layers()[i]) + " <" + std::to_string(from) +
                     (added < 0 ? "" : "+" + std::to_string(added)) + ">");
  }
  return result;
}

}  // namespace

TEST_CASE("blocks are normalized, and a normalized line is a fixed point") {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"residual{conv 4 3 1 1|relu}|dense 10", "residual { conv 4 3 pad 1 | relu } | dense classes"},
           {" repeat  2 {\n relu | repeat 3 { tanh } } | dense classes", "repeat 2 { relu | repeat 3 { tanh } } | dense classes"},
           {"residual  pad {conv 8 3 2 1}|dense 10 nobias", "residual pad { conv 8 3 stride 2 pad 1 } | dense classes nobias"},
           {"repeat 2 { dense 10 }", "repeat 2 { dense classes }"}}) {
    CHECK(line(text) == expected);
    CHECK(line(expected) == expected);
  }
}

TEST_CASE("a repeated block is its layers that many times") {
  CHECK(laid("repeat 2 { relu | repeat 2 { tanh } } | dense classes") ==
        std::vector<std::string>{"relu <0>", "tanh <1>", "tanh <2>", "relu <3>", "tanh <4>", "tanh <5>", "dense 10 <6>"});
}

TEST_CASE("a residual block adds its input, and projects it where the shapes differ") {
  CHECK(laid("residual { relu | conv 4 3 1 1 } | dense classes") ==
        std::vector<std::string>{"fork <0>", "relu <1>", "conv 4 3 pad 1 <2>", "add <3+1>", "dense 10 <4>"});
  // 9x8 to 5x4: stride 2; the norm of the shortcut is the one that ends the block.
  CHECK(laid("residual { conv 6 3 2 1 | relu | conv 6 3 1 1 | groupnorm 3 } | dense classes") ==
        std::vector<std::string>{"fork <0>", "conv 6 3 stride 2 pad 1 <1>", "relu <2>", "conv 6 3 pad 1 <3>", "groupnorm 3 <4>",
                                 "conv 6 1 stride 2 nobias <1>", "groupnorm 3 <6>", "add <7+5>", "dense 10 <8>"});
  CHECK(laid("residual { conv 6 1 | relu } | dense classes") ==
        std::vector<std::string>{"fork <0>", "conv 6 1 <1>", "relu <2>", "conv 6 1 nobias <1>", "add <4+3>", "dense 10 <5>"});
  CHECK(laid("residual pad { conv 6 3 3 1 | groupnorm 3 } | dense classes") ==
        std::vector<std::string>{"fork <0>", "conv 6 3 stride 3 pad 1 <1>", "groupnorm 3 <2>", "subsample 6 3 <1>", "add <4+3>",
                                 "dense 10 <5>"});
  CHECK(laid("dense 7 | residual { dense 7 | residual { relu } } | dense classes") ==
        std::vector<std::string>{"dense 7 <0>", "fork <1>", "dense 7 <2>", "fork <3>", "relu <4>", "add <5+4>", "add <6+2>",
                                 "dense 10 <7>"});
}

TEST_CASE("tensors are counted in order: a block's body, then its shortcut, then what follows") {
  const Model model = Model::parse(
      "conv 4 3 1 1 | residual { conv 6 3 2 1 | groupnorm 3 } | repeat 2 { residual { conv 6 1 | groupnorm 2 } } | dense classes",
      kPicture, 10);
  std::vector<std::string> weights;
  for (const Parameter& parameter : model.parameters())
    if (parameter.name.ends_with(".weight")) {
      std::string shape;
      for (const auto extent : parameter.shape) shape += ' ' + std::to_string(extent);
      weights.push_back(parameter.name + shape);
    }
  CHECK(weights == std::vector<std::string>{"conv1.weight 4 4 3 3", "conv2.weight 6 4 3 3", "gn1.weight 6",
                                            "conv3.weight 6 4 1 1", "gn2.weight 6", "conv4.weight 6 6 1 1", "gn3.weight 6",
                                            "conv5.weight 6 6 1 1", "gn4.weight 6", "fc1.weight 10 120"});
  CHECK(model.find("conv3.bias") == nullptr);
  CHECK(model.find("conv4.bias") != nullptr);
}

TEST_CASE("blocks that are not well formed are refused, with what would be") {
  const std::string forms = "residual { LAYERS }, residual pad { LAYERS }, repeat N { LAYERS }";
  CHECK_USAGE_ERROR(line("relu | residual { relu | dense classes"), "'residual {'", "layer 2", "'}'");
  CHECK_USAGE_ERROR(line("relu } | dense classes"), "'}'", "layer 2", forms);
  CHECK_USAGE_ERROR(line("relu | } | dense classes"), "'}'", "layer 2", forms);
  CHECK_USAGE_ERROR(line("relu | repeat 2 { } | dense classes"), "'repeat 2 { }'", "layer 2");
  CHECK_USAGE_ERROR(line("repeat 2 { relu | } | dense classes"), "layer 2", "'|'");
  CHECK_USAGE_ERROR(line("repeat 2 { | relu } | dense classes"), "layer 1", "'|'");
  CHECK_USAGE_ERROR(line("repeat 2 { relu } |"), "layer 2", "'|'");
  CHECK_USAGE_ERROR(line("residual { relu } relu | dense classes"), "'}'", "'|'", "'relu'");
  CHECK_USAGE_ERROR(line("residual { relu } { relu } | dense classes"), "'}'", "'|'", "'{'");
  CHECK_USAGE_ERROR(line("relu | twice { relu } | dense classes"), "'twice {'", "layer 2", forms);
  CHECK_USAGE_ERROR(line("{ relu } | dense classes"), "'{'", "layer 1", forms);
  CHECK_USAGE_ERROR(line("relu { relu } | dense classes"), "'relu {'", "layer 1", forms);
  CHECK_USAGE_ERROR(line("residual relu | dense classes"), "layer 1 'residual relu'", "'{'", forms);
  CHECK_USAGE_ERROR(line("residual fast { relu } | dense classes"), "'residual fast {'", "layer 1", forms);
  for (const std::string times : {"0", "-1", "x", "1001", "99999999999", "2.5"})
    CHECK_USAGE_ERROR(line("repeat " + times + " { relu } | dense classes"), "'repeat " + times + " {'", "layer 1", "1", "1000",
                      "'" + times + "'");
  CHECK_USAGE_ERROR(line("repeat 2 { relu }"), "layer 1 'relu'", "'dense classes'", "'dense 10'");
  CHECK_USAGE_ERROR(line("residual { dense 10 }", {1, 1, 10}), "layer 1 'dense 10'", "'dense classes'");
  CHECK_USAGE_ERROR(line("repeat 2 { conv 3 9 } | dense classes"), "layer 1 'conv 3 9'", "9x8x4", "8");
}

TEST_CASE("an input that cannot be added to its block's output is refused with both layers and shapes") {
  CHECK_USAGE_ERROR(line("relu | residual { conv 8 3 1 1 | relu | conv 6 3 } | dense classes"), "layer 2 'conv 8 3 1 1'", "9x8x4",
                    "layer 4 'conv 6 3'", "7x6x6", "stride");
  CHECK_USAGE_ERROR(line("residual { conv 4 2 } | dense classes"), "layer 1 'conv 4 2'", "9x8x4", "8x7x4", "stride");
  CHECK_USAGE_ERROR(line("residual { residual { flatten } } | dense classes"), "layer 1 'flatten'", "9x8x4", "1x1x288", "stride");
  CHECK_NOTHROW(line("residual { dense 4 } | dense classes", {1, 1, 4}));
  CHECK_USAGE_ERROR(line("residual { dense 5 } | dense classes", {1, 1, 4}), "layer 1 'dense 5'", "1x1x4", "1x1x5", "row");
  CHECK_USAGE_ERROR(line("residual pad { conv 3 1 } | dense classes"), "layer 1 'conv 3 1'", "9x8x4", "9x8x3", "'pad'");
  CHECK_NOTHROW(line("residual { conv 3 1 } | dense classes"));
}

TEST_CASE("expansion bombs are refused before anything is built from them") {
  std::string nested;
  for (int depth = 0; depth < 16; ++depth) nested += "repeat 1000 { ";
  nested += "relu";
  for (int depth = 0; depth < 16; ++depth) nested += " }";
  CHECK_USAGE_ERROR(line(nested + " | dense classes"), "1000 layers");
  CHECK_USAGE_ERROR(line("repeat 1 { " + nested + " } | dense classes"), "'repeat 1000 {'", "layer 1", "16");
  CHECK_USAGE_ERROR(line("repeat 500 { relu | tanh } | dense classes"), "1000 layers");
  CHECK(Model::parse("repeat 333 { relu | tanh | relu } | dense classes", {1, 1, 4}, 10).layers().size() == 1000);
  CHECK_USAGE_ERROR(line("repeat 250 { residual { relu } } | dense classes"), "1000 layers");
  CHECK_USAGE_ERROR(line("repeat 900 { conv 1200 3 1 1 } | dense classes"), "layer 1", "2^31 parameters");
  CHECK_USAGE_ERROR(line("conv 65536 1 | residual { conv 65535 1 } | dense classes", {1, 2, 1}), "layer 2", "2^31 parameters");
}

TEST_CASE("any words and marks are a model or one line of error, and a model's line parses to the same model") {
  constexpr const char* kPieces[] = {"residual",
                                     "residual pad",
                                     "repeat 2",
                                     "repeat 40",
                                     "{",
                                     "{",
                                     "}",
                                     "}",
                                     "|",
                                     "|",
                                     "|",
                                     "relu",
                                     "conv 4 3 1 1",
                                     "conv 8 3 2 1",
                                     "groupnorm 4",
                                     "layernorm",
                                     "dense classes",
                                     "flatten",
                                     "globalavgpool",
                                     "maxpool 3 2 pad 1",
                                     " ",
                                     "\n",
                                     "batchnorm",
                                     "x"};
  RandomStream random(3, {.purpose = Purpose::test});
  int models = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = i % 2 == 0 ? "residual { conv 8 3 2 1 | groupnorm 4" : "repeat 2 { relu";
    for (std::uint64_t pieces = random.below(9); pieces > 0; --pieces)
      text += std::string(random.below(3) == 0 ? "" : " ") + kPieces[random.below(std::size(kPieces))];
    text += random.below(2) == 0 ? "" : " } | dense classes";
    try {
      const Model model = Model::parse(text, kPicture, 10);
      CHECK(Model::parse(model.line(), kPicture, 10).line() == model.line());
      ++models;
    } catch (const Error& error) {
      CHECK(error.kind() == Error::Kind::usage);
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
  CHECK(models > 100);
}

TEST_CASE("docs/models.md has every layer and named model, and its examples are models") {
  const std::string text = read_file(std::string(FEDSTRIDE_SOURCE_DIR) + "/docs/models.md");
  for (const std::string& name : part_names<WrittenLayer>()) {
    CAPTURE(name);
    CHECK((contains(text, "`" + name + "`") || contains(text, "`" + name + " ")));
  }
  for (const NamedModel& named : kNamedModels) {
    CAPTURE(std::string(named.name));
    CHECK(contains(text, "| `" + std::string(named.name) + "` |"));
  }
  bool code = false;
  int examples = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("```")) code = !code;
    if (!code || line.starts_with("```") || line.starts_with("fedstride ") || line.starts_with("/usr/")) continue;
    CAPTURE(std::string(line));
    ExampleForm form{{32, 32, 3}, 10};
    if (line.starts_with("embedding")) {
      const Targets targets = contains(std::string(line), "| last |") ? Targets::classes : Targets::positions;
      form = {{80, 1, 1}, 10, targets, 90};
    }
    CHECK_NOTHROW(Model::parse(line, form));
    ++examples;
  }
  CHECK(examples >= 5);
}

}  // namespace fedstride::test::blocks_test
