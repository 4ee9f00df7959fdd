// Metrics against numbers worked out by hand; tests/python/test_predict.py compares them with scikit-learn's.
#include "nn/metrics.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace fedstride::test::metrics_test {
namespace {

double number(const Metrics& metrics, std::string_view name) {
  for (const NamedNumber& one : metrics.numbers)
    if (one.name == name) return one.value;
  FAIL("no number ", name);
  return 0;
}

Dataset labelled(std::vector<Label> labels, int classes) {
  Dataset data;
  data.classes = classes;
  data.labels = std::move(labels);
  return data;
}

}  // namespace

// Second class: labels 0 0 1 1, score differences 0, 2, 2, 4. Of four pairs two are in order, one is tied, and one (2 against 2).
TEST_CASE("of two classes: ties count half, and the lower class wins them") {
  const Dataset data = labelled({0, 0, 1, 1}, 2);
  const std::vector<Row> rows{0, 1, 2, 3};
  const std::vector<float> scores{0, 0, 0, 2, 0, 2, 0, 4};
  const Metrics metrics = metrics_of(data, rows, scores);
  CHECK(number(metrics, "accuracy") == 0.75);
  CHECK(number(metrics, "balanced_accuracy") == 0.75);
  CHECK(number(metrics, "auc") == 0.875);
  CHECK(number(metrics, "macro_f1") == doctest::Approx((2.0 / 3 + 0.8) / 2));
  const double two = std::log1p(std::exp(2.0));
  CHECK(number(metrics, "log_loss") == doctest::Approx((std::log(2.0) + two + (two - 2) + std::log1p(std::exp(-4.0))) / 4));
  CHECK(metrics.confusion == std::vector<std::vector<std::uint64_t>>{{1, 1}, {0, 2}});
  CHECK(metrics.classes[0].recall == 0.5);
  CHECK(metrics.classes[0].precision == 1);
  CHECK(metrics.classes[1].f1 == doctest::Approx(0.8));
  CHECK(metrics.classes[1].auc == 0.875);
}

TEST_CASE("a class that does not occur has no recall and no area, and counts in F1 only if it is predicted") {
  const Dataset data = labelled({0, 0}, 3);
  const std::vector<Row> rows{1, 0};
  const Metrics metrics = metrics_of(data, rows, std::vector<float>{1, 0, 0, 0, 1, 0});
  CHECK(number(metrics, "balanced_accuracy") == 0.5);
  CHECK(number(metrics, "macro_f1") == doctest::Approx((2.0 / 3 + 0) / 2));
  CHECK(std::isnan(number(metrics, "auc")));
  CHECK(metrics_of(data, {}, {}).numbers.empty());
}

TEST_CASE("scores that are not numbers have no area, and a probability that underflows still has a finite loss") {
  const Dataset data = labelled({0, 1}, 2);
  const std::vector<Row> rows{0, 1};
  CHECK(std::isnan(number(metrics_of(data, rows, std::vector<float>{NAN, 0, 0, 1}), "auc")));
  CHECK(number(metrics_of(data, rows, std::vector<float>{-4000, 4000, 0, 0}), "log_loss") ==
        doctest::Approx(4000 + std::log(2.0) / 2));
}

// Means 2 and 0; errors 1, 0, 0, 1 of variations 1, 0, 1, 0.
TEST_CASE("of values: R2 weighted by variance, absolute and squared errors; of flags: means over flags") {
  Dataset data;
  data.classes = 2;
  data.targets = Targets::values;
  data.values = {1, 0, 3, 0};
  data.labels = {0, 0};
  const std::vector<Row> rows{0, 1};
  const Metrics values = metrics_of(data, rows, std::vector<float>{2, 0, 3, 1});
  CHECK(number(values, "r2") == 0);
  CHECK(number(values, "mae") == 0.5);
  CHECK(number(values, "mse") == 0.5);

  data.targets = Targets::flags;
  data.values = {1, 0, 0, 0};
  const Metrics flags = metrics_of(data, rows, std::vector<float>{1, -1, -1, 1});
  CHECK(number(flags, "accuracy") == 0.75);
  CHECK(number(flags, "macro_f1") == 0.5);  // the second flag never applies
  CHECK(number(flags, "auc") == 1);         // and has no area
  CHECK(probabilities(Targets::flags, std::vector<float>{0})[0] == 0.5);
  CHECK(probabilities(Targets::classes, std::vector<float>{1000, 1000}) == std::vector<double>{0.5, 0.5});
}

}  // namespace fedstride::test::metrics_test
