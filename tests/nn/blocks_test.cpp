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

namespace fedstride::test::blocks_test {
namespace {

constexpr Shape kPicture{9, 8, 4};

std::string line(std::string_view text, Shape input = kPicture) { return Model::parse(text, input, 10).line(); }

std::string refused(const std::string& text, Shape input = kPicture) {
  try {
    Model::parse(text, input, 10);
  } catch (const Error& error) {
    CHECK(error.kind() == Error::Kind::usage);
    const std::string message = error.what();
    CHECK(message.find('\n') == std::string::npos);
    return message;
  }
  return "accepted";
}

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

TEST_CASE("blocks are normalised, and a normalised line is a fixed point") {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"residual{conv 4 3 1 1|relu}|dense 10", "residual { conv 4 3 pad 1 | relu } | dense classes"},
           {" repeat  2 {\n relu | repeat 3 { tanh } } | dense classes", "repeat 2 { relu | repeat 3 { tanh } } | dense classes"},
           {"residual  pad {conv 8 3 2 1}|dense 10 nobias", "residual pad { conv 8 3 stride 2 pad 1 } | dense classes nobias"},
           {"repeat 2 { dense 10 }", "repeat 2 { dense classes }"}}) {
    CHECK(line(text) == expected);
    CHECK(line(expected) == expected);
  }
}

TEST_CASE("a repeated block is its layers so many times") {
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
  const std::string forms = "; blocks are residual { LAYERS }, residual pad { LAYERS }, repeat N { LAYERS }";
  CHECK(refused("relu | residual { relu | dense classes") ==
        "the block 'residual {' before layer 2 is not closed: a '}' is missing");
  CHECK(refused("relu } | dense classes") == "a '}' before layer 2 closes no block" + forms);
  CHECK(refused("relu | } | dense classes") == "a '}' before layer 2 closes no block" + forms);
  CHECK(refused("relu | repeat 2 { } | dense classes") ==
        "the block 'repeat 2 { }' before layer 2 is empty; it must hold a layer at least");
  CHECK(contains(refused("repeat 2 { relu | } | dense classes"), "layer 2 of the model is empty"));
  CHECK(contains(refused("repeat 2 { | relu } | dense classes"), "layer 1 of the model is empty"));
  CHECK(contains(refused("repeat 2 { relu } |"), "layer 2 of the model is empty"));
  CHECK(refused("residual { relu } relu | dense classes") ==
        "after a '}' comes '|', another '}' or the end of the line, not 'relu'");
  CHECK(refused("residual { relu } { relu } | dense classes") ==
        "after a '}' comes '|', another '}' or the end of the line, not '{'");
  CHECK(refused("relu | twice { relu } | dense classes") == "'twice {' before layer 2 begins no block" + forms);
  CHECK(refused("{ relu } | dense classes") == "'{' before layer 1 begins no block" + forms);
  CHECK(refused("relu { relu } | dense classes") == "'relu {' before layer 1 begins no block" + forms);
  CHECK(refused("residual relu | dense classes") == "layer 1 'residual relu' begins a block, but no '{' follows" + forms);
  CHECK(refused("residual fast { relu } | dense classes") == "'residual fast {' before layer 1 begins no block" + forms);
  for (const char* times : {"0", "-1", "x", "1001", "99999999999", "2.5"})
    CHECK(refused("repeat " + std::string(times) + " { relu } | dense classes") ==
          "the block 'repeat " + std::string(times) +
              " {' before layer 1 must be repeated a whole number of times from 1 to 1000, not '" + times + "'");
  CHECK(refused("repeat 2 { relu }") == "layer 1 'relu' cannot be the last: a model ends in 'dense classes', here 'dense 10'");
  CHECK(contains(refused("residual { dense 10 }", {1, 1, 10}), "cannot be the last"));
  CHECK(contains(refused("repeat 2 { conv 3 9 } | dense classes"), "layer 1 'conv 3 9' does not fit"));
}

TEST_CASE("an input that cannot be added to its block's output is refused with both layers and shapes") {
  const std::string rule =
      ", cannot add the two: height and width must stay or be divided, rounded up, by one stride, and a picture must stay a "
      "picture";
  CHECK(refused("relu | residual { conv 8 3 1 1 | relu | conv 6 3 } | dense classes") ==
        "the residual block from layer 2 'conv 8 3 1 1', which reads 9x8x4, to layer 4 'conv 6 3', which makes 7x6x6" + rule);
  CHECK(contains(refused("residual { conv 4 2 } | dense classes"), "which makes 8x7x4" + rule));
  CHECK(contains(refused("residual { residual { flatten } } | dense classes"),
                 "from layer 1 'flatten', which reads 9x8x4, to layer 1 'flatten', which makes 1x1x288" + rule));
  CHECK(contains(refused("residual { dense 4 } | dense classes", {1, 1, 4}), "accepted"));
  CHECK(contains(refused("residual { dense 5 } | dense classes", {1, 1, 4}), "a row must keep its number of values"));
  CHECK(contains(refused("residual pad { conv 3 1 } | dense classes"), "with 'pad' channels may not become fewer"));
  CHECK(contains(refused("residual { conv 3 1 } | dense classes"), "accepted"));
}

TEST_CASE("bombs are refused before anything is made of them") {
  std::string nested;
  for (int depth = 0; depth < 16; ++depth) nested += "repeat 1000 { ";
  nested += "relu";
  for (int depth = 0; depth < 16; ++depth) nested += " }";
  CHECK(contains(refused(nested + " | dense classes"), "more than the 1000 layers"));
  CHECK(contains(refused("repeat 1 { " + nested + " } | dense classes"), "is in more than the 16 blocks that are supported"));
  CHECK(contains(refused("repeat 500 { relu | tanh } | dense classes"), "more than the 1000 layers"));
  CHECK(Model::parse("repeat 333 { relu | tanh | relu } | dense classes", {1, 1, 4}, 10).layers().size() == 1000);
  CHECK(contains(refused("repeat 250 { residual { relu } } | dense classes"), "more than the 1000 layers"));
  CHECK(contains(refused("repeat 900 { conv 1200 3 1 1 } | dense classes"), "more than 2^31 parameters"));
  CHECK(contains(refused("conv 65536 1 | residual { conv 65535 1 } | dense classes", {1, 2, 1}), "more than 2^31 parameters"));
}

TEST_CASE("any words and marks are a model or one line of error, and a model's line leads back to it") {
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
  CHECK(examples >= 15);
}

}  // namespace fedstride::test::blocks_test
