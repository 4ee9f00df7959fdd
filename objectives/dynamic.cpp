#include "objectives/dynamic.hpp"

namespace fedstride {

void Dynamic::fixed(std::span<const float> kept, std::span<const float> /*heard*/, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = -kept[i];
}

void Dynamic::end(const ObjectiveEnd& round) const {
  const auto rate = static_cast<float>(alpha);
  for (std::size_t i = 0; i < round.kept.size(); ++i) round.kept[i] -= rate * round.change[i];
}

void Dynamic::next(State& state, const ObjectiveRound& round, std::span<float> change, std::span<const float> /*sent*/) const {
  const auto rate = static_cast<float>(alpha * round.share);
  const auto inverse = static_cast<float>(1 / alpha);
  for (std::size_t i = 0; i < change.size(); ++i) {
    state.h[i] -= rate * change[i];
    change[i] -= inverse * state.h[i];
  }
}

}  // namespace fedstride
