#include "sim/prepare/privacy_setup.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::privacy_setup_test {
namespace {

struct OwnExample {
  static constexpr LayerTraits kTraits{};
};
struct BatchMean {
  static constexpr LayerTraits kTraits{.mixes_examples = true};
};
using Layers = std::vector<std::variant<OwnExample, BatchMean>>;

}  // namespace

TEST_CASE("a layer that mixes the examples of a batch is refused anywhere in the model") {
  CHECK_NOTHROW(refuse_mixing_layers(Layers{}, "dense classes"));
  CHECK_NOTHROW(refuse_mixing_layers(Layers{OwnExample{}, OwnExample{}}, "dense classes"));
  for (const Layers& layers : {Layers{BatchMean{}, OwnExample{}}, Layers{OwnExample{}, BatchMean{}}})
    CHECK_USAGE_ERROR(refuse_mixing_layers(layers, "mean | dense classes"), "model", "'mean | dense classes'");
}

}  // namespace fedstride::test::privacy_setup_test
