#include "nn/evaluator.hpp"

#include <doctest/doctest.h>

#include "data/built_in.hpp"
#include "nn/model.hpp"

namespace fedstride::test::evaluation_test {

TEST_CASE("blocks evaluated separately, however they are split, join to the bits of one evaluation") {
  Dataset data = make_synthetic(SyntheticPart::test, 1000);
  data.mean.assign(3, 0.5F);
  data.deviation.assign(3, 0.25F);
  const Model model = Model::parse("dense 5 | relu | dense classes", data.shape, data.classes);
  const Vector weights = model.initial(Initialization::fan_in, 3);
  std::vector<Row> rows;
  for (Row row = 0; row < 457; ++row) rows.push_back(row * 2);
  Evaluator evaluator(model, data, rows);
  const Evaluation whole = evaluator.evaluate(weights);
  REQUIRE(evaluator.blocks() == 5);
  CHECK(whole.examples == 457);
  CHECK(whole.loss > 0);
  for (const std::vector<std::size_t>& cuts :
       {std::vector<std::size_t>{0, 5}, {0, 1, 2, 3, 4, 5}, {0, 0, 3, 3, 5, 5}, {0, 4, 5}}) {
    std::vector<EvaluatedBlocks> parts;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) parts.push_back(evaluator.evaluate_blocks(weights, cuts[i], cuts[i + 1]));
    const Evaluation joined = joined_blocks(parts);
    CHECK(joined.examples == whole.examples);
    CHECK(joined.loss == whole.loss);
    CHECK(joined.accuracy == whole.accuracy);
    CHECK(joined.class_examples == whole.class_examples);
    CHECK(joined.class_correct == whole.class_correct);
  }
}

TEST_CASE("a sequence without counted positions is an example of loss 0 and adds no position to the accuracy") {
  Dataset data;
  data.shape = {2, 1, 1};
  data.classes = 3;
  data.vocabulary = 4;
  data.targets = Targets::positions;
  data.tokens = {0, 1, 2, 3, 1, 1};
  data.position_labels = {kNoLabel, kNoLabel, 2, kNoLabel, 0, 1};
  data.labels.assign(3, 0);
  const Model model = Model::parse("embedding 5 | dense classes", data.form());
  const Vector weights = model.initial(Initialization::fan_in, 3);
  const auto of = [&](std::vector<Row> rows) { return Evaluator(model, data, std::move(rows)).evaluate(weights); };
  const Evaluation nothing = of({0}), counting = of({1, 2}), all = of({0, 1, 2});
  CHECK(nothing.examples == 1);
  CHECK(nothing.loss == 0);
  CHECK(nothing.accuracy == 0);
  CHECK(all.loss == doctest::Approx(counting.loss * 2 / 3));
  CHECK(all.accuracy == counting.accuracy);
  CHECK(counting.loss > 0.5);
}

TEST_CASE("the metric is R squared for values, the share of correct answers for positions and flags") {
  Dataset data;
  data.shape = {1, 1, 1};
  data.classes = 1;
  data.targets = Targets::values;
  data.features = {0, 1, 2, 3};
  data.values = {1, 2, 3, 6};  // mean 3, squared deviations 4 + 1 + 0 + 9
  data.labels.assign(4, 0);
  data.mean = {0};
  data.deviation = {1};
  const Model line = Model::parse("dense outputs", data.form());
  Vector weights(line.size());
  weights[line.find("fc1.weight")->offset] = 1;
  weights[line.find("fc1.bias")->offset] = 1;  // answers 1, 2, 3, 4
  Evaluator evaluator(line, data);
  const Evaluation whole = evaluator.evaluate(weights);
  CHECK(whole.metric == "R2");
  CHECK(whole.loss == doctest::Approx(1.0));
  CHECK(whole.accuracy == doctest::Approx(1 - 4.0 / 14));
  const std::vector<Row> first{0, 1}, second{2, 3};
  GroupEvaluator groups(line, data, {first, second});
  const auto results = groups.evaluate(weights);
  CHECK(results[0].accuracy == doctest::Approx(1));
  CHECK(results[1].accuracy == doctest::Approx(1 - 4.0 / 9));

  data.targets = Targets::flags;
  data.values = {1, 0, 1, 1};
  const Model flags = Model::parse("dense outputs", data.form());
  Vector signs(flags.size());
  signs[flags.find("fc1.weight")->offset] = 1;
  signs[flags.find("fc1.bias")->offset] = -0.5F;  // no, yes, yes, yes
  const Evaluation of_flags = Evaluator(flags, data).evaluate(signs);
  CHECK(of_flags.metric == "accuracy");
  CHECK(of_flags.accuracy == doctest::Approx(0.5));
}

}  // namespace fedstride::test::evaluation_test
