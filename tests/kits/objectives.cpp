#include "tests/kits/conformance.hpp"

#include <cmath>

#include "core/random.hpp"
#include "tests/kits/promises.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kObjectiveSize = 101;
constexpr ObjectiveRound kTriedRound{.share = 0.5, .measure = 0.25};

Vector tried_update(const LocalObjective& objective, std::uint32_t row) {
  RandomStream random(8, {.purpose = Purpose::test, .row = row});
  Vector update(objective->update_size(kObjectiveSize));
  for (float& value : update) value = static_cast<float>(random.normal());
  return update;
}

// The changes that a server makes of rounds from `first` to `last`.
std::vector<Vector> changes_of(const LocalObjective& objective, PartState& server, std::uint32_t first, std::uint32_t last) {
  std::vector<Vector> changes;
  for (std::uint32_t round = first; round <= last; ++round) {
    changes.push_back(tried_update(objective, round));
    objective->next(server, kTriedRound, changes.back());
  }
  return changes;
}

bool objective_goes_on_after_load(const LocalObjective& objective) {
  const auto one = started_state(*objective, kObjectiveSize);
  const auto other = started_state(*objective, kObjectiveSize);
  changes_of(objective, *one, 1, 3);
  load_state(*objective, *other, state_bytes(*objective, *one), "it");
  return changes_of(objective, *one, 4, 6) == changes_of(objective, *other, 4, 6) &&
         state_bytes(*objective, *one) == state_bytes(*objective, *other);
}

bool gives_a_change_of_the_models_size(const LocalObjective& objective) {
  const auto server = started_state(*objective, kObjectiveSize);
  for (const Vector& change : changes_of(objective, *server, 1, 3)) {
    if (change.size() != kObjectiveSize) return false;
    for (const float value : change)
      if (!std::isfinite(value)) return false;
  }
  return state_bytes(*objective, *server).size() == state_bytes(*objective, *started_state(*objective, kObjectiveSize)).size();
}

bool hears_what_it_says(const LocalObjective& objective) {
  const auto server = started_state(*objective, kObjectiveSize);
  const std::size_t size = objective->hears() ? kObjectiveSize : 0;
  bool zeros = objective->heard(*server).size() == size;
  for (const float value : objective->heard(*server)) zeros = zeros && value == 0;
  changes_of(objective, *server, 1, 3);
  return zeros && objective->heard(*server).size() == size;
}

// A client whose weights did not move and whose gradient is 0 sends nothing and keeps nothing.
bool nothing_comes_of_nothing(const LocalObjective& objective) {
  Vector zeros(kObjectiveSize), kept(objective->keeps() ? kObjectiveSize : 0), sent(objective->sends() ? kObjectiveSize : 0),
      fixed(kObjectiveSize, 1);
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
  const auto server = started_state(*objective, kObjectiveSize);
  Vector update(objective->update_size(kObjectiveSize));
  objective->next(*server, kTriedRound, update);
  return kept == Vector(kept.size()) && sent == Vector(sent.size()) && fixed == zeros && update == zeros;
}

bool refuses_strange_objective_states(const LocalObjective& objective) {
  const auto server = started_state(*objective, kObjectiveSize);
  const auto larger = started_state(*objective, kObjectiveSize + 1);
  for (const std::string& bytes : {state_bytes(*objective, *server) + "x", state_bytes(*objective, *larger) + "y"}) {
    try {
      load_state(*objective, *server, bytes, "it");
      return false;
    } catch (const Error&) {
    }
  }
  return true;
}

bool pulls_from_zero(const LocalObjective& objective) { return objective->pull() >= 0 && std::isfinite(objective->pull()); }

bool has_valid_objective_settings(const LocalObjective& objective) { return has_valid_settings(objective.part()); }

constexpr Promise<LocalObjective> kObjectivePromises[] = {
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
  return broken_promises<LocalObjective>(objective, kObjectivePromises);
}

}  // namespace fedstride
