#pragma once

#include <cstdint>

#include "core/task.hpp"

namespace fedstride {

// The sizes of frames in bytes, including their headers.

/// Size of an update whose numbers take `payload` bytes (ClientReport::payload or, before training, UpdateCoding::most_bytes).
std::uint64_t update_frame_bytes(std::uint64_t payload, std::size_t release_runs = 0);
/// Size of a model message whose floats or changes (change_bytes, server/broadcast.hpp) take `payload` bytes.
std::uint64_t model_frame_bytes(std::uint64_t payload);
/// Size of the request to train that has `told` numbers for the optimizer (Task::told).
std::uint64_t train_frame_bytes(std::size_t told);

/// Upper bounds on a client's transfers in a round, computed from public facts before the round begins.
struct TransferBytes {
  std::uint64_t down = 0;
  std::uint64_t up = 0;
};

}  // namespace fedstride
