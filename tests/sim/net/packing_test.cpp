#include "sim/net/packing.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "nn/model.hpp"

namespace fedstride::test::packing_test {
namespace {

/// 1, 2, 3, ... as the parameters, 0 as padding.
Vector counted(const Model& model) {
  Vector weights(model.size());
  float next = 1;
  for (const Parameter& parameter : model.parameters())
    for (std::size_t i = 0; i < parameter.size; ++i) weights[parameter.offset + i] = next++;
  return weights;
}

}  // namespace

TEST_CASE("packing a model keeps exactly its parameters, in order, and unpacking restores it") {
  // None of the first model's tensors, some of the second's and all of the third's need no padding.
  const std::pair<Model, std::size_t> models[] = {
      {Model::parse("dense classes", {1, 1, 3}, 5), 20},
      {Model::parse("conv 3 2 | groupnorm 3 | relu | dense 16 | dense classes", {5, 4, 2}, 7),
       24 + 3 + 6 + 36 * 16 + 16 + 16 * 7 + 7},
      {Model::parse("dense 16 | dense classes", {1, 1, 32}, 16), 32 * 16 + 16 + 16 * 16 + 16}};
  for (const auto& one : models) {
    const Model& model = one.first;
    const std::size_t parameters = one.second;
    CAPTURE(model.line());
    const Packing packing(model);
    CHECK(packing.size() == parameters);
    CHECK(packing.spread_size() == model.size());
    const Vector weights = counted(model);
    Vector sent = weights;
    packing.pack(sent);
    REQUIRE(sent.size() == parameters);
    for (std::size_t i = 0; i < parameters; ++i) REQUIRE(sent[i] == static_cast<float>(i + 1));
    packing.unpack(sent);
    CHECK(sent == weights);
  }
}

TEST_CASE("a packing without a model is one tensor or none") {
  Vector values(5, 3);
  const Packing one(5);
  one.pack(values);
  one.unpack(values);
  CHECK(values == Vector(5, 3));
  Vector none;
  Packing().pack(none);
  Packing().unpack(none);
  CHECK(none.empty());
}

}  // namespace fedstride::test::packing_test
