#include "nn/stage.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <type_traits>

#include "nn/conv_stage.hpp"
#include "nn/stage_plan.hpp"

namespace fedstride::test::stage_test {
namespace {

/// A stage with parameters that has all of its functions; each of those below lacks one, which is declared without a body.
struct Whole : RowStageWithParameters {
  void forward(const Signal&, const Signal&, RowRange, const Batch*) override {}
  void backward(const Signal&, const Signal&, RowRange) override {}
  bool trains() const override { return true; }
  int stretches() const override { return 1; }
  void begin(const float*) override {}
  bool keeps_gradients() const override { return false; }
  void gradient_piece(int, const Signal&, int, int, const GradientTarget&) override {}
  void backward_norms(const Signal&, const Signal&, RowRange, double*) override {}
  void weighted_piece(int, const Signal&, std::span<const float>, const SumTarget&) override {}
};
struct WithoutForward : Whole {
  void forward(const Signal&, const Signal&, RowRange, const Batch*) override = 0;
};
struct WithoutBackward : Whole {
  void backward(const Signal&, const Signal&, RowRange) override = 0;
};
struct OfNoParameters : RowStage {
  void forward(const Signal&, const Signal&, RowRange, const Batch*) override {}
  void backward(const Signal&, const Signal&, RowRange) override {}
};
/// Gives a layer's parameters neither a gradient nor norms or weighted sums.
struct Forgetful : RowStageWithParameters {
  void forward(const Signal&, const Signal&, RowRange, const Batch*) override {}
  void backward(const Signal&, const Signal&, RowRange) override {}
  bool trains() const override { return true; }
  int stretches() const override { return 1; }
  void begin(const float*) override {}
  bool keeps_gradients() const override { return false; }
};
struct WithoutRowSums : Forgetful {
  void gradient_piece(int, const Signal&, int, int, const GradientTarget&) override {}
  void backward_norms(const Signal&, const Signal&, RowRange, double*) override {}
};
struct WithoutRowNorms : Forgetful {
  void gradient_piece(int, const Signal&, int, int, const GradientTarget&) override {}
  void weighted_piece(int, const Signal&, std::span<const float>, const SumTarget&) override {}
};
struct WithoutGradient : Forgetful {
  void backward_norms(const Signal&, const Signal&, RowRange, double*) override {}
  void weighted_piece(int, const Signal&, std::span<const float>, const SumTarget&) override {}
};

/// The type of the stage that begins with a layer.
template <class Layer>
using Made = decltype(make_stage(std::declval<const Layer&>(), std::declval<LayerCursor&>()));

}  // namespace

TEST_CASE("a stage that lacks one of its functions cannot be instantiated") {
  CHECK_FALSE(std::is_abstract_v<Whole>);
  CHECK_FALSE(std::is_abstract_v<OfNoParameters>);
  CHECK_FALSE(std::is_abstract_v<ConvStage>);
  CHECK(std::is_abstract_v<WithoutForward>);
  CHECK(std::is_abstract_v<WithoutBackward>);
  CHECK(std::is_abstract_v<Forgetful>);
  CHECK(std::is_abstract_v<WithoutRowSums>);
  CHECK(std::is_abstract_v<WithoutRowNorms>);
  CHECK(std::is_abstract_v<WithoutGradient>);
}

TEST_CASE("every layer is begun by a stage of its kind, which takes in the layers it can") {
  CHECK(std::same_as<Made<Conv>, ParameterStagePointer>);
  CHECK(std::same_as<Made<GroupNorm>, ParameterStagePointer>);
  CHECK(std::same_as<Made<AvgPool>, RowStagePointer>);
  const Model model = Model::parse(
      "conv 8 3 | maxpool 2 2 | relu | conv 8 3 | groupnorm 2 | relu | relu | flatten | dense 9 | relu | tanh | dense classes",
      {12, 12, 1}, 3);
  const auto stages = plan_stages(model, model.frozen("conv1,fc1"), 4, 1);
  REQUIRE(stages.size() == 7);
  CHECK(dynamic_cast<ConvStage*>(stages[0].weights) != nullptr);
  CHECK(stages[0].output_stride == row_stride(5 * 5 * 8));
  CHECK(dynamic_cast<ConvStage*>(stages[1].weights) != nullptr);
  CHECK(stages[2].weights->stretches() == 2);  // scale and shift
  CHECK(stages[4].dense.has_value());
  CHECK(stages[4].output_stride == row_stride(9));
  CHECK(stages[6].dense.has_value());
  for (const std::size_t plain : {3, 5}) {
    CHECK(stages[plain].rows != nullptr);
    CHECK(stages[plain].weights == nullptr);
    CHECK_FALSE(stages[plain].dense.has_value());
  }
  const bool trains[] = {false, true, true, false, false, false, true};
  const bool data_gradient[] = {false, false, true, true, true, true, true};
  for (std::size_t s = 0; s < 7; ++s) {
    CAPTURE(s);
    CHECK(stages[s].trains == trains[s]);
    CHECK(stages[s].data_gradient == data_gradient[s]);
  }
  // Weights of the convolutions times their places; dense layers are not cut by rows.
  CHECK(row_work(model) == 9 * 8 * 10 * 10 + 9 * 8 * 8 * 3 * 3);
}

}  // namespace fedstride::test::stage_test
