#include "objectives/conformance.hpp"

#include <cmath>

#include "core/promises.hpp"
#include "core/random.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kTriedSize = 101;
constexpr ObjectiveRound kTriedRound{.share = 0.5, .measure = 0.25};

Vector tried_update(const LocalObjective& objective, std::uint32_t row) {
  RandomStream random(8, {.purpose = Purpose::test, .row = row});
  Vector update(objective->update_size(kTriedSize));
  for (float& value : update) value = static_cast<float>(random.normal());
  return update;
}

// The changes that a server makes of rounds from `first` to `last`.
std::vector<Vector> changes_of(const LocalObjective& objective, ObjectiveAtServer& server, std::uint32_t first,
                               std::uint32_t last) {
  std::vector<Vector> changes;
  for (std::uint32_t round = first; round <= last; ++round) {
    changes.push_back(tried_update(objective, round));
    server.next(kTriedRound, changes.back());
  }
  return changes;
}

bool objective_goes_on_after_load(const LocalObjective& objective) {
  const auto one = objective->begin(kTriedSize);
  const auto other = objective->begin(kTriedSize);
  changes_of(objective, *one, 1, 3);
  other->load(one->save());
  return changes_of(objective, *one, 4, 6) == changes_of(objective, *other, 4, 6) && one->save() == other->save();
}

bool gives_a_change_of_the_models_size(const LocalObjective& objective) {
  const auto server = objective->begin(kTriedSize);
  for (const Vector& change : changes_of(objective, *server, 1, 3)) {
    if (change.size() != kTriedSize) return false;
    for (const float value : change)
      if (!std::isfinite(value)) return false;
  }
  return server->save().size() == objective->begin(kTriedSize)->save().size();
}

bool hears_what_it_says(const LocalObjective& objective) {
  const auto server = objective->begin(kTriedSize);
  const std::size_t size = objective->hears() ? kTriedSize : 0;
  bool zeros = server->heard().size() == size;
  for (const float value : server->heard()) zeros = zeros && value == 0;
  changes_of(objective, *server, 1, 3);
  return zeros && server->heard().size() == size;
}

// A client whose weights did not move and whose gradient is 0 sends nothing and keeps nothing.
bool nothing_comes_of_nothing(const LocalObjective& objective) {
  Vector zeros(kTriedSize), kept(objective->keeps() ? kTriedSize : 0), sent(objective->sends() ? kTriedSize : 0),
      fixed(kTriedSize, 1);
  objective->end({.heard = view(std::as_const(zeros)),
                  .change = view(std::as_const(zeros)),
                  .start = view(std::as_const(zeros)),
                  .reach = 1,
                  .kept = view(kept),
                  .sent = view(sent)});
  if (objective->has_fixed())
    objective->fixed(view(std::as_const(kept)), view(std::as_const(zeros)), view(fixed));
  else
    fixed = zeros;
  const auto server = objective->begin(kTriedSize);
  Vector update(objective->update_size(kTriedSize));
  server->next(kTriedRound, update);
  return kept == Vector(kept.size()) && sent == Vector(sent.size()) && fixed == zeros && update == zeros;
}

bool refuses_strange_objective_states(const LocalObjective& objective) {
  const auto server = objective->begin(kTriedSize);
  for (const std::string& bytes : {server->save() + "x", objective->begin(kTriedSize + 1)->save() + "y"}) {
    try {
      server->load(bytes);
      return false;
    } catch (const Error&) {
    }
  }
  return true;
}

bool pulls_from_zero(const LocalObjective& objective) { return objective->pull() >= 0 && std::isfinite(objective->pull()); }

bool has_valid_objective_settings(const LocalObjective& objective) { return has_valid_settings(objective.part()); }

constexpr Promise<LocalObjective> kPromises[] = {
    {"every setting has a name of its own and a valid value", has_valid_objective_settings},
    {"its pull is a number from 0", pulls_from_zero},
    {"its server saved and loaded goes on with the same bits", objective_goes_on_after_load},
    {"the change it gives is as long as the model and finite, and its server's state keeps its length",
     gives_a_change_of_the_models_size},
    {"it hears a vector as long as the model, zeros at first, if it says that it hears one", hears_what_it_says},
    {"no movement and no gradient: nothing is sent, kept or changed", nothing_comes_of_nothing},
    {"it refuses a state of another length", refuses_strange_objective_states},
};

}  // namespace

std::vector<std::string> complaints(const LocalObjective& objective) {
  return broken_promises<LocalObjective>(objective, kPromises);
}

}  // namespace fedstride
