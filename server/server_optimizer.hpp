#pragma once

#include <string_view>
#include <tuple>

#include "core/part.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// model + rate x mean change: with rate 1 the weighted mean of the clients' models (McMahan et al. 2017, Algorithm 1).
struct FederatedAveraging {
  static constexpr std::string_view kName = "average";
  static constexpr std::string_view kSummary = "the mean of the clients' models (FedAvg)";
  double server_learning_rate = 1;
  static constexpr auto kFields = std::tuple{
      Field{"server-learning-rate", &FederatedAveraging::server_learning_rate,
            "factor on the mean change of a round; 1 is federated averaging", kPositive}};

  void apply(Vector& model, const Vector& mean_change) const;
};

template <class P>
class ServerOptimizerOf;

/// What becomes of the mean change of a round, behind a wall.
class ServerOptimizerPart : public Part {
 public:
  static PartFamily& family();  ///< server/parts.cpp has the list
  template <class P>
  using Of = ServerOptimizerOf<P>;

  virtual void apply(Vector& model, const Vector& mean_change) const = 0;
};

template <class P>
class ServerOptimizerOf final : public PartOf<ServerOptimizerPart, ServerOptimizerOf<P>, P> {
 public:
  using PartOf<ServerOptimizerPart, ServerOptimizerOf<P>, P>::PartOf;
  void apply(Vector& model, const Vector& mean_change) const final { this->part_.apply(model, mean_change); }
};

/// A server optimiser that has been chosen; the default is federated averaging.
using ServerOptimizer = Chosen<ServerOptimizerPart>;

}  // namespace fedstride
