#include "tests/kits/conformance.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "core/random.hpp"
#include "tests/kits/promises.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kTriedSize = 101;

Vector tried_change(std::uint32_t row, std::size_t size = kTriedSize) {
  RandomStream random(8, {.purpose = Purpose::test, .row = row});
  Vector change(size);
  for (float& value : change) value = static_cast<float>(random.normal());
  return change;
}

bool equal_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <class Tried>
bool is_refused(const Tried& tried) {
  try {
    tried();
  } catch (const Error&) {
    return true;
  }
  return false;
}

bool refuses_bad_server_rates(const ServerOptimizer& optimizer) {
  const SettingInfo* rate = optimizer.part().find("server-learning-rate");
  return rate == nullptr || std::ranges::all_of(std::vector<double>{0, -0.1, std::numeric_limits<double>::quiet_NaN()},
                                                [&](double value) { return is_refused([&] { rate->check(value); }); });
}

bool server_goes_on_after_load(const ServerOptimizer& optimizer) {
  Server one(optimizer, kTriedSize), other(optimizer, kTriedSize);
  Vector model = tried_change(0);
  for (std::uint32_t round = 1; round <= 3; ++round) one.apply(model, tried_change(round));
  Vector twin = model;
  other.load(one.save());
  for (std::uint32_t round = 4; round <= 6; ++round) {
    one.apply(model, tried_change(round));
    other.apply(twin, tried_change(round));
    if (!equal_bits(twin, model)) return false;
  }
  return other.save() == one.save();
}

bool servers_are_apart(const ServerOptimizer& optimizer) {
  Server used(optimizer, kTriedSize);
  const std::string fresh = used.save();
  Vector model = tried_change(0);
  Vector one = model, other = model;
  Server(optimizer, kTriedSize).apply(one, tried_change(1));
  for (std::uint32_t round = 1; round <= 3; ++round) used.apply(model, tried_change(round));
  Server later(optimizer, kTriedSize);
  const bool begins_alike = later.save() == fresh;
  later.apply(other, tried_change(1));
  return begins_alike && equal_bits(one, other);
}

bool state_keeps_its_length(const ServerOptimizer& optimizer) {
  Server server(optimizer, kTriedSize);
  const std::size_t length = server.save().size();
  Vector model = tried_change(0);
  for (std::uint32_t round = 1; round <= 3; ++round) server.apply(model, tried_change(round));
  return server.save().size() == length;
}

bool refuses_strange_states(const ServerOptimizer& optimizer) {
  Server server(optimizer, kTriedSize);
  const std::string good = server.save();
  server.load(good);
  const std::string larger = Server(optimizer, kTriedSize + 1).save();
  if (larger != good && !is_refused([&] { server.load(larger); })) return false;
  if (!good.empty() && !is_refused([&] { server.load(good.substr(0, good.size() - 1)); })) return false;
  return is_refused([&] { server.load(good + '\0'); });
}

bool rests_without_change(const ServerOptimizer& optimizer) {
  Server server(optimizer, kTriedSize);
  const Vector start = tried_change(0);
  Vector model = start;
  for (int round = 0; round < 3; ++round) server.apply(model, Vector(kTriedSize));
  return equal_bits(model, start);
}

bool server_keeps_gaps(const ServerOptimizer& optimizer) {
  Server server(optimizer, kTriedSize);
  Vector model = tried_change(0);
  model[50] = 0;
  for (std::uint32_t round = 1; round <= 5; ++round) {
    Vector change = tried_change(round);
    change[50] = 0;
    server.apply(model, change);
  }
  return model[50] == 0;
}

bool follows_the_change(const ServerOptimizer& optimizer) {
  const Vector start = tried_change(0), change = tried_change(1);
  Vector model = start;
  Server(optimizer, kTriedSize).apply(model, change);
  double along = 0;
  for (std::size_t i = 0; i < kTriedSize; ++i) along += (model[i] - start[i]) * change[i];
  return along > 0;
}

constexpr Promise<ServerOptimizer> kServerPromises[] = {
    {"its settings are valid, each with a name of its own",
     [](const ServerOptimizer& part) { return has_valid_settings(part.part()); }},
    {"a server learning rate of 0, below 0 or not a number is refused", refuses_bad_server_rates},
    {"save, load, apply equals apply", server_goes_on_after_load},
    {"one at work leaves no trace in another", servers_are_apart},
    {"how long a saved state is depends on the number of parameters alone", state_keeps_its_length},
    {"a state of another size, cut or longer is refused", refuses_strange_states},
    {"no change, no step", rests_without_change},
    {"a parameter that never changes stays zero", server_keeps_gaps},
    {"its first step goes the way of the mean change", follows_the_change},
};

/// More than one piece of what cuts the model into pieces.
constexpr std::size_t kTriedLength = 10007;

/// As many clients as it needs, at least 7, with weights that differ.
TriedRound tried_round(const Aggregation& aggregation, std::size_t size) {
  TriedRound round;
  for (std::uint32_t k = 0; k < std::max<std::size_t>(7, aggregation->least_updates()); ++k) {
    round.changes.push_back(tried_change(k, size));
    round.weights.push_back(1 + k * 5 % 7);
  }
  return round;
}

void backwards(int count, function_ref<void(int)> piece) {
  for (int i = count; i-- > 0;) piece(i);
}

