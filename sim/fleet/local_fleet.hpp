#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "server/fleet.hpp"
#include "sim/fleet/state_store.hpp"

namespace fedstride {

/// A fleet in this process, with a store for the states that its clients keep.
class LocalFleet : public Fleet {
 public:
  void keep_in(StateStore store) { states_.emplace(std::move(store)); }
  void end_round(std::uint32_t round) override {
    if (states_) states_->end_round(round);
  }
  std::uint32_t abandon_round(std::uint32_t last_round) override { return states_ ? states_->abandon_round() : last_round; }
  void checkpointed(std::uint32_t round) override {
    if (states_) states_->checkpointed(round);
  }

 protected:
  std::optional<StateStore> states_;
};

}  // namespace fedstride
