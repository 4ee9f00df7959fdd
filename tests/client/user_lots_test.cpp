// Lots of users: whose rows they hold, and what a user moves.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "client/optim/sgd.hpp"
#include "client/trainer.hpp"
#include "core/eigen.hpp"
#include "tests/client/blobs.hpp"

namespace fedstride::test::user_lots_test {
namespace {

// 200 rows: user 0 has 100 of them, user 1 40, users 2 to 5 15 each.
std::uint32_t user_of(Row row) { return row < 100 ? 0 : row < 140 ? 1 : 2 + (row - 140) / 15; }

const Dataset& data() {
  static const Dataset all = [] {
    Dataset blobs = test::blobs(200);
    for (Row row = 0; row < 200; ++row) blobs.clients.push_back(user_of(row));
    return blobs;
  }();
  return all;
}

const Model& model() {
  static const Model line = Model::parse("dense 5 | tanh | dense classes", data().shape, data().classes);
  return line;
}

constexpr double kTiny = 1e-6;

LocalTraining training_of(const PrivateRules* rules, const LotSizes& sizes, int batch) {
  Sgd sgd;
  sgd.initial_rate = 0.5;
  LocalTraining training{.optimizer = sgd, .batch = batch, .seed = 1};
  if (rules == nullptr) return training;
  training.privacy.emplace();
  training.privacy->plans = {std::make_shared<const PrivatePlan>(*rules, training.optimizer, sizes)};
  training.privacy->source = RandomSource(std::uint64_t{11});
  return training;
}

Vector change_of(const LocalTraining& training, const std::vector<Row>& rows) {
  Trainer trainer(model(), data(), training, rows.size());
  const Vector start = model().initial(Initialization::fan_in, 1);
  ClientState state;
  Vector change;
  const std::vector<std::uint64_t> releases{1000};
  trainer.train({1, start, releases}, 0, rows, state, serially, {},
                [&](const ClientUpdate& update) { change = Vector(update.change); });
  return change;
}

std::vector<Row> rows_without(std::uint32_t user) {
  std::vector<Row> rows;
  for (Row row = 0; row < 200; ++row)
    if (user_of(row) != user) rows.push_back(row);
  return rows;
}
std::vector<Row> rows_of(std::uint32_t user) {
  std::vector<Row> rows;
  for (Row row = 0; row < 200; ++row)
    if (user_of(row) == user) rows.push_back(row);
  return rows;
}

}  // namespace

TEST_CASE("a step of users is along the mean of their mean gradients, each clipped") {
  for (const double clip : {10.0, 0.01}) {
    const PrivateRules rules{.batch = 200, .noise = {.clip = clip, .noise_multiplier = kTiny}, .unit = LotUnit::users};
    const LotSizes sizes{200, 6};
    const Vector change = change_of(training_of(&rules, sizes, 200), rows_without(99));
    Vector expected(model().size());
    for (std::uint32_t user = 0; user < 6; ++user) {
      const Vector alone = change_of(training_of(nullptr, {}, 200), rows_of(user));  // 0.5 x its mean gradient
      const double scale = std::min(1.0, 0.5 * clip / eigen(alone).norm());
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<float>(scale / 6) * alone[i];
    }
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(change[i] == doctest::Approx(expected[i]).epsilon(1e-3).scale(clip < 1 ? 1e-3 : 1));
  }
}

TEST_CASE("a user, with all its rows, moves the sum by a clip bound at most; examples of it by one each") {
  constexpr double kClip = 0.01;
  for (const auto& [unit, bound] : {std::pair{LotUnit::users, std::uint64_t{1}}, {LotUnit::some_examples, std::uint64_t{3}}}) {
    const PrivateRules rules{.batch = 200, .noise = {.clip = kClip, .noise_multiplier = kTiny}, .unit = unit, .bound = bound};
    const LotSizes sizes{200, 6 * bound};
    const LocalTraining training = training_of(&rules, sizes, 200);
    CHECK(training.privacy->plans[0]->denominator() == static_cast<double>(6 * bound));
    const Vector all = change_of(training, rows_without(99));
    for (const std::uint32_t user : {0U, 1U, 4U}) {
      const Vector less = change_of(training, rows_without(user));
      double square = 0;
      for (std::size_t i = 0; i < all.size(); ++i) square += std::pow(all[i] - less[i], 2);
      const double moved = std::sqrt(square) / 0.5 * training.privacy->plans[0]->denominator();
      CHECK(moved <= kClip * static_cast<double>(bound) * (1 + 1e-3));
      if (bound == 1) CHECK(moved > kClip * 0.99);  // every mean gradient is longer than that
    }
  }
}

TEST_CASE("lots hold users whole, or at most so many examples of each, the same in every round") {
  const std::vector<Row> rows = rows_without(99);
  const RandomSource source(std::uint64_t{5});
  const auto lot = [&](const PrivateRules& rules, std::size_t units, std::uint32_t round, LotDraws** = nullptr) {
    const PrivatePlan plan(rules, Sgd{}, {200, units});
    LotDraws draws(plan, source, rows, {.round = round, .client = 2, .reserved = 9}, data().clients);
    std::vector<Row> drawn;
    draws.draw(drawn);
    return std::pair(drawn, std::vector<std::size_t>(draws.groups().begin(), draws.groups().end()));
  };
  const PrivateRules some{.sampling_rate = 1, .unit = LotUnit::some_examples, .bound = 4};
  const auto all = lot(some, 24, 1).first;
  CHECK(lot(some, 24, 8).first == all);
  std::map<std::uint32_t, int> of_user;
  for (const Row row : all) ++of_user[user_of(row)];
  CHECK(of_user.size() == 6);
  for (const auto& [user, count] : of_user) CHECK(count == 4);
  const PrivateRules sampled{.sampling_rate = 0.5, .unit = LotUnit::some_examples, .bound = 4};
  for (const Row row : lot(sampled, 24, 3).first) CHECK(std::ranges::count(all, row) == 1);
  const PrivateRules whole{.sampling_rate = 0.5, .unit = LotUnit::users};
  std::set<std::size_t> seen;
  for (std::uint32_t round = 1; round < 20; ++round) {
    const auto [drawn, groups] = lot(whole, 6, round);
    std::size_t at = 0;
    for (const std::size_t size : groups) {
      const std::vector<Row> group(drawn.begin() + static_cast<std::ptrdiff_t>(at),
                                   drawn.begin() + static_cast<std::ptrdiff_t>(at + size));
      CHECK(group == rows_of(user_of(group.front())));
      at += size;
    }
    CHECK(at == drawn.size());
    seen.insert(groups.size());
  }
  CHECK(seen.size() > 2);
}

}  // namespace fedstride::test::user_lots_test
