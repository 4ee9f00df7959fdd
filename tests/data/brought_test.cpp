// Arrays in memory, as a program brings them.
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/datasets.hpp"
#include "data/files/readers.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::brought_test {
namespace {

template <class Value>
Array lent(const std::string& key, char kind, std::vector<std::size_t> shape, const std::shared_ptr<std::vector<Value>>& values) {
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(values->data()),
                                            values->size() * sizeof(Value));
  return {.key = key, .kind = kind, .item = sizeof(Value), .shape = std::move(shape), .bytes = {bytes, values}};
}

template <class Value>
std::shared_ptr<std::vector<Value>> counted_up(std::size_t count, Value step) {
  auto values = std::make_shared<std::vector<Value>>(count);
  for (std::size_t i = 0; i < count; ++i) (*values)[i] = static_cast<Value>(static_cast<Value>(i) * step);
  return values;
}

std::shared_ptr<std::vector<std::int64_t>> labels(std::size_t rows) {
  auto values = std::make_shared<std::vector<std::int64_t>>(rows);
  for (std::size_t i = 0; i < rows; ++i) (*values)[i] = static_cast<std::int64_t>(i % 3);
  return values;
}

DataPair brought(const std::map<std::string, Array>& arrays) {
  DataOptions options;
  options.brought = [&arrays](const ReadSettings& settings) {
    Assembly both("data", "data", settings);
    take_arrays(arrays, "data", settings, both);
    return both.finish(false);
  };
  return load_dataset(kOwnFile, options);
}

std::map<std::string, Array> with_test_part(const Array& x, std::size_t rows) {
  Array x_test = x, y = lent("y", 'i', {rows}, labels(rows)), y_test = y;
  x_test.key = "x_test";
  y_test.key = "y_test";
  return {{"x", x}, {"y", y}, {"x_test", x_test}, {"y_test", y_test}};
}

}  // namespace

TEST_CASE("planes of 8 bits and 32-bit numbers are read where they lie") {
  const auto pictures = counted_up<std::uint8_t>(6 * 3 * 64, 1);
  const DataPair planes = brought(with_test_part(lent("x", 'u', {6, 3, 8, 8}, pictures), 6));
  CHECK(planes.train.is_pictures());
  CHECK(std::as_const(planes.train.pixels).data() == pictures->data());
  CHECK(std::as_const(planes.test.pixels).data() == pictures->data());
  const auto grey = brought(with_test_part(lent("x", 'u', {6, 8, 24}, pictures), 6));
  CHECK(std::as_const(grey.train.pixels).data() == pictures->data());
  const auto numbers = counted_up<float>(6 * 5, 0.3F);
  const DataPair table = brought(with_test_part(lent("x", 'f', {6, 5}, numbers), 6));
  CHECK(std::as_const(table.train.features).data() == numbers->data());
}

TEST_CASE("what lies in another order is copied, with the same contents") {
  const auto pictures = counted_up<std::uint8_t>(6 * 64 * 3, 1);
  const DataPair last = brought(with_test_part(lent("x", 'u', {6, 8, 8, 3}, pictures), 6));
  CHECK_FALSE(last.train.pixels.is_lent());
  CHECK(std::as_const(last.train.pixels)[64] == (*pictures)[1]);  // the second channel's first pixel
  CHECK((*pictures)[64] == 64);
  // Numbers that are 255ths are kept in 8 bits.
  auto numbers = std::make_shared<std::vector<float>>(6 * 64, 1.0F);
  CHECK(brought(with_test_part(lent("x", 'f', {6, 8, 8}, numbers), 6)).train.is_pictures());
}

TEST_CASE("a row that is held out, or a change, leaves the memory alone") {
  const auto numbers = counted_up<float>(12 * 5, 0.3F);
  const std::vector<float> before = *numbers;
  auto arrays = with_test_part(lent("x", 'f', {12, 5}, numbers), 12);
  arrays.erase("x_test");
  arrays.erase("y_test");
  const DataPair held_out = brought(arrays);
  CHECK(held_out.test.size() == 2);
  CHECK_FALSE(held_out.train.features.is_lent());
  CHECK(held_out.train.features.size() == 50);
  DataPair whole = brought(with_test_part(lent("x", 'f', {12, 5}, numbers), 12));
  whole.train.features[3] = -1;
  CHECK(*numbers == before);
  CHECK(std::as_const(whole.test.features).data() == numbers->data());
}

TEST_CASE("numbers that are not finite are refused, with their row") {
  const auto numbers = counted_up<float>(6 * 5, 0.3F);
  (*numbers)[13] = std::numeric_limits<float>::infinity();
  CHECK_FAILURE(brought(with_test_part(lent("x", 'f', {6, 5}, numbers), 6)), "'x'", "2");
}

}  // namespace fedstride::test::brought_test
