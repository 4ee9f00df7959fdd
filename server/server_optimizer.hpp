#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "server/federated_averaging.hpp"
#include "server/federated_momentum.hpp"

namespace fedstride {

/// What the coordinator does with the mean change of a round (Reddi et al. 2021's ServerOpt).
///   kName, kSummary, kFields           core/family.hpp
///   State                              what it carries from round to round. Cereal's serialize() is complete: save, load,
///                                      apply equals apply. How long it is depends on the number of parameters alone.
///   start(state, size)                 fresh state for `size` parameters
///   apply(state, model, mean_change)   one step in place. A round that has no mean change makes none.
template <class T>
concept ServerOpt = requires(const T optimizer, typename T::State state, Vector model, const Vector mean_change) {
  { T::kName } -> std::convertible_to<std::string_view>;
  { T::kSummary } -> std::convertible_to<std::string_view>;
  T::kFields;
  optimizer.start(state, std::size_t{});
  optimizer.apply(state, model, mean_change);
};

/// The registry: what the coordinator does with the mean change of a round. The first is the default.
using ServerOptimizer = std::variant<FederatedAveraging, FederatedMomentum>;

static_assert(ServerOpt<FederatedAveraging> && ServerOpt<FederatedMomentum>);

/// A server optimiser at work, with its state; a checkpoint carries that.
class Server {
 public:
  /// Before the first round of a model of `size` parameters.
  Server(const ServerOptimizer& kind, std::size_t size);
  ~Server();

  void apply(Vector& model, const Vector& mean_change);

  /// The state as bytes, and back. load throws Error (failure) if they are not of this optimiser and model.
  std::string save() const;
  void load(const std::string& bytes);

 private:
  struct AtWork;
  template <ServerOpt T>
  struct Of;
  std::unique_ptr<AtWork> at_work_;
};

}  // namespace fedstride
