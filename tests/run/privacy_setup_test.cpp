#include "run/privacy_setup.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

namespace fedstride::test::privacy_setup_test {
namespace {

struct OwnExample {
  static constexpr bool kMixesExamples = false;
};
struct BatchMean {
  static constexpr bool kMixesExamples = true;
};
using Layers = std::vector<std::variant<OwnExample, BatchMean>>;

}  // namespace

TEST_CASE("a layer that mixes the examples of a batch is refused wherever it stands, with the model's line") {
  CHECK_NOTHROW(refuse_mixing_layers(Layers{}, "dense classes"));
  CHECK_NOTHROW(refuse_mixing_layers(Layers{OwnExample{}, OwnExample{}}, "dense classes"));
  for (const Layers& layers : {Layers{BatchMean{}, OwnExample{}}, Layers{OwnExample{}, BatchMean{}}})
    CHECK_THROWS_WITH_AS(refuse_mixing_layers(layers, "mean | dense classes"),
                         doctest::Contains("model 'mean | dense classes' has a layer that mixes the examples"), Error);
}

}  // namespace fedstride::test::privacy_setup_test
