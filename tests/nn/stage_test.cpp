#include "nn/stage.hpp"

#include <doctest/doctest.h>

#include <concepts>

#include "nn/stage_plan.hpp"

namespace fedstride::test::stage_test {
namespace {

// A stage that lacks one function is that stage with the function deleted.

struct WithoutBackward : ActivationStage<Relu> {
  using ActivationStage::ActivationStage;
  void backward(const Signal&, const Signal&, RowRange) const = delete;
};
struct WithoutTrainingMode : DropoutStage {
  using DropoutStage::DropoutStage;
  void forward(const Signal&, const Signal&, RowRange, const Batch*) = delete;
};
struct WithoutRowNorms : GroupNormStage {
  using GroupNormStage::GroupNormStage;
  void backward_norms(const Signal&, const Signal&, RowRange, double*) = delete;
};
struct WithoutRowSums : GroupNormStage {
  using GroupNormStage::GroupNormStage;
  void weighted_piece(int, const Signal&, std::span<const float>, const GradientTarget&) = delete;
};
struct WithoutWordOnGradients : GroupNormStage {
  using GroupNormStage::GroupNormStage;
  bool keeps_gradients() const = delete;
};
struct WithoutBegin : ConvStage {
  using ConvStage::ConvStage;
  void begin(const float*) = delete;
};
struct WithoutBatchNorms : DenseStage {
  using DenseStage::DenseStage;
  void begin_norms(const Signal&, const Signal&, int, double*) const = delete;
};
/// Computes a layer that has parameters as if it had none.
struct Forgetful : ActivationStage<Tanh> {
  using Layer = GroupNorm;
  using ActivationStage::ActivationStage;
};

template <class S>
constexpr bool is_stage() {
  return Stage<S>;
}

}  // namespace

TEST_CASE("a stage that lacks any of its ways is no stage") {
  CHECK(is_stage<ActivationStage<Relu>>());
  CHECK(is_stage<DropoutStage>());
  CHECK(is_stage<GroupNormStage>());
  CHECK(is_stage<ConvStage>());
  CHECK(is_stage<DenseStage>());
  CHECK_FALSE(is_stage<WithoutBackward>());
  CHECK_FALSE(is_stage<WithoutTrainingMode>());
  CHECK_FALSE(is_stage<WithoutRowNorms>());
  CHECK_FALSE(is_stage<WithoutRowSums>());
  CHECK_FALSE(is_stage<WithoutWordOnGradients>());
  CHECK_FALSE(is_stage<WithoutBegin>());
  CHECK_FALSE(is_stage<WithoutBatchNorms>());
  CHECK_FALSE(is_stage<Forgetful>());
}

TEST_CASE("every layer is begun by a stage of its kind, which takes in the layers it can") {
  CHECK(std::same_as<StageOf<Conv>, ConvStage>);
  CHECK(std::same_as<StageOf<GroupNorm>, GroupNormStage>);
  CHECK(std::same_as<StageOf<AvgPool>, PoolStage<AvgPool>>);
  const Model model = Model::parse(
      "conv 8 3 | maxpool 2 2 | relu | conv 8 3 | groupnorm 2 | relu | relu | flatten | dense 9 | relu | tanh | dense classes",
      {12, 12, 1}, 3);
  const auto stages = plan_stages(model, model.frozen("conv1,fc1"), 4, 1);
  REQUIRE(stages.size() == 7);
  CHECK(std::holds_alternative<ConvStage>(stages[0].stage));
  CHECK(stages[0].output_stride == row_stride(5 * 5 * 8));
  CHECK(std::holds_alternative<GroupNormStage>(stages[2].stage));
  CHECK(std::holds_alternative<ActivationStage<Relu>>(stages[3].stage));
  CHECK(std::holds_alternative<DenseStage>(stages[4].stage));
  CHECK(std::holds_alternative<ActivationStage<Tanh>>(stages[5].stage));
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
