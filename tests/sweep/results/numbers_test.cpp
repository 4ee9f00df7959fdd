#include "sweep/results/numbers.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace fedstride::test::numbers_test {

std::vector<std::string> names_of(const Numbers& numbers) {
  std::vector<std::string> names;
  for (const auto& [name, value] : numbers) names.push_back(name);
  return names;
}

TEST_CASE("numbers stand in the order of their names, each once") {
  Numbers numbers{{"loss", 2}, {"accuracy", 0.5}, {"loss", 3}};
  numbers["seconds"] = 1;
  numbers["bytes"];
  CHECK(names_of(numbers) == std::vector<std::string>{"accuracy", "bytes", "loss", "seconds"});
  CHECK(numbers.find("loss")->second == 3);
  CHECK(numbers.find("bytes")->second == 0);
  CHECK(numbers.find("los") == numbers.end());
  CHECK_FALSE(numbers.contains("lossy"));
  CHECK(numbers.at("seconds") == 1);
  CHECK_THROWS_AS((void)numbers.at("los"), std::out_of_range);
  CHECK(numbers == Numbers{{"seconds", 1}, {"bytes", 0}, {"accuracy", 0.5}, {"loss", 3}});
}

TEST_CASE("what is missing is added, what is there stays, what is erased is gone") {
  Numbers numbers{{"b", 1}};
  numbers.add_missing(Numbers{{"a", 7}, {"b", 8}, {"c", 9}});
  CHECK(numbers == Numbers{{"a", 7}, {"b", 1}, {"c", 9}});
  numbers.erase("b");
  numbers.erase("none");
  CHECK(names_of(numbers) == std::vector<std::string>{"a", "c"});
  numbers.clear();
  CHECK(numbers == Numbers{});
  numbers.erase("a");
  CHECK(numbers.begin() == numbers.end());
}

}  // namespace fedstride::test::numbers_test
