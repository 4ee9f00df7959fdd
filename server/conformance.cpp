#include "server/conformance.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/promises.hpp"
#include "core/random.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kTriedSize = 101;

Vector tried_change(std::uint32_t row) {
  RandomStream random(8, {.purpose = Purpose::test, .row = row});
  Vector change(kTriedSize);
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

}  // namespace

std::vector<std::string> complaints(const ServerOptimizer& optimizer) {
  return broken_promises<ServerOptimizer>(optimizer, kServerPromises);
}

}  // namespace fedstride
