#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/private_plan.hpp"
#include "core/error.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/spending.hpp"
#include "nn/model.hpp"
#include "sim/prepare/data_setup.hpp"
#include "sim/prepare/noise_shares.hpp"

namespace fedstride {

/// One resolved level of a run's privacy: the input to the ledger, the accountants and the statements.
struct LevelSetup {
  Accountant accountant;
  double delta = 1e-5;
  double epsilon = 0;  ///< budget; 0: none
  Neighbours neighbours = Neighbours::add_remove;
  double clip = 1;  ///< in the first round
  Bound bound = {};
  double noise_multiplier = 0;  ///< given or calibrated
  bool calibrated = false;
  Spending once = {};                       ///< releases before the first round: private components, moments of the inputs
  std::optional<Releases> evaluation = {};  ///< per evaluated round, with evaluate private
  std::uint32_t evaluate_every = 1;         ///< rounds between evaluations

  /// The spending of `once` and of the evaluations in this many rounds.
  Spending beside(std::uint64_t rounds) const;
};

/// A run's privacy, fixed before it starts.
struct PrivacySetup {
  std::optional<LevelSetup> example = {};
  std::optional<LevelSetup> client = {};
  /// Example level: plans by numbers of rows and units, and these numbers for each client.
  std::map<LotSizes, std::shared_ptr<const PrivatePlan>> plans = {};
  std::vector<LotSizes> sizes = {};
  std::string user_lots = {};            ///< which lots were chosen for users, and why; empty if none were
  Releases client_release = {};          ///< client level: one round in the accountant's terms; see client_releases
  std::optional<SharePlan> shares = {};  ///< client level: the shares of noise that clients add
  double largest_weight = 1;             ///< client level: the weight that scales the sensitivity
  Spending components = {};              ///< spending of the private components; empty without them

  /// Client level: the releases of this many rounds in the accountant's terms, and whether this round adds to them. In a pass
  /// over the clients, the first round is charged for the whole pass.
  Releases client_releases(std::uint64_t rounds) const { return in_rounds(client_release, rounds); }
  bool charges(std::uint32_t round) const {
    return !has_passes(client_release.sampling) || (round - 1) % lots_an_epoch(client_release.rate) == 0;
  }
  static Releases in_rounds(Releases release, std::uint64_t rounds);

  bool on() const { return example.has_value() || client.has_value(); }
};

/// Calibrates unspecified noise, chooses accountants and plans the clients' lots. Throws Error (usage) for a configuration that
/// cannot be accounted for: a layer that mixes examples, a sampling and neighbor relation without a sound accountant, or a budget
/// that no noise can meet.
PrivacySetup make_privacy(const DataSetup& setup, const Model& model);

/// Throws Error (usage) if one of the layers (variants of kinds with kTraits) mixes the examples of a batch.
void refuse_mixing_layers(const auto& layers, std::string_view model) {
  for (const auto& layer : layers)
    if (std::visit([]<class Kind>(const Kind&) { return Kind::kTraits.mixes_examples; }, layer))
      throw usage_error("model '" + std::string(model) +
                        "' has a layer that mixes the examples of a batch; example-level privacy needs separate per-example "
                        "gradients");
}

/// True if the noise depends on the number of rounds, which then must not change.
bool rounds_decide_noise(const Configuration& configuration, const PrivacySetup& privacy);

}  // namespace fedstride
