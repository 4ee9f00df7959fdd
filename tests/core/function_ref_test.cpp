#include "core/function_ref.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "core/gradient.hpp"

namespace fedstride::test::function_ref_test {
namespace {

int twice(int value) { return 2 * value; }

int called_with(function_ref<int(int)> call, int value) { return call(value); }

struct Counter {
  int count = 0;
  int operator()(int value) { return count += value; }
};

TEST_CASE("lambdas, objects, functions and pointers to functions can be called through it") {
  const int offset = 10;
  CHECK(called_with([&](int value) { return value + offset; }, 1) == 11);
  CHECK(called_with(twice, 21) == 42);
  CHECK(called_with(&twice, 21) == 42);
}

TEST_CASE("it calls the object itself, not a copy") {
  Counter counter;
  CHECK(called_with(counter, 3) == 3);
  CHECK(called_with(counter, 4) == 7);
  CHECK(counter.count == 7);
  const function_ref<int(int)> first(counter);
  const function_ref<int(int)> second = first;
  second(1);
  CHECK(counter.count == 8);
}

TEST_CASE("references and values that cannot be copied pass through it") {
  int changed = 0;
  const auto set = [](int& target, std::unique_ptr<int> value) { target = *value; };
  const function_ref<void(int&, std::unique_ptr<int>)> call(set);
  call(changed, std::make_unique<int>(5));
  CHECK(changed == 5);
}

TEST_CASE("a result that is not asked for is dropped") {
  Counter counter;
  const function_ref<void(int)> call(counter);
  call(2);
  CHECK(counter.count == 2);
}

TEST_CASE("what cannot be called that way does not convert") {
  CHECK(std::is_constructible_v<function_ref<int(int)>, Counter&>);
  CHECK_FALSE(std::is_constructible_v<function_ref<int(std::string)>, Counter&>);
  CHECK_FALSE(std::is_constructible_v<function_ref<int(int)>, const Counter&>);
}

TEST_CASE("pieces run serially, each once and in order") {
  std::vector<int> order;
  const ForEachPiece for_each_piece = serially;
  for_each_piece(4, [&](int piece) { order.push_back(piece); });
  CHECK(order == std::vector<int>{0, 1, 2, 3});
  for_each_piece(0, [&](int piece) { order.push_back(piece); });
  CHECK(order.size() == 4);
}

}  // namespace
}  // namespace fedstride::test::function_ref_test
