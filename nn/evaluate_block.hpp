#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "core/pool.hpp"
#include "data/batch.hpp"
#include "nn/network.hpp"

namespace fedstride {

/// The most rows that are evaluated at once.
inline constexpr std::size_t kMaxEvaluated = 100;

/// Evaluates up to kMaxEvaluated rows, a client's with this skew, with a network of the pool: their classes go to `predicted`, their losses' sum is returned.
inline double evaluate_block(Pool<Network>& networks, const Model& model, const Dataset& data, const Vector& weights,
                             std::span<const Row> rows, std::span<Label> predicted, const ClientSkew& skew = {}) {
  std::array<Label, kMaxEvaluated> memory;
  const auto labels = std::span(memory).first(rows.size());
  auto network = networks.borrow([&] { return std::make_unique<Network>(model, static_cast<int>(kMaxEvaluated)); });
  fill_batch(data, rows, Augmentation::none, {}, network->inputs(static_cast<int>(rows.size())), skew);
  fill_labels(data, rows, labels);
  const double loss = network->evaluate(weights.data(), labels, predicted).loss_sum;
  networks.give_back(std::move(network));
  return loss;
}

}  // namespace fedstride
