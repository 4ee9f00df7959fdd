#include "server/aggregation/distances.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/random.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::distances_test {
namespace {

constexpr std::size_t kSize = 1500;

/// Center + spread x normal draws.
Vector around(float centre, float spread, std::uint32_t row) {
  RandomStream random(4, {.purpose = Purpose::test, .row = row});
  Vector change(kSize);
  for (float& value : change) value = centre + spread * static_cast<float>(random.normal());
  return change;
}

double by_differences(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

/// The largest error relative to the distance itself; infinite if equal changes have one or the matrix is not symmetric.
double largest_error(const std::vector<Vector>& changes) {
  const SquaredDistances distances(Changes(changes.begin(), changes.end()), serially);
  double largest = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (std::size_t j = 0; j < changes.size(); ++j) {
      const double right = by_differences(changes[i], changes[j]);
      const double error = std::abs(distances(i, j) - right);
      largest = std::max(largest, error == 0 ? 0 : error / right);
      if (distances(i, j) != distances(j, i)) return INFINITY;
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("squared distances worked out by hand") {
  const std::vector<Vector> changes{vector_of({0, 0}), vector_of({3, 4}), vector_of({3, 4}), vector_of({-6, -8})};
  const SquaredDistances distances(Changes(changes.begin(), changes.end()), serially);
  CHECK(distances(0, 0) == 0);
  CHECK(distances(0, 1) == 25);
  CHECK(distances(1, 2) == 0);
  CHECK(distances(1, 3) == 81 + 144);
  CHECK(distances(3, 1) == 81 + 144);
}

TEST_CASE("squared distances of any number of changes, in tiles that need not be full") {
  for (const std::uint32_t count : {1, 2, 63, 64, 65, 130}) {
    std::vector<Vector> changes;
    for (std::uint32_t k = 0; k < count; ++k) changes.push_back(around(0, 1, k));
    CHECK(largest_error(changes) < 2e-6);
  }
}

TEST_CASE("nearly equal changes have accurate distances") {
  std::vector<Vector> changes;
  for (std::uint32_t k = 0; k < 20; ++k) changes.push_back(around(1, 1e-6F, k));
  CHECK(largest_error(changes) < 1e-3);
}

TEST_CASE("neither a minority of huge changes nor clusters spoil the other distances") {
  std::vector<Vector> changes;
  for (std::uint32_t k = 0; k < 20; ++k) changes.push_back(around(1e-2F, 1e-4F, k));
  for (std::uint32_t k = 20; k < 35; ++k) changes.push_back(around(4e6F, 1, k));
  for (std::uint32_t k = 35; k < 37; ++k) changes.push_back(around(-4e6F, 1e3F, k));
  changes.push_back(changes.front());
  changes.push_back(changes.back());
  CHECK(largest_error(changes) < 1e-3);
}

TEST_CASE("distances between moderate clusters, where products are barely used, are accurate to a thousandth") {
  for (const float spread : {0.05F, 0.1F, 0.125F, 0.13F, 0.2F, 0.4F}) {
    std::vector<Vector> changes;
    for (std::uint32_t k = 0; k < 10; ++k) changes.push_back(around(k % 2 == 0 ? 1.0F : -1.0F, spread, k));
    CHECK(largest_error(changes) < 1e-3);
  }
}

}  // namespace fedstride::test::distances_test
