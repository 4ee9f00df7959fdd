#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// Throws Error (failure) unless the state, which may come from a file, belongs to a model of this size.
inline void check_state_size(std::string_view optimizer, const Vector& state, const Vector& weights) {
  if (state.size() == weights.size()) return;
  throw failure("state of optimizer " + std::string(optimizer) + " is for " + number_text(state.size()) +
                " parameters; the model has " + number_text(weights.size()));
}

}  // namespace fedstride
