#include "nn/evaluation.hpp"

#include <doctest/doctest.h>

#include "data/synthetic.hpp"
#include "nn/model.hpp"

namespace fedstride::test::evaluation_test {

TEST_CASE("blocks evaluated apart, however they are cut, join to the bits of one evaluation") {
  Dataset data = make_synthetic(SyntheticPart::test, 1000);
  data.mean.assign(3, 0.5F);
  data.deviation.assign(3, 0.25F);
  const Model model = Model::parse("dense 5 | relu | dense classes", data.shape, data.classes);
  const Vector weights = model.initial(Initialisation::fan_in, 3);
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

}  // namespace fedstride::test::evaluation_test
