#pragma once

#include <span>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// FedExP (Jhunjhunwala, Wang & Joshi 2023, Equation 3): model += rate D with
///   rate = max(1, sum_k p_k |D_k|^2 / (2 (|D|^2 + epsilon)))
/// for the changes D_k of the round's clients, their weights p_k (1/|S| in the paper) and their mean D: the less the clients agree,
/// the further the mean may be gone along. The paper reports the mean of the last two models; here a model is what the server
/// holds. It needs the norms of single clients' changes, which no release covers: refused where clients are protected.
struct FederatedExtrapolation {
  static constexpr std::string_view kName = "fedexp";
  static constexpr std::string_view kSummary = "goes further along the mean the less clients agree (FedExP, Jhunjhunwala et al.)";
  double epsilon = 1e-3;
  static constexpr auto kFields =
      std::tuple{Field{"server-epsilon", &FederatedExtrapolation::epsilon,
                       "added to the squared norm of the mean change, in its unit: bounds the rate", kPositive}};

  struct State {
    double mean_square = 0;  ///< sum_k p_k |D_k|^2 of the round; no part of what lasts
    template <class Archive>
    void serialize(Archive&) {}
  };

  void start(State&, std::size_t /*size*/) const {}
  void measure(State& state, double mean_square) const { state.mean_square = mean_square; }
  void apply(State& state, Vector& model, const Vector& mean_change) const;
};

}  // namespace fedstride
