#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "sim/state_store.hpp"

namespace fedstride {

/// A fleet's side of the clients' states: their store, if they are kept, and between rounds StateStore's functions of these names.
/// Nothing happens without one.
class FleetStates {
 public:
  void keep_in(StateStore store) { states_.emplace(std::move(store)); }
  void end_round(std::uint32_t round) {
    if (states_) states_->end_round(round);
  }
  std::uint32_t abandon_round(std::uint32_t last_round) { return states_ ? states_->abandon_round() : last_round; }
  void checkpointed(std::uint32_t round) {
    if (states_) states_->checkpointed(round);
  }

 protected:
  ~FleetStates() = default;
  std::optional<StateStore> states_;
};

}  // namespace fedstride
