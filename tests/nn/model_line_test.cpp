#include "nn/model_line.hpp"

#include <doctest/doctest.h>

#include "nn/models.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::model_line_test {
namespace {

std::string line(std::string_view text, Shape input = {28, 28, 1}) { return Model::parse(text, input, 10).line(); }

}  // namespace

TEST_CASE("a model line is normalized") {
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

TEST_CASE("a normalized line is a fixed point, for every named model") {
  for (const NamedModel& named : kNamedModels) {
    const auto model = Model::parse(named.name, named.form);
    CAPTURE(named.name);
    CHECK(model.line() == named.line);
    CHECK(Model::parse(model.line(), named.form).line() == model.line());
  }
}

TEST_CASE("an unknown name gets the nearest one") {
  CHECK_USAGE_ERROR(line("adadp-cn"), "'adadp-cn'", "'adadp-cnn'");
  CHECK_USAGE_ERROR(line("conv 3 3 | maxpol 2 | dense classes"), "layer 2", "'maxpol'", "'maxpool'");
  CHECK_USAGE_ERROR(line(""), "model ''");
}

TEST_CASE("a layer that does not fit says what would") {
  CHECK_USAGE_ERROR(line("conv 64 3 | maxpool 9 2 | dense classes", {8, 8, 3}), "layer 2 'maxpool 9 2'", "6x6x64", "1", "6");
  CHECK_USAGE_ERROR(line("conv 8 12 pad 1 | dense classes", {8, 9, 3}), "layer 1", "8x9x3", "10");
  CHECK_USAGE_ERROR(line("dense 5 | conv 3 1 | dense classes"), "layer 2 'conv 3 1'", "image", "5");
  CHECK_USAGE_ERROR(line("maxpool 1 | dense classes", {1, 1, 54}), "layer 1 'maxpool 1'", "image", "54");
}

TEST_CASE("a picture that is pooled to one place is still a picture") {
  CHECK(line("avgpool 28 | conv 5 1 | dense classes") == "avgpool 28 28 | conv 5 1 | dense classes");
}

TEST_CASE("norms and means of inputs without channels or without a picture are refused") {
  CHECK_USAGE_ERROR(line("layernorm | dense classes"), "layer 1 'layernorm'", "28x28x1");
  CHECK_USAGE_ERROR(line("flatten | layernorm | dense classes", {4, 4, 2}), "layer 2 'layernorm'", "flatten");
  CHECK_USAGE_ERROR(line("globalavgpool | dense classes", {1, 1, 54}), "layer 1 'globalavgpool'", "image", "54");
  for (const std::string made : {"fork", "add", "subsample 8 2"})
    CHECK_USAGE_ERROR(line(made + " | dense classes"), "layer 1", "'" + made.substr(0, made.find(' ')) + "'");
}

TEST_CASE("a model ends in as many scores as there are classes") {
  CHECK_USAGE_ERROR(line("dense 11"), "layer 1 'dense 11'", "'dense classes'", "'dense 10'");
  CHECK_USAGE_ERROR(line("dense 10 | relu"), "layer 2 'relu'", "'dense classes'", "'dense 10'");
}

TEST_CASE("bad numbers and words are named, with how the layer is written") {
  const std::string conv = "conv CHANNELS KERNEL [STRIDE [PAD]] [stride S] [pad P] [nobias]";
  CHECK_USAGE_ERROR(line("conv | dense classes"), "layer 1 'conv'", "channels", conv);
  CHECK_USAGE_ERROR(line("conv 3 0 | dense classes"), "layer 1 'conv 3 0'", "kernel", "1", "1024", "'0'", conv);
  CHECK_USAGE_ERROR(line("conv 3 3 stride 2 stride 2 | dense classes"), "layer 1 'conv 3 3 stride 2 stride 2'", "'stride'", conv);
  CHECK_USAGE_ERROR(line("conv 3 3 pad 3 | dense classes"), "layer 1 'conv 3 3 pad 3'", "pad", "kernel", "3", conv);
  CHECK_USAGE_ERROR(line("conv 3 3 bias | dense classes"), "'bias'", conv);
  CHECK_USAGE_ERROR(line("conv 3 3x | dense classes"), "kernel", "'3x'", conv);
  CHECK_USAGE_ERROR(line("conv 3 -3 | dense classes"), "kernel", "'-3'", conv);
  CHECK_USAGE_ERROR(line("conv 3 99999999999 | dense classes"), "kernel", "'99999999999'", conv);
  CHECK_USAGE_ERROR(line("conv 3 3 stride | dense classes"), "layer 1 'conv 3 3 stride'", "stride", conv);
  CHECK_USAGE_ERROR(line("maxpool 2 2 2 | dense classes"), "'2'", "maxpool KERNEL [STRIDE] [pad P]");
  CHECK_USAGE_ERROR(line("conv 3 3 1 1 1 | dense classes"), "'1'", conv);
  CHECK_USAGE_ERROR(line("conv 3 3 1 stride 2 | dense classes"), "'stride'", conv);
  CHECK_USAGE_ERROR(line("maxpool 3 2 pad 2 | dense classes"), "layer 1 'maxpool 3 2 pad 2'", "pad", "kernel", "2",
                    "maxpool KERNEL [STRIDE] [pad P]");
  CHECK_USAGE_ERROR(line("avgpool 2 2 nobias | dense classes"), "'nobias'", "avgpool KERNEL [STRIDE] [pad P]");
  CHECK_USAGE_ERROR(line("leakyrelu 1 | dense classes"), "slope", "0", "1", "'1'", "leakyrelu [SLOPE]");
  CHECK_USAGE_ERROR(line("gelu tanh | dense classes"), "'tanh'", "gelu");
  CHECK_USAGE_ERROR(line("relu 3 | dense classes"), "'3'", "relu");
  CHECK_USAGE_ERROR(line("dense 0 | dense classes"), "units", "1", "1048576", "'0'");
  for (const std::string rate : {"1", "-0.1", "nan", "inf", "half"})
    CHECK_USAGE_ERROR(line("dropout " + rate + " | dense classes"), "rate", "0", "1", "'" + rate + "'", "dropout RATE");
  CHECK_USAGE_ERROR(line("conv 3 3 || dense classes"), "layer 2", "'|'");
  CHECK_USAGE_ERROR(line("dense classes |"), "layer 2", "'|'");
}

TEST_CASE("excessive sizes are refused before anything is allocated") {
  CHECK_USAGE_ERROR(line("conv 65536 3 | conv 65536 3 | dense classes"), "layer 2", "2^31 parameters");
  CHECK_USAGE_ERROR(line("conv 65536 3 | dense 1048576 | dense classes"), "layer 2", "2^31 parameters");
  CHECK_USAGE_ERROR(line("conv 65536 1 | dense classes", {1024, 1024, 1}), "layer 1", "68719476736", "268435456");
  CHECK_USAGE_ERROR(line("dense classes", {2147483647, 2147483647, 2147483647}), "2147483647x2147483647x2147483647", "268435456");
  std::string many = "relu";
  for (int i = 0; i < 1000; ++i) many += " | relu";
  CHECK_USAGE_ERROR(line(many), "1000 layers");
  CHECK_USAGE_ERROR(line(std::string(30'000, 'x') + " | dense classes"), "30016");
}

}  // namespace fedstride::test::model_line_test
