#include "objectives/scaffold.hpp"

#include <algorithm>

namespace fedstride {

void Scaffold::fixed(std::span<const float> kept, std::span<const float> heard, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = heard[i] - kept[i];
}

// Takes the new control variate, and sends its change.
void Scaffold::take(const ObjectiveEnd& round) const {
  if (option == ScaffoldOption::one) {
    for (std::size_t i = 0; i < round.kept.size(); ++i) {
      round.sent[i] = round.start[i] - round.kept[i];
      round.kept[i] = round.start[i];
    }
    return;
  }
  // A client none of whose steps was kept has learnt nothing of its gradient.
  if (round.reach <= 0) return static_cast<void>(std::ranges::fill(round.sent, 0.0F));
  const auto inverse = static_cast<float>(1 / round.reach);
  for (std::size_t i = 0; i < round.kept.size(); ++i) {
    round.sent[i] = -round.heard[i] - inverse * round.change[i];
    round.kept[i] += round.sent[i];
  }
}

void Scaffold::end(const ObjectiveEnd& round) const {
  take(round);
  if (controls == ScaffoldControls::weighted || round.weight == 1) return;
  const auto inverse = static_cast<float>(1 / round.weight);
  for (float& value : round.sent) value *= inverse;
}

// With equal controls the mean of the round is the sum of the changes, by the weight of the round's clients.
void Scaffold::next(State& state, const ObjectiveRound& round, std::span<float> /*change*/, std::span<const float> sent) const {
  const auto share = static_cast<float>(controls == ScaffoldControls::equal ? round.weight : round.share);
  for (std::size_t i = 0; i < sent.size(); ++i) state.c[i] += share * sent[i];
}

}  // namespace fedstride
