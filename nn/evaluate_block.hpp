#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/pool.hpp"
#include "data/batch.hpp"
#include "nn/network.hpp"

namespace fedstride {

/// The most rows that are evaluated at once.
inline constexpr std::size_t kMaxEvaluated = 100;

/// Evaluates up to kMaxEvaluated rows, a client's with this skew, with a network of the pool; their classes go to `predicted`, if it is not empty.
inline BatchLoss evaluate_block(Pool<Network>& networks, const Model& model, const Dataset& data, const Vector& weights,
                                std::span<const Row> rows, std::span<Label> predicted, const ClientSkew& skew = {}) {
  AnswerRoom answers;
  auto network = networks.borrow([&] { return std::make_unique<Network>(model, static_cast<int>(kMaxEvaluated)); });
  fill_batch(data, rows, Augmentation::none, {}, network->inputs(static_cast<int>(rows.size())), skew);
  const BatchLoss loss = network->evaluate(weights.data(), answers.read(data, rows), predicted);
  networks.give_back(std::move(network));
  return loss;
}

}  // namespace fedstride
