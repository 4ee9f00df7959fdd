#include "nn/model_line.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "nn/models.hpp"

namespace fedstride::test::model_line_test {
namespace {

std::string line(std::string_view text, Shape input = {28, 28, 1}) { return Model::parse(text, input, 10).line(); }

/// The error of a line that must be refused.
std::string refused(std::string_view text, Shape input = {28, 28, 1}) {
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

}  // namespace

TEST_CASE("a model line is normalised") {
  CHECK(line("  conv 8 3 pad 1 stride 2 nobias|maxpool 2|\n avgpool 3  1 | dropout .50 |dense 10") ==
        "conv 8 3 stride 2 pad 1 nobias | maxpool 2 2 | avgpool 3 1 | dropout 0.5 | dense classes");
  CHECK(line("conv 4 3 stride 1 pad 0 | flatten | dense classes | tanh | dense classes nobias") ==
        "conv 4 3 | flatten | dense 10 | tanh | dense classes nobias");
  CHECK(line("conv 8 3 2 1 nobias | conv 8 3 1 | conv 8 3 2 pad 1 | maxpool 3 pad 1 | avgpool 3 1 pad 1 | leakyrelu | "
             "leakyrelu .2 | dense 10") ==
        "conv 8 3 stride 2 pad 1 nobias | conv 8 3 | conv 8 3 stride 2 pad 1 | maxpool 3 3 pad 1 | avgpool 3 1 pad 1 | "
        "leakyrelu 0.01 | leakyrelu 0.2 | dense classes");
  CHECK(line("gelu | sigmoid | globalavgpool | dense 12 | layernorm | dense 10", {5, 4, 3}) ==
        "gelu | sigmoid | globalavgpool | dense 12 | layernorm | dense classes");
}

TEST_CASE("a normalised line is a fixed point, for every named model") {
  for (const NamedModel& named : kNamedModels) {
    const auto model = Model::parse(named.name, named.form);
    CAPTURE(named.name);
    CHECK(model.line() == named.line);
    CHECK(Model::parse(model.line(), named.form).line() == model.line());
  }
}

TEST_CASE("an unknown name gets the nearest one") {
  CHECK(contains(refused("adadp-cn"), "model 'adadp-cn' is unknown; did you mean 'adadp-cnn'?"));
  CHECK(contains(refused("conv 3 3 | maxpol 2 | dense classes"), "layer 2 'maxpol' is unknown; did you mean 'maxpool'?"));
  CHECK(contains(refused(""), "model '' is unknown"));
}

TEST_CASE("a layer that does not fit says what would") {
  CHECK(refused("conv 64 3 | maxpool 9 2 | dense classes", {8, 8, 3}) ==
        "layer 2 'maxpool 9 2' does not fit a 6x6x64 picture: its kernel may be 1 to 6");
  CHECK(
      contains(refused("conv 8 12 pad 1 | dense classes", {8, 9, 3}), "does not fit a 8x9x3 picture: its kernel may be 1 to 10"));
  CHECK(contains(refused("dense 5 | conv 3 1 | dense classes"), "layer 2 'conv 3 1' needs a picture, but reads a row of 5"));
  CHECK(contains(refused("maxpool 1 | dense classes", {1, 1, 54}), "needs a picture, but reads a row of 54"));
}

TEST_CASE("a picture that is pooled to one place is still a picture") {
  CHECK(line("avgpool 28 | conv 5 1 | dense classes") == "avgpool 28 28 | conv 5 1 | dense classes");
}

TEST_CASE("norms and means of what has no channels or no picture are refused") {
  CHECK(refused("layernorm | dense classes") ==
        "layer 1 'layernorm' reads 28x28x1: one channel has no variance; two channels at least are needed");
  CHECK(contains(refused("flatten | layernorm | dense classes", {4, 4, 2}), "reads a flattened picture, which has no channels"));
  CHECK(contains(refused("globalavgpool | dense classes", {1, 1, 54}), "needs a picture, but reads a row of 54"));
  const std::string batch_norm = refused("conv 3 3 | batchnorm | dense classes");
  CHECK(contains(batch_norm, "layer 2 'batchnorm' is refused: batch norm mixes the examples of a batch"));
  CHECK(contains(batch_norm, "running statistics are no part of the average of models; use groupnorm GROUPS"));
  for (const char* made : {"fork", "add", "subsample 8 2"})
    CHECK(contains(refused(std::string(made) + " | dense classes"), "is unknown"));
}

TEST_CASE("a model ends in as many scores as there are classes") {
  const std::string end = "cannot be the last: a model ends in 'dense classes', here 'dense 10'";
  CHECK(refused("dense 11") == "layer 1 'dense 11' " + end);
  CHECK(refused("dense 10 | relu") == "layer 2 'relu' " + end);
}

TEST_CASE("bad numbers and words are named, with how the layer is written") {
  const std::string conv = "it is written: conv CHANNELS KERNEL [STRIDE [PAD]] [stride S] [pad P] [nobias]";
  CHECK(refused("conv | dense classes") == "layer 1 'conv': the number of channels is missing; " + conv);
  CHECK(refused("conv 3 0 | dense classes") ==
        "layer 1 'conv 3 0': the kernel must be a whole number from 1 to 1024, not '0'; " + conv);
  CHECK(refused("conv 3 3 stride 2 stride 2 | dense classes") ==
        "layer 1 'conv 3 3 stride 2 stride 2': 'stride' stands twice; " + conv);
  CHECK(refused("conv 3 3 pad 3 | dense classes") ==
        "layer 1 'conv 3 3 pad 3': pad must be smaller than the kernel, not 3; " + conv);
  CHECK(contains(refused("conv 3 3 bias | dense classes"), "'bias' is not understood"));
  CHECK(contains(refused("conv 3 3x | dense classes"), "not '3x'"));
  CHECK(contains(refused("conv 3 -3 | dense classes"), "not '-3'"));
  CHECK(contains(refused("conv 3 99999999999 | dense classes"), "not '99999999999'"));
  CHECK(contains(refused("conv 3 3 stride | dense classes"), "stride is missing"));
  CHECK(contains(refused("maxpool 2 2 2 | dense classes"), "'2' is not understood; it is written: maxpool KERNEL [STRIDE]"));
  CHECK(contains(refused("conv 3 3 1 1 1 | dense classes"), "'1' is not understood; " + conv));
  CHECK(contains(refused("conv 3 3 1 stride 2 | dense classes"), "'stride' stands twice; " + conv));
  CHECK(refused("maxpool 3 2 pad 2 | dense classes") ==
        "layer 1 'maxpool 3 2 pad 2': pad must be at most half of the kernel, not 2; it is written: maxpool KERNEL [STRIDE] "
        "[pad P]");
  CHECK(contains(refused("avgpool 2 2 nobias | dense classes"), "'nobias' is not understood"));
  CHECK(contains(refused("leakyrelu 1 | dense classes"), "the slope must be a number from 0 to below 1, not '1'"));
  CHECK(contains(refused("gelu tanh | dense classes"), "'tanh' is not understood; it is written: gelu"));
  CHECK(contains(refused("relu 3 | dense classes"), "'3' is not understood; it is written: relu"));
  CHECK(contains(refused("dense 0 | dense classes"), "from 1 to 1048576, not '0'"));
  for (const char* rate : {"1", "-0.1", "nan", "inf", "half"})
    CHECK(contains(refused("dropout " + std::string(rate) + " | dense classes"), "the rate must be a number from 0 to below 1"));
  CHECK(contains(refused("conv 3 3 || dense classes"), "layer 2 of the model is empty"));
  CHECK(contains(refused("dense classes |"), "layer 2 of the model is empty"));
}

TEST_CASE("sizes out of all proportion are refused before anything is allocated") {
  CHECK(contains(refused("conv 65536 3 | conv 65536 3 | dense classes"), "more than 2^31 parameters"));
  CHECK(contains(refused("conv 65536 3 | dense 1048576 | dense classes"), "more than 2^31 parameters"));
  CHECK(contains(refused("conv 65536 1 | dense classes", {1024, 1024, 1}), "makes 68719476736 values of one example"));
  CHECK(contains(refused("dense classes", {2147483647, 2147483647, 2147483647}), "is larger than the 268435456 values"));
  std::string many = "relu";
  for (int i = 0; i < 1000; ++i) many += " | relu";
  CHECK(contains(refused(many), "more than the 1000 layers"));
  CHECK(contains(refused(std::string(30'000, 'x') + " | dense classes"), "has 30016 characters"));
}

}  // namespace fedstride::test::model_line_test
