#include "server/accumulator.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "client/attacks/inner_product.hpp"
#include "core/eigen.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::accumulator_test {
namespace {

constexpr ClientId kManyClients = 23;
constexpr std::size_t kManyParameters = 1500;

std::vector<ClientId> everyone(ClientId clients = kManyClients) {
  std::vector<ClientId> cohort(clients);
  std::iota(cohort.begin(), cohort.end(), ClientId{0});
  return cohort;
}

SumRules open_rules() {
  SumRules rules;
  for (ClientId client = 0; client < kManyClients; ++client) rules.weights.push_back(1 + 7 * client);
  return rules;
}

// The last 100 parameters are frozen.
SumRules client_level_rules() {
  SumRules rules = open_rules();
  rules.denominator = 1000;
  rules.release =
      CentralRelease{UpdateClip(0.5), {.grid = {0.01}}, {{0, kManyParameters - 100}}, RandomSource(std::uint64_t{11})};
  return rules;
}

// Components of very different size; client 5's is not finite.
std::vector<Vector> many_changes() {
  std::vector<Vector> changes;
  for (const ClientId client : everyone()) {
    RandomStream random(5, {.purpose = Purpose::test, .client = client});
    Vector change(kManyParameters);
    for (float& value : change) value = static_cast<float>(random.normal() * std::pow(10, 6 * random.uniform() - 5));
    changes.push_back(std::move(change));
  }
  changes[5][3] = std::numeric_limits<float>::quiet_NaN();
  return changes;
}

void add_to(Accumulator& updates, ClientId client, const Vector& change) {
  const ClientReport report{.client = client, .rows = client + 100};
  updates.add({report, view(change)});
}

Vector mean_of(Accumulator& updates) { return std::move(updates).release().mean().value(); }

}  // namespace

TEST_CASE("updates spread over parts in any way, added and merged in any order, give the bits of one accumulator") {
  const std::vector<Vector> changes = many_changes();
  for (const SumRules& rules : {open_rules(), client_level_rules()}) {
    Accumulator one(rules, 3, everyone(), kManyParameters);
    for (const ClientId client : everyone()) add_to(one, client, changes[client]);
    const Vector expected = mean_of(one);
    REQUIRE(eigen(expected).norm() > 0);

    RandomStream random(6, {.purpose = Purpose::test});
    for (int repetition = 0; repetition < 40; ++repetition) {
      Accumulator whole(rules, 3, everyone(), kManyParameters);
      std::vector<std::unique_ptr<Accumulator>> parts;
      for (std::uint64_t i = random.below(6); i < 6; ++i) parts.push_back(whole.fresh_part());
      std::vector<ClientId> order = everyone();
      shuffle(std::span(order), random);
      for (const ClientId client : order) {
        const std::uint64_t place = random.below(parts.size() + 1);
        add_to(place == parts.size() ? whole : *parts[place], client, changes[client]);
      }
      // Some parts go into other parts first, as in a tree.
      while (!parts.empty()) {
        const std::unique_ptr<Accumulator> last = std::move(parts.back());
        parts.pop_back();
        const std::uint64_t place = random.below(parts.size() + 1);
        (place == parts.size() ? whole : *parts[place]).merge(*last);
      }
      const auto reports = whole.reports();
      REQUIRE(reports.size() == kManyClients);
      for (ClientId client = 0; client < kManyClients; ++client) {
        REQUIRE(reports[client].client == client);
        REQUIRE(reports[client].rows == client + 100);
        REQUIRE(reports[client].failure.empty() == (client != 5));
      }
      REQUIRE(mean_of(whole) == expected);
    }
  }
}

