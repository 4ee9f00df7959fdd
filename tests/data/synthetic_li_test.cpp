#include "data/built_in.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "core/error.hpp"
#include "data/datasets.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::synthetic_li_test {
namespace {

// The rows of one client in the training part.
std::vector<std::size_t> rows_of(const Dataset& data, std::uint32_t client) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < data.size(); ++row)
    if (data.clients[row] == client) rows.push_back(row);
  return rows;
}

double mean_of_column(const Dataset& data, const std::vector<std::size_t>& rows, std::size_t column) {
  double sum = 0;
  for (const std::size_t row : rows) sum += data.features[row * 60 + column];
  return sum / static_cast<double>(rows.size());
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += (value - mean_of(values)) * (value - mean_of(values));
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("sizes are 50 and more, their logarithms beyond 50 of mean 4 and deviation 2, a tenth tests") {
  constexpr std::uint32_t kMany = 200;
  const DataPair pair = make_synthetic_li({.clients = kMany});
  CHECK(pair.train.client_names.size() == kMany);
  CHECK(pair.test.client_names == pair.train.client_names);
  std::map<std::uint32_t, std::size_t> train, test;
  for (const std::uint32_t client : pair.train.clients) ++train[client];
  for (const std::uint32_t client : pair.test.clients) ++test[client];
  std::vector<double> logs;
  for (std::uint32_t client = 0; client < kMany; ++client) {
    const std::size_t all = train[client] + test[client];
    CHECK(all >= 50);
    CHECK(train[client] == all * 9 / 10);
    logs.push_back(std::log(static_cast<double>(all - 50) + 0.5));
  }
  CHECK(std::abs(mean_of(logs) - 4) < 4 * 2 / std::sqrt(kMany));
  CHECK(std::sqrt(variance_of(logs)) == doctest::Approx(2).epsilon(0.18));
}

TEST_CASE("inputs vary by j^-1.2 about their client's means, and these by 1 about B, whose variance is beta") {
  constexpr std::uint32_t kSome = 100;
  for (const double beta : {0.0, 4.0}) {
    const DataPair pair = make_synthetic_li({.alpha = 0, .beta = beta, .clients = kSome});
    const Dataset& data = pair.train;
    std::vector<double> centres, spreads;
    double within[3] = {};  // columns 1, 10 and 60
    double large = 0;
    std::size_t begin = 0;
    for (std::uint32_t client = 0; client < kSome; ++client) {
      std::vector<std::size_t> rows;
      while (begin < data.size() && data.clients[begin] == client) rows.push_back(begin++);
      rows.resize(std::min<std::size_t>(rows.size(), 400));  // enough, and quick
      std::vector<double> means;
      for (std::size_t column = 0; column < 60; ++column) means.push_back(mean_of_column(data, rows, column));
      centres.push_back(mean_of(means));
      spreads.push_back(variance_of(means) * 60 / 59);
      if (rows.size() < 200) continue;
      ++large;
      const std::size_t columns[] = {0, 9, 59};
      for (std::size_t i = 0; i < 3; ++i) {
        std::vector<double> values;
        for (const std::size_t row : rows) values.push_back(data.features[row * 60 + columns[i]]);
        within[i] += variance_of(values);
      }
    }
    REQUIRE(large > 10);
    CHECK(within[0] / large == doctest::Approx(1).epsilon(0.05));
    CHECK(within[1] / large == doctest::Approx(std::pow(10, -1.2)).epsilon(0.05));
    CHECK(within[2] / large == doctest::Approx(std::pow(60, -1.2)).epsilon(0.05));
    CHECK(mean_of(spreads) == doctest::Approx(1).epsilon(0.05));
    // The mean of 60 entries of v, and the clients' B: 1/60 + beta, to four deviations of a variance.
    CHECK(std::abs(variance_of(centres) - (beta + 1.0 / 60)) < 4 * (beta + 1.0 / 60) * std::sqrt(2.0 / kSome));
  }
}

TEST_CASE("labels are a linear function of the inputs, one a client: a perceptron fits a client and not all of them") {
  const DataPair pair = make_synthetic_li({.alpha = 1, .beta = 1, .clients = 8});
  const Dataset& data = pair.train;
  // Multiclass perceptron, whose mistakes end if and only if the classes can be told apart by argmax (W x + b).
  const auto mistakes_at_the_end = [&](const std::vector<std::size_t>& rows) {
    std::vector<double> weights(10 * 61, 0);
    std::size_t mistakes = 1;
    for (int epoch = 0; epoch < 400 && mistakes > 0; ++epoch) {
      mistakes = 0;
      for (const std::size_t row : rows) {
        const float* x = &data.features[row * 60];
        std::size_t best = 0;
        double highest = -1e300;
        for (std::size_t label = 0; label < 10; ++label) {
          double score = weights[label * 61 + 60];
          for (std::size_t j = 0; j < 60; ++j) score += weights[label * 61 + j] * x[j];
          if (score > highest) {
            highest = score;
            best = label;
          }
        }
        if (best == data.labels[row]) continue;
        ++mistakes;
        for (std::size_t j = 0; j < 61; ++j) {
          const double input = j < 60 ? x[j] : 1;
          weights[data.labels[row] * 61 + j] += input;
          weights[best * 61 + j] -= input;
        }
      }
    }
    return mistakes;
  };
  std::vector<std::size_t> some;
  for (const std::uint32_t client : {0U, 1U, 2U}) {
    auto rows = rows_of(data, client);
    rows.resize(std::min<std::size_t>(rows.size(), 60));
    CHECK(mistakes_at_the_end(rows) == 0);
  }
  for (std::uint32_t client = 0; client < 8; ++client)
    for (const std::size_t row : rows_of(data, client))
      if (some.size() < 100 * (client + 1)) some.push_back(row);
  CHECK(mistakes_at_the_end(some) > 0);
}

TEST_CASE("parameters follow the name; more clients leave the others as they were, another seed does not") {
  const DataPair pair = load_dataset("synthetic-li:0.5,0.25,3,7", {});
  CHECK(pair.train.name == "synthetic-li:0.5,0.25,3,7");
  CHECK(pair.train.shape == Shape{1, 1, 60});
  CHECK(pair.train.classes == 10);
  CHECK(pair.train.client_names.size() == 3);
  const DataPair direct = make_synthetic_li({.alpha = 0.5, .beta = 0.25, .clients = 3, .seed = 7});
  CHECK(direct.train.features == pair.train.features);
  const DataPair more = make_synthetic_li({.alpha = 0.5, .beta = 0.25, .clients = 4, .seed = 7});
  CHECK(std::equal(direct.train.features.begin(), direct.train.features.end(), more.train.features.begin()));
  CHECK(make_synthetic_li({.alpha = 0.5, .beta = 0.25, .clients = 3, .seed = 8}).train.features != direct.train.features);
  CHECK(load_dataset("synthetic-li", {}).hash == load_dataset("synthetic-li:1,1,30,0", {}).hash);
  CHECK(load_dataset("synthetic-li:0", {}).train.features == make_synthetic_li({.alpha = 0}).train.features);
}

TEST_CASE("parameters that are none, and those of sets that have none, are refused in one line") {
  for (const std::string wrong :
       {"x", "1,-1", "1,nan", "1,1,0", "1,1,10001", "1,1,2.5", "1,1,30,-1", "1,1,30,0,5", "1,,30", "1e7"})
    CHECK_USAGE_ERROR(load_dataset("synthetic-li:" + wrong, {}), "dataset", "'synthetic-li:" + wrong + "'",
                      "synthetic-li:ALPHA,BETA,CLIENTS,SEED", "1,1,30,0");
  CHECK_USAGE_ERROR(load_dataset("fcube:3", {}), "dataset", "'fcube:3'", "fcube");
  CHECK_USAGE_ERROR(load_dataset("synthetic:1", {}), "dataset", "'synthetic:1'", "synthetic");
  CHECK_USAGE_ERROR(load_dataset("sinthetic:1", {}), "dataset", "'sinthetic:1'");
}

}  // namespace fedstride::test::synthetic_li_test
