#include "data/split.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <set>
#include <vector>

#include "tests/data/files.hpp"

namespace fedstride::test::split_test {

TEST_CASE("a validation split holds every row once, both parts ascending, of about the size asked for") {
  const auto [train, validation] = split_validation(1000, 0.1, 7);
  CHECK(std::abs(static_cast<int>(validation.size()) - 100) < 40);  // four deviations of a binomial
  CHECK(train.size() + validation.size() == 1000);
  CHECK(std::is_sorted(train.begin(), train.end()));
  CHECK(std::is_sorted(validation.begin(), validation.end()));
  std::vector<Row> all(train);
  all.insert(all.end(), validation.begin(), validation.end());
  std::sort(all.begin(), all.end());
  for (Row row = 0; row < 1000; ++row) REQUIRE(all[row] == row);
}

TEST_CASE("the validation rows follow the seed and are spread over the set") {
  const auto first = split_validation(1000, 0.1, 1).second;
  CHECK(first == split_validation(1000, 0.1, 1).second);
  CHECK(first != split_validation(1000, 0.1, 2).second);
  CHECK(first.front() < 100);
  CHECK(first.back() >= 900);
}

TEST_CASE("evaluation rows are as many different ones as asked for, of the seed alone, spread over the test part") {
  const auto rows = draw_evaluation_rows(1000, 100, 1);
  CHECK(rows.size() == 100);
  CHECK(std::ranges::is_sorted(rows));
  CHECK(std::ranges::adjacent_find(rows) == rows.end());
  CHECK(rows.front() < 100);
  CHECK(rows.back() >= 900);
  CHECK(rows.back() < 1000);
  CHECK(rows == draw_evaluation_rows(1000, 100, 1));
  CHECK(rows != draw_evaluation_rows(1000, 100, 2));
  CHECK(rows != split_validation(1000, 0.1, 1).second);
  CHECK(draw_evaluation_rows(5, 5, 1) == std::vector<Row>{0, 1, 2, 3, 4});
  CHECK_USAGE_ERROR(draw_evaluation_rows(1, 2, 1), "evaluate-rows", "2", "1");
}

TEST_CASE("a fraction of 0 takes nothing; 1, negative, NaN and one that leaves no training row are refused") {
  CHECK(split_validation(10, 0, 1).second.empty());
  CHECK(split_validation(10, 0, 1).first.size() == 10);
  CHECK_USAGE_ERROR(split_validation(10, 1, 1), "validation-fraction", "1");
  CHECK_USAGE_ERROR(split_validation(10, -0.1, 1), "validation-fraction", "-0.1");
  CHECK_USAGE_ERROR(split_validation(10, std::numeric_limits<double>::quiet_NaN(), 1), "validation-fraction", "nan");
  CHECK_USAGE_ERROR(split_validation(10, 0.99, 1), "validation-fraction", "0.99", "10");
}

TEST_CASE("one row more moves no other row into a part or out of it") {
  for (const std::size_t size : {7, 60, 601}) {
    std::vector<Row> before = split_validation(size, 0.3, 4).second;
    std::vector<Row> after = split_validation(size + 1, 0.3, 4).second;
    std::erase(after, static_cast<Row>(size));
    CHECK(after == before);
    // As many as before: the new row takes the place of one at most.
    const auto some = draw_evaluation_rows(size, 5, 4);
    const auto others = draw_evaluation_rows(size + 1, 5, 4);
    std::vector<Row> common;
    std::ranges::set_intersection(some, others, std::back_inserter(common));
    CHECK(common.size() >= 4);
  }
}

TEST_CASE("a row that is appended to a set, or to any of its clients, moves no other row into the test part or out of it") {
  const auto held_out = [](const std::vector<std::uint32_t>& clients, std::size_t names) {
    Dataset data;
    data.shape = {1, 1, 1};
    data.classes = 2;
    std::vector<int> seen(names + 1, 0);
    for (std::size_t i = 0; i < names; ++i) data.client_names.push_back("n" + std::to_string(i));
    std::vector<float> features;
    for (const std::uint32_t client : clients) {
      features.push_back(static_cast<float>(1000 * static_cast<int>(client) + seen[client]++));
      data.labels.push_back(0);
    }
    data.features = features;
    if (names > 0) data.clients = clients;
    const Dataset test = split_test_part(data).second;
    return std::vector<float>(test.features.begin(), test.features.end());
  };
  for (const std::size_t names : {0, 3}) {
    std::vector<std::uint32_t> clients;
    for (std::uint32_t i = 0; i < 90; ++i) clients.push_back(names == 0 ? 0 : i / 30);
    const std::vector<float> before = held_out(clients, names);
    CHECK(before.size() > 5);
    for (std::uint32_t client = 0; client < std::max<std::size_t>(names, 1); ++client) {
      std::vector<std::uint32_t> more = clients;
      more.insert(more.begin() + (names == 0 ? 90 : 30 * (client + 1)), client);
      std::vector<float> after = held_out(more, names);
      std::erase(after, static_cast<float>(1000 * client + (names == 0 ? 90 : 30)));
      CHECK(after == before);
    }
  }
}

TEST_CASE("of a set so small that no row is drawn one is held out all the same, and at most one moves for one row more") {
  for (std::size_t size = 2; size < 12; ++size) {
    const auto train_of = [](std::size_t rows) {
      Dataset data;
      data.shape = {1, 1, 1};
      data.classes = 2;
      std::vector<float> features;
      for (std::size_t row = 0; row < rows; ++row) features.push_back(static_cast<float>(row));
      data.features = features;
      data.labels.assign(rows, 0);
      const auto [train, test] = split_test_part(data);
      CHECK(test.size() >= 1);
      CHECK(train.size() >= 1);
      return std::set<float>(train.features.begin(), train.features.end());
    };
    const std::set<float> one = train_of(size);
    const std::set<float> more = train_of(size + 1);
    std::vector<float> moved;
    std::ranges::set_symmetric_difference(one, more, std::back_inserter(moved));
    CHECK(moved.size() <= 1);
  }
}

}  // namespace fedstride::test::split_test
