#include "client/told_evaluation.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/refusal.hpp"

namespace fedstride::test::told_evaluation_test {

TEST_CASE("a model is tested on no more examples than rows have numbers, 2^32 - 1") {
  Evaluation told{.examples = 4294967295, .loss = 0.5, .accuracy = 1};
  CHECK(impossible(told) == "");
  ++told.examples;
  CHECK(names(impossible(told), {"examples", "4294967296", "4294967295"}));
  CHECK(impossible(Evaluation{}) == "");
  CHECK(impossible(Evaluation::unknown()) == "");
}

TEST_CASE("an accuracy is a share, a loss is not negative, and R^2 may be") {
  CHECK(names(impossible({.accuracy = 1.5}), {"accuracy", "1.5", "0 to 1"}));
  CHECK(names(impossible({.accuracy = -0.5}), {"accuracy", "-0.5", "0 to 1"}));
  CHECK(impossible({.metric = metric_of(Targets::values), .accuracy = -0.5}) == "");
  CHECK(names(impossible(Evaluation{.loss = -0.5}), {"loss", "-0.5", "0"}));
}

TEST_CASE("numbers of a model that has diverged are sent as NaN, and others as they are") {
  const Evaluation good = sendable({.loss = 2.5, .accuracy = 0.25});
  CHECK(good.loss == 2.5);
  CHECK(good.accuracy == 0.25);
  const Evaluation diverged = sendable({.metric = metric_of(Targets::values), .loss = INFINITY, .accuracy = -INFINITY});
  CHECK(std::isnan(diverged.loss));
  CHECK(std::isnan(diverged.accuracy));
  CHECK(impossible(diverged) == "");
}

}  // namespace fedstride::test::told_evaluation_test
