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
#include "core/random.hpp"
#include "core/secret_key.hpp"
#include "dp/accountants/accountants.hpp"
#include "run/privacy_settings.hpp"

namespace fedstride {

struct Setup;

/// One level of privacy of a run, resolved: the input of the ledger, the accountants and the statements.
struct LevelSetup {
  Accountant accountant;
  double delta = 1e-5;
  double epsilon = 0;  ///< budget; 0: none
  Neighbours neighbours = Neighbours::add_remove;
  double clip = 1;
  double noise_multiplier = 0;  ///< as given, or calibrated
  bool calibrated = false;
  Spending once = {};                       ///< releases before the first round: private components, moments of the inputs
  std::optional<Releases> evaluation = {};  ///< that of a round that evaluates, where it is accounted (evaluate private)
  std::uint32_t evaluate_every = 1;         ///< rounds from one of these to the next

  /// All these of so many rounds.
  Spending beside(std::uint64_t rounds) const;
};

/// The privacy of a run as fixed before it starts.
struct PrivacySetup {
  std::optional<LevelSetup> example;
  std::optional<LevelSetup> client;
  /// Example level: the plan of the clients with that number of rows, by number of rows.
  std::map<std::size_t, std::shared_ptr<const PrivatePlan>> plans;
  Releases client_release;    ///< client level: one round, as the accountant counts it
  double largest_weight = 1;  ///< client level: weight counted in the sensitivity
  Spending components;        ///< cost of the private components; empty without

  bool on() const { return example.has_value() || client.has_value(); }
};

/// Resolves setup.configuration.privacy into setup.privacy and fits training and rounds to it: plans, noise calibrated
/// where none is given, clips, denominators. Draws follow from the seed and from a digest of the configuration.
/// Throws Error (usage) for a configuration that cannot be accounted for: a layer that mixes examples, sampling and
/// neighbours without a sound accountant, a budget no noise reaches.
void prepare_privacy(Setup& setup);

/// Throws Error (usage) if one of the layers, variants over kinds that say kMixesExamples, mixes the examples of a batch.
template <class Layers>
void refuse_mixing_layers(const Layers& layers, std::string_view model) {
  for (const auto& layer : layers)
    if (std::visit([]<class Kind>(const Kind&) { return Kind::kMixesExamples; }, layer))
      throw usage_error("model '" + std::string(model) +
                        "' has a layer that mixes the examples of a batch; under example-level privacy every example "
                        "needs a gradient of its own");
}

/// True if the noise was calibrated for the number of rounds, which then must not change.
bool rounds_decide_noise(const Setup& setup);

/// The number of the run's rounds that its budgets allow to begin; all of them without a budget. An estimate if cohorts are
/// drawn (a run continues until its luckiest client has no step left), if later steps cost less than earlier ones, or if a private
/// evaluation costs less than a step.
double rounds_within_budget(const Setup& setup);

/// Digest of everything that the releases of a run follow from but its rounds' models: the lasting settings, data, partition,
/// build, noise and clips. A function of private rows, and so never written under privacy but as run_identity.
std::string releases_identity(const Setup& setup);

/// releases_identity in the form that a run's folder keeps: an HMAC under the run's key, if it has one.
std::string run_identity(const Setup& setup, const std::optional<SecretKey>& key);

/// The source of noise, lots and cohorts. Its key is derived from the seed, or the secret key, and releases_identity: other
/// data, settings or another build draw other noise, whatever else is not checked; the same run draws the same again.
RandomSource private_source(const Setup& setup, const std::optional<SecretKey>& key);

/// Sets the source of noise, lots and cohorts.
void use_source(Setup& setup, const RandomSource& source);
/// The source that use_source has set, for another process of the same run. Requires setup.privacy.on().
const RandomSource& source_of(const Setup& setup);

}  // namespace fedstride