TEST_CASE("threads that share one accumulator give the bits of one thread") {
  const std::vector<Vector> changes = many_changes();
  const SumRules rules = client_level_rules();
  Accumulator one(rules, 3, everyone(), kManyParameters), shared(rules, 3, everyone(), kManyParameters);
  for (const ClientId client : everyone()) add_to(one, client, changes[client]);
  std::vector<std::thread> threads;
  for (ClientId first = 0; first < 4; ++first)
    threads.emplace_back([&, first] {
      for (ClientId client = first; client < kManyClients; client += 4) add_to(shared, client, changes[client]);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(shared.reports().size() == kManyClients);
  CHECK(mean_of(shared) == mean_of(one));
}

TEST_CASE(
    "what is released under client-level privacy is clipped, noised once and at the round's address, and still on frozen "
    "parameters") {
  const SumRules rules = client_level_rules();
  const Vector large(kManyParameters, 10);
  const auto released = [&](std::uint32_t round) {
    Accumulator updates(rules, round, everyone(), kManyParameters);
    add_to(updates, 2, large);
    return mean_of(updates);
  };
  const Vector first = released(1);
  CHECK(first == released(1));
  CHECK(first != released(2));
  CHECK(is_zero(view(first).last(100)));

  // By hand: the clipped update and the noise, computed separately.
  Vector clipped;
  rules.release->clip.clip(view(large), clipped);
  ExactSum sum(kManyParameters);
  sum.add(view(std::as_const(clipped)), rules.weights[2]);
  add_noise(sum, rules.release->noise, rules.release->source, {Purpose::client_noise, 1});
  Vector expected;
  sum.divided_by(1000, expected);
  CHECK(std::ranges::equal(view(first).first(kManyParameters - 100), view(std::as_const(expected)).first(kManyParameters - 100)));

  // No clients: only noise.
  Accumulator nobody(rules, 1, everyone(), kManyParameters);
  const Vector noise = mean_of(nobody);
  CHECK(std::sqrt(eigen(noise).squaredNorm() / (kManyParameters - 100)) == doctest::Approx(0.01 / 1000).epsilon(0.1));
}

TEST_CASE("without client-level privacy a round in which nothing was admitted has no mean change") {
  const SumRules rules = open_rules();
  Accumulator updates(rules, 1, everyone(), kManyParameters);
  add_to(updates, 5, many_changes()[5]);
  CHECK(updates.reports().size() == 1);
  CHECK_FALSE(std::move(updates).release().mean().has_value());
}

TEST_CASE("an unexpected or second update, or one of another size, is refused and does no harm") {
  const SumRules rules = open_rules();
  const std::vector<ClientId> cohort{1, 2, 3};
  Accumulator updates(rules, 7, cohort, 2);
  const Vector change(2, 1);
  add_to(updates, 1, change);
  CHECK_FAILURE(add_to(updates, 1, change), "round 7", "client 1");
  CHECK_FAILURE(add_to(updates, 4, change), "round 7", "client 4");
  CHECK_FAILURE(add_to(updates, kManyClients, change), "round 7", "client 23");
  CHECK_FAILURE(add_to(updates, 3, Vector(5)), "round 7", "client 3", "5", "2");
  const std::vector<ClientId> stranger{kManyClients};
  CHECK_FAILURE(Accumulator(rules, 7, stranger, 2), "round 7", "client 23");

  const auto part = updates.fresh_part(), again = updates.fresh_part();
  add_to(*part, 2, Vector(2, 3));
  add_to(*again, 3, Vector(2, 5));
  add_to(*again, 2, Vector(2, 5));
  updates.merge(*part);
  CHECK_FAILURE(updates.merge(*part), "round 7", "client 2");
  CHECK_FAILURE(updates.merge(*again), "round 7", "client 2");  // none of it is added
  CHECK(updates.reports().size() == 2);
  CHECK(mean_of(updates)[0] == doctest::Approx((8.0 * 1 + 15.0 * 3) / 23));
}

TEST_CASE("the contents of other processes' parts, added on the way, give the bits of one accumulator") {
  const std::vector<Vector> changes = many_changes();
  for (const SumRules& rules : {open_rules(), client_level_rules()}) {
    Accumulator one(rules, 3, everyone(), kManyParameters), here(rules, 3, everyone(), kManyParameters),
        there(rules, 3, everyone(), kManyParameters);
    const auto part = here.fresh_part(), far_part = there.fresh_part();
    for (const ClientId client : everyone()) {
      add_to(one, client, changes[client]);
      add_to(client % 3 == 0 ? *part : *far_part, client, changes[client]);
    }
    PartOfSum near = std::move(*part).hand_over(), far = std::move(*far_part).hand_over();
    for (std::size_t i = 0; i < kManyParameters; ++i) near.sum.integers()[i] += far.sum.integers()[i];
    near.sum.add_weight(far.sum.weight());
    near.reports.insert(near.reports.end(), far.reports.begin(), far.reports.end());
    here.merge(near);
    CHECK(here.reports().size() == kManyClients);
    CHECK_FAILURE(here.merge(near), "round 3", "client 0");
    CHECK(mean_of(here) == mean_of(one));
  }
}

TEST_CASE("only a part can be handed over, once, and what is merged must belong to the round") {
  const SumRules rules = open_rules();
  const std::vector<ClientId> cohort{1, 2};
  Accumulator whole(rules, 7, cohort, 2), kept(rules, 7, cohort, 2, Accumulator::Keeps::updates);
  CHECK_FAILURE(std::move(whole).hand_over(), "round 7", "part");
  const auto part = whole.fresh_part();
  add_to(*part, 1, Vector(2, 3));
  const PartOfSum held = std::move(*part).hand_over();
  CHECK_THROWS_AS(std::move(*part).hand_over(), Error);
  CHECK_THROWS_AS(whole.merge(*part), Error);
  CHECK_THROWS_AS(add_to(*part, 2, Vector(2)), Error);

  PartOfSum stranger = held, twice = held, larger = held;
  stranger.reports[0].client = 3;
  twice.reports.push_back(twice.reports[0]);
  larger.sum = ExactSum(3);
  for (const PartOfSum* wrong : {&stranger, &twice, &larger}) CHECK_THROWS_AS(whole.merge(*wrong), Error);
  CHECK(whole.reports().empty());
  whole.merge(held);
  CHECK(mean_of(whole)[0] == 3);
  CHECK_THROWS_AS(whole.merge(held), Error);

  const auto kept_part = kept.fresh_part();
  add_to(*kept_part, 2, Vector(2, 5));
  PartOfSum updates = std::move(*kept_part).hand_over();
  PartOfSum unreported = updates;
  unreported.updates[0].client = 1;
  CHECK_THROWS_AS(kept.merge(unreported), Error);
  kept.merge(updates);
  const OpenUpdates opened = std::move(kept).open();
  CHECK(Vector(opened.all()[0].change) == Vector(2, 5));
}

TEST_CASE("parts of another round, other rules or another cohort are not merged") {
  const SumRules rules = open_rules(), others = open_rules();
  const std::vector<ClientId> cohort{1, 2}, other_cohort{1, 3};
  Accumulator whole(rules, 7, cohort, 2);
  const Accumulator next_round(rules, 8, cohort, 2), other_rules(others, 7, cohort, 2), other_clients(rules, 7, other_cohort, 2),
      other_size(rules, 7, cohort, 3), kept(rules, 7, cohort, 2, Accumulator::Keeps::updates);
  for (const Accumulator* other : {&next_round, &other_rules, &other_clients, &other_size, &kept})
    CHECK_FAILURE(whole.merge(*other->fresh_part()), "round 7", "part");
  CHECK_THROWS_AS(whole.merge(whole), Error);
  Accumulator same(rules, 7, cohort, 2);
  CHECK_THROWS_AS(whole.merge(same), Error);  // it could be released as well
  CHECK_NOTHROW(whole.merge(*same.fresh_part()));
}

TEST_CASE("a sum is released once and then takes nothing more; a part is never released") {
  for (const SumRules& rules : {open_rules(), client_level_rules()}) {
    Accumulator updates(rules, 7, everyone(), kManyParameters);
    const auto part = updates.fresh_part();
    CHECK_THROWS_AS(std::move(*part).release(), Error);
    CHECK_THROWS_AS(std::move(updates).open(), Error);  // it kept none
    CHECK(std::move(updates).release().mean().has_value() == rules.release.has_value());
    CHECK_THROWS_AS(std::move(updates).release(), Error);
    CHECK_THROWS_AS(updates.merge(*part), Error);
    CHECK_THROWS_AS(add_to(updates, 1, Vector(kManyParameters)), Error);
  }
}

TEST_CASE("kept updates are opened in order of clients, with their weights, and never under client-level privacy") {
  const SumRules rules = open_rules();
  const std::vector<Vector> changes = many_changes();
  Accumulator updates(rules, 7, everyone(), kManyParameters, Accumulator::Keeps::updates);
  const auto part = updates.fresh_part();
  for (const ClientId client : {9U, 5U, 2U}) add_to(updates, client, changes[client]);
  add_to(*part, 4, changes[4]);
  updates.merge(*part);
  CHECK_THROWS_AS(std::move(updates).release(), Error);
  const OpenUpdates opened = std::move(updates).open();
  REQUIRE(opened.all().size() == 3);  // client 5's was not admitted
  const ClientId expected[] = {2, 4, 9};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(opened.all()[i].client == expected[i]);
    CHECK(opened.all()[i].weight == rules.weights[expected[i]]);
    CHECK(Vector(opened.all()[i].change) == changes[expected[i]]);
  }
  CHECK_THROWS_AS(std::move(updates).open(), Error);
  const SumRules secret = client_level_rules();
  CHECK_THROWS_AS(Accumulator(secret, 7, everyone(), kManyParameters, Accumulator::Keeps::updates), Error);
}

TEST_CASE("an update over the bound is left out, or scaled down to it; others keep their bits") {
  std::vector<Vector> changes = many_changes();
  std::vector<double> norms;
  for (const ClientId client : everyone())
    if (client != 5) norms.push_back(l2_norm(view(std::as_const(changes[client]))));
  std::ranges::sort(norms);
  const double bound = norms[norms.size() / 2];
  for (float& value : changes[7]) value = 4e6F;  // just within the sum's range: a malicious client

  const auto mean_with = [&](const std::optional<UpdateBound>& at_most, bool without_long) {
    SumRules rules = open_rules();
    rules.bound = at_most;
    Accumulator updates(rules, 3, everyone(), kManyParameters);
    for (const ClientId client : everyone()) {
      const double norm = l2_norm(view(std::as_const(changes[client])));
      if (without_long && norm > bound) continue;
      const ClientReport report{.client = client, .rows = client + 100};
      const std::string remark = updates.add({report, view(std::as_const(changes[client]))});
      const ClientReport entered = updates.reports().back();
      if (client == 5) {
        CHECK(std::isnan(entered.update_norm));
        CHECK(remark == entered.failure);
        continue;
      }
      CHECK(entered.update_norm == norm);
      const bool is_long = at_most && norm > at_most->clip.bound();
      CHECK(remark.empty() == !is_long);
      if (is_long) CHECK(names(remark, {number_text(norm), "max-update-norm", number_text(bound)}));
      CHECK(entered.failure.empty() == !(is_long && at_most->leaves_out));
    }
    return mean_of(updates);
  };
  const Vector open = mean_with({}, false), kept = mean_with({}, true);
  const Vector refused = mean_with(UpdateBound{UpdateClip(bound), true}, false);
  const Vector clipped = mean_with(UpdateBound{UpdateClip(bound), false}, false);
  CHECK(refused == kept);
  CHECK(mean_with(UpdateBound{UpdateClip(1e12), false}, false) == open);
  CHECK(eigen(open).norm() > 1e6);  // without a bound, one client decides
  CHECK(eigen(clipped).norm() <= bound);
  CHECK(clipped != kept);
}

TEST_CASE("colluding attackers need a whole round that keeps updates, and send one within the sum's range") {
  SumRules rules = open_rules();
  AttackPlan plan{.attack = InnerProduct{}, .attackers = {false, true, false, true}};
  Accumulator sum(rules, 7, everyone(), 2), kept(rules, 7, everyone(), 2, Accumulator::Keeps::updates);
  const auto part = kept.fresh_part();
  for (Accumulator* wrong : {&sum, part.get()}) CHECK_FAILURE(wrong->conspire(plan), "round 7", "attackers");

  // Clients 0 and 2 send 1 and 3, whose mean is 2.
  for (const ClientId client : {3U, 0U, 2U, 1U}) add_to(kept, client, Vector(2, static_cast<float>(client + 1)));
  plan.attack.as<InnerProduct>()->epsilon = 1e9;
  CHECK_THROWS_AS(kept.conspire(plan), Error);
  plan.attack.as<InnerProduct>()->epsilon = 10;
  const double sent = std::sqrt(800.0);
  for (const bool leaves_out : {false, true}) {
    // At the bound everything is kept; slightly above, it is scaled down or left out.
    for (const double bound : {sent, sent * 0.99}) {
      rules.bound = UpdateBound{UpdateClip(bound), leaves_out};
      Accumulator updates(rules, 7, everyone(), 2, Accumulator::Keeps::updates);
      for (const ClientId client : {3U, 0U, 2U, 1U}) add_to(updates, client, Vector(2, static_cast<float>(client + 1)));
      updates.conspire(plan);
      for (const ClientReport& report : updates.reports()) {
        CHECK(report.failure.empty() == !(plan.has(report.client) && leaves_out && bound < sent));
        if (plan.has(report.client)) CHECK(report.update_norm == doctest::Approx(sent));
      }
      const OpenUpdates opened = std::move(updates).open();
      REQUIRE(opened.all().size() == (leaves_out && bound < sent ? 2 : 4));
      for (const auto& update : opened.all())
        CHECK(l2_norm(update.change) ==
              doctest::Approx(plan.has(update.client) ? bound : (update.client + 1) * std::sqrt(2.0)).epsilon(1e-6));
    }
  }
}

// With next to no noise, what is released beside the mean is the mean of |D_k|^2 / S^2 and of u_k / (2 V) by weight, over the
// denominator: a client that is absent counts as 1/2.
TEST_CASE(
    "numbers released beside the mean change: by hand, in any parts, and moved by one client by no more than is noised for") {
  constexpr std::size_t kSize = 3;
  SumRules rules{.weights = {1, 3, 4}, .denominator = 8};
  rules.release = CentralRelease{UpdateClip(2.0),
                                 {.grid = {1e-6}},
                                 {{0, kSize}, {kSize, 2}},
                                 RandomSource(std::uint64_t{11}),
                                 {.square = true, .statistic = true}};
  const Vector changes[] = {vector_of({1, 0, 0}), vector_of({0, 30, 40}), vector_of({0, 0, 0})};
  const auto released = [&](ClientId absent, bool in_parts, double statistic) {
    Accumulator whole(rules, 3, everyone(3), kSize, Accumulator::Keeps::sum, 5);
    for (ClientId client = 0; client < 3; ++client) {
      ClientReport report{.client = client, .steps = 4, .statistic = client == 2 ? statistic : 20, .statistics = 4};
      if (client == absent) report.failure = "it is absent";
      const auto part = whole.fresh_part();
      (in_parts ? *part : whole).add({report, view(changes[client])});
      if (in_parts) whole.merge(*part);
    }
    return std::move(whole).release().mean().value();
  };
  for (const bool in_parts : {false, true}) {
    Vector mean = released(3, in_parts, 1e9);
    REQUIRE(mean.size() == kSize + 2);
    const auto means = rules.release->beside.take_off(mean, 2);
    CHECK(means.square == doctest::Approx((1 * 0.25 + 3 * 1 + 4 * 0) / 8));
    CHECK(means.statistic == doctest::Approx((1 * 0.5 + 3 * 0.5 + 4 * 1) / 8));
    CHECK(mean[1] == doctest::Approx(3 * 1.2 / 8).epsilon(1e-4));
    mean = released(1, in_parts, 0);
    const auto without = rules.release->beside.take_off(mean, 2);
    CHECK(without.square == doctest::Approx((1 * 0.25 + 3 * 0.5 + 4 * 0) / 8));
    CHECK(without.statistic == doctest::Approx((1 * 0.5 + 3 * 0.5 + 4 * 0) / 8));
  }
  const Vector all = released(3, false, 3), less = released(1, false, 3);
  double moved = 0;
  for (std::size_t i = 0; i < all.size(); ++i) moved += std::pow(8 * (all[i] - less[i]), 2);
  CHECK(std::sqrt(moved) <= 3 * 2 * rules.release->beside.growth());
  CHECK(std::sqrt(moved) > 3 * 2);
}

}  // namespace fedstride::test::accumulator_test
