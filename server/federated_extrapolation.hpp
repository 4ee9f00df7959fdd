#pragma once

#include <span>
#include <string_view>
#include <tuple>

#include "core/choice.hpp"
#include "core/serialize.hpp"
#include "core/setting.hpp"
#include "core/vector.hpp"

namespace fedstride {

enum class ExtrapolationAnswer { mean_of_two, last };
constexpr auto choice_names(ExtrapolationAnswer) { return names("mean-of-two", "last"); }

/// FedExP (Jhunjhunwala, Wang & Joshi 2023, Equation 3): model += rate D with
///   rate = max(1, sum_k p_k |D_k|^2 / (2 (|D|^2 + epsilon)))
/// for the changes D_k of the round's clients, their weights p_k (1/|S| in the paper) and their mean D: the less the clients agree,
/// the further the mean may be gone along. The mean of the last two models is evaluated and saved, as in the paper, where
/// the last two lie on either side of the optimum; or the last, if that is asked for. It needs the norms of single clients' changes, which no release covers: refused where clients are protected.
struct FederatedExtrapolation {
  static constexpr std::string_view kName = "fedexp";
  static constexpr std::string_view kSummary =
      "goes further along the mean the less clients agree (FedExP; Jhunjhunwala et al. 2023)";
  double epsilon = 1e-3;
  ExtrapolationAnswer result = ExtrapolationAnswer::mean_of_two;
  static constexpr auto kFields =
      std::tuple{Field{"server-epsilon", &FederatedExtrapolation::epsilon,
                       "added to the squared norm of the mean change, in its unit: bounds the rate", kPositive},
                 Field{"server-answer", &FederatedExtrapolation::result,
                       "the model that is evaluated and saved: the mean of the last two, or the last"}};

  struct State {
    double mean_square = 0;  ///< sum_k p_k |D_k|^2 of the round; no part of what lasts
    bool has_before = false;
    Vector before;  ///< the model before the last one
    template <class Archive>
    void serialize(Archive& archive) {
      archive(has_before, before);
    }
  };

  static void start(State& state, std::size_t size) {
    state.has_before = false;
    state.before.assign(size, 0);
  }
  void measure(State& state, double mean_square) const { state.mean_square = mean_square; }
  void apply(State& state, Vector& model, const Vector& mean_change) const;
  Vector answer(const State& state, const Vector& model) const;
};

}  // namespace fedstride