void on_three_threads(int count, function_ref<void(int)> piece) {
  std::vector<std::jthread> threads;
  threads.reserve(3);
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([=] {
      for (int i = thread; i < count; i += 3) piece(i);
    });
}

bool hides_order(const Aggregation& aggregation) {
  TriedRound round = tried_round(aggregation, kTriedLength);
  const auto first = aggregated(aggregation, round);
  round.arrival.resize(round.changes.size());
  std::iota(round.arrival.rbegin(), round.arrival.rend(), ClientId{0});
  for (int turn = 0; turn < 2; ++turn) {
    for (const ForEachPiece for_each_piece : {ForEachPiece(serially), ForEachPiece(backwards), ForEachPiece(on_three_threads)}) {
      const auto other = aggregated(aggregation, round, for_each_piece);
      if (!first || !other || !equal_bits(*first, *other)) return false;
    }
    std::rotate(round.arrival.begin(), round.arrival.begin() + 3, round.arrival.end());
  }
  return true;
}

bool gives_equal_updates_back(const Aggregation& aggregation) {
  TriedRound round = tried_round(aggregation, kTriedSize);
  std::ranges::fill(round.changes, round.changes.front());
  const auto change = aggregated(aggregation, round);
  if (!change || change->size() != kTriedSize) return false;
  for (std::size_t i = 0; i < kTriedSize; ++i)
    if (const float sent = round.changes[0][i]; !(std::abs((*change)[i] - sent) <= 1e-6F * std::abs(sent) + 1e-9F)) return false;
  return true;
}

bool rests_without_updates(const Aggregation& aggregation) { return !aggregated(aggregation, {{}, {1}, {}}); }

bool is_finite_and_of_size(const Aggregation& aggregation) {
  for (const std::size_t size : {std::size_t{1}, kTriedSize}) {
    TriedRound round = tried_round(aggregation, size);
    const float largest = std::nextafter(ExactSum::kMaxMagnitude, 0.0F);
    for (const float scale : {0.0F, 1e-30F, 1.0F, largest}) {
      round.changes[1] = tried_change(1, size);
      for (float& value : round.changes[1]) value = std::clamp(value * scale, -largest, largest);
      const auto change = aggregated(aggregation, round);
      if (!change || change->size() != size || !std::ranges::all_of(*change, [](float value) { return std::isfinite(value); }))
        return false;
    }
  }
  return true;
}

bool keeps_frozen_parameters(const Aggregation& aggregation) {
  TriedRound round = tried_round(aggregation, kTriedSize);
  for (Vector& change : round.changes) change[50] = 0;
  const auto change = aggregated(aggregation, round);
  return change && (*change)[50] == 0;
}

// In three slices, each without the numbers beside it.
bool works_by_coordinate_if_it_says_so(const Aggregation& aggregation) {
  if (!aggregation->is_by_coordinate()) return true;
  const TriedRound round = tried_round(aggregation, kTriedSize);
  const auto whole = aggregated(aggregation, round);
  const auto alone = aggregated(aggregation, {{round.changes.front()}});
  if (!whole || !alone || !equal_bits(*alone, round.changes.front())) return false;
  Vector joined;
  for (std::size_t slice = 0; slice < 3; ++slice) {
    const std::size_t first = kTriedSize * slice / 3;
    TriedRound part = round;
    for (Vector& change : part.changes)
      change = Vector(view(std::as_const(change)).subspan(first, kTriedSize * (slice + 1) / 3 - first));
    const auto made = aggregated(aggregation, part);
    if (!made) return false;
    joined.append(view(std::as_const(*made)));
  }
  return equal_bits(joined, *whole);
}

constexpr Promise<Aggregation> kAggregationPromises[] = {
    {"its settings are valid, each with a name of its own",
     [](const Aggregation& part) { return has_valid_settings(part.part()); }},
    {"the same bits in whatever order updates arrive and pieces run, on any threads", hides_order},
    {"updates that are all the same give that one back", gives_equal_updates_back},
    {"a round without updates has no change", rests_without_updates},
    {"its change is as long as the updates, and finite", is_finite_and_of_size},
    {"a parameter that no client changes does not change", keeps_frozen_parameters},
    {"if it works by coordinate: slices put together are the whole, and one update alone is its change",
     works_by_coordinate_if_it_says_so},
};

}  // namespace

std::vector<std::string> complaints(const ServerOptimizer& optimizer) {
  return broken_promises<ServerOptimizer>(optimizer, kServerPromises);
}

std::vector<std::string> complaints(const Aggregation& aggregation) {
  return broken_promises<Aggregation>(aggregation, kAggregationPromises);
}

std::optional<Vector> aggregated(const Aggregation& aggregation, const TriedRound& round, ForEachPiece for_each_piece) {
  std::vector<ClientId> clients(round.changes.size());
  std::iota(clients.begin(), clients.end(), ClientId{0});
  SumRules rules{.weights = round.weights};
  if (rules.weights.empty()) rules.weights.assign(clients.size(), 1);
  Accumulator updates(rules, 1, clients, round.changes.empty() ? 1 : round.changes.front().size(), aggregation->reads());
  for (const ClientId client : round.arrival.empty() ? clients : round.arrival)
    updates.add({ClientReport{.client = client}, view(round.changes[client])});
  return aggregation->mean_change(std::move(updates), for_each_piece);
}

}  // namespace fedstride
