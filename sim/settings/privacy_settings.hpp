#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/part.hpp"
#include "dp/accountants/mechanism.hpp"
#include "dp/bounds/bounds.hpp"
#include "dp/noise/noise_place.hpp"
#include "dp/noise/noise_plan.hpp"

namespace fedstride {

/// The accountant that proves a level's epsilon; automatic: the tightest that applies.
enum class AccountantChoice { automatic, tight, rdp, moments, zcdp };
constexpr auto choice_names(AccountantChoice) { return names("auto", "tight", "rdp", "moments", "zcdp"); }
/// How a client's lots are drawn: an index into the list of draws without `full`.
enum class LotSampling {};
constexpr auto choice_names(LotSampling) { return all_but<Sampling>(FullDraw::kName); }
constexpr Sampling sampling_of(LotSampling lots) { return *find_choice<Sampling>(choice_name(lots)); }
enum class ClipPer { model, layer };
constexpr auto choice_names(ClipPer) { return names("model", "layer"); }
/// The law of clients' noise shares under client-noise distributed: an index into the list of laws without the Gaussian.
enum class ShareLaw {};
constexpr auto choice_names(ShareLaw) { return all_but<NoiseLaw>(GaussianLaw::kName); }
constexpr NoiseLaw law_named_by(ShareLaw share) { return *find_choice<NoiseLaw>(choice_name(share)); }

/// The neighbor relation of a level; automatic: the strongest with a guarantee (sim/settings/neighbours.hpp).
enum class NeighboursChoice { automatic, add_remove, replace_one, zero_out };
constexpr auto choice_names(NeighboursChoice) { return names("auto", "add-remove", "replace-one", "zero-out"); }

/// The settings that both levels have. Under `both`, those of clients begin with "client-".
struct LevelSettings {
  double clip = 1;
  double noise_multiplier = 0;
  double epsilon = 0;
  double delta = 1e-5;
  AccountantChoice accountant = AccountantChoice::automatic;
  NeighboursChoice neighbours = NeighboursChoice::automatic;

  /// One of these settings; `beside`: of clients beside examples, under both.
  template <class Level, class Value>
  static constexpr Field<Level, Value> field(bool beside, std::string_view prefixed, Value LevelSettings::*member,
                                             std::string_view like, std::string_view help, const Valid& valid = {}) {
    const Field<Level, Value> own{prefixed.substr(7), member, help, valid};
    if (beside) return {prefixed, member, like, valid};
    return std::is_same_v<Value, double> ? own.often() : own;
  }
  /// All but `neighbours`.
  template <class Level>
  static constexpr auto budget_fields(bool beside = false) {
    return fields(
        field<Level>(beside, "client-clip", &LevelSettings::clip, "like clip, for clients' updates",
                     "largest L2 norm of one record's contribution", Valid{.low = 0, .high = 1e30, .low_included = false}),
        field<Level>(beside, "client-noise-multiplier", &LevelSettings::noise_multiplier,
                     "like noise-multiplier, for clients' updates",
                     "noise standard deviation of the sum, divided by clip; 0: calibrated for --epsilon over the planned steps",
                     Valid{.low = 0, .high = 1e100}),
        field<Level>(beside, "client-epsilon", &LevelSettings::epsilon, "like epsilon, for clients",
                     "privacy budget: training stops before exceeding it; 0: none, noise from --noise-multiplier", kNonNegative),
        field<Level>(beside, "client-delta", &LevelSettings::delta, "like delta, for clients", "delta of every reported epsilon",
                     Valid{.low = 0, .high = 1, .low_included = false, .high_included = false}),
        field<Level>(beside, "client-accountant", &LevelSettings::accountant, "like accountant, for clients",
                     "accountant for epsilon; auto: tight, or the next tightest that has a bound"));
  }
  template <class Level>
  static constexpr auto neighbours_field(bool beside = false) {
    return fields(field<Level>(
        beside, "client-neighbours", &LevelSettings::neighbours, "like neighbours, for clients",
        "neighboring data sets; auto: add-remove if adding a record moves no other, else zero-out (sizes are public)"));
  }
};
struct ExampleLevel : LevelSettings {};
struct ClientLevel : LevelSettings {};

/// Settings of example-level privacy: each example's gradient is clipped, and the sum over each lot is noised.
struct ExampleSettings : ExampleLevel {
  LotSampling sampling = {};
  double sampling_rate = 0;
  ClipSchedule clip_schedule = ClipSchedule::constant;
  NoiseSchedule noise_schedule = NoiseSchedule::constant;
  double noise_decay = 0.99;
  double noise_momentum = 0.9;
  int target_epochs = 0;
  int components = 0;
  double components_noise = 0;

  bool has_noise_schedule() const { return noise_schedule != NoiseSchedule::constant; }
  bool has_noise_momentum() const { return noise_schedule == NoiseSchedule::dynamic_momentum; }
  bool has_components() const { return components > 0; }
  static constexpr auto kFields = fields(
      budget_fields<ExampleLevel>(), neighbours_field<ExampleLevel>(),
      Field{"sampling", &ExampleSettings::sampling, "how lots are drawn"},
      Field{"sampling-rate", &ExampleSettings::sampling_rate, "share of a client's rows in a lot; 0: batch / rows", kFraction},
      Field{"clip-schedule", &ExampleSettings::clip_schedule, "how the clip bound falls to half, at constant noise (Yu et al.)"},
      Field{"noise-schedule", &ExampleSettings::noise_schedule, "how the noise falls within the same total budget (Hong et al.)"},
      Field{"noise-decay", &ExampleSettings::noise_decay,
            "dynamic: gamma, the factor by which the effect of a step's noise decays, estimated on public data",
            Valid{.low = 0, .high = 1, .low_included = false}, Shapes::model, &ExampleSettings::has_noise_schedule},
      Field{"noise-momentum", &ExampleSettings::noise_momentum, "dynamic-momentum: beta of the optimizer's moving average",
            Valid{.low = 0, .high = 1, .high_included = false}, Shapes::model, &ExampleSettings::has_noise_momentum},
      Field{"target-epochs", &ExampleSettings::target_epochs,
            "local epochs that calibrated noise must last at constant clip, and that schedules span; 0: all",
            Valid{.low = 0, .high = 2e9}},
      Field{"private-components", &ExampleSettings::components,
            "train on this many private principal components of the inputs (one client); 0: on the inputs themselves",
            Valid{.low = 0, .high = 1e5}},
      Field{"components-noise", &ExampleSettings::components_noise, "noise multiplier of the private components", kNonNegative,
            Shapes::model, &ExampleSettings::has_components});
};

/// ExampleSettings with a choice of bounds, which under 'both' applies to updates instead.
struct ExampleAloneSettings : ExampleSettings, BoundSettings {
  static constexpr auto kFields = fields(ExampleSettings::kFields, BoundSettings::choice_fields());
};

/// Settings of client-level privacy: each client's update is clipped, and the round's sum is noised.
struct ClientSettings : ClientLevel, BoundSettings, MechanismSettings {
  ClipPer clip_per = ClipPer::model;
  ClientNoiseBy client_noise = {};
  ShareLaw noise_law = {};

  const NoisePlace& place() const { return place_of(client_noise); }
  bool has_shares() const { return place().has_shares; }
  int minimum_separation = 1;

  Chosen<MechanismPart> mechanism() const { return MechanismSettings::part(); }
  /// The noise mechanism for this separation, not yet planned for a number of rounds.
  Correlation unplanned() const {
    const auto separation = static_cast<std::uint64_t>(minimum_separation);
    return {.mechanism = mechanism()->is_independent(separation) ? NoiseMechanism{} : MechanismSettings::chosen,
            .separation = separation};
  }

  /// Settings with the same names under `client` and `both`.
  static constexpr auto kNoiseFields =
      fields(Field{"clip-per", &ClientSettings::clip_per, "clip the whole update, or each tensor to its share of the norm"},
             Field{"client-noise", &ClientSettings::client_noise, "who adds the noise", Valid{.known = &known_places}},
             Field{"noise-law",
                   &ClientSettings::noise_law,
                   "client-noise distributed: law of the noise",
                   {},
                   Shapes::model,
                   &ClientSettings::has_shares});
  static constexpr auto kSeparationFields = fields(
      Field{"minimum-separation", &ClientSettings::minimum_separation,
            "minimum distance between two rounds of the same client: clients are drawn into this many groups, and a round asks "
            "one group; in fedbuff a client waits that long",
            Valid{.low = 1, .high = 1e6}});
  static constexpr auto kBothFields =
      fields(kNoiseFields, BoundSettings::choice_fields(), MechanismSettings::choice_fields(), kSeparationFields);
  static constexpr auto kFields = fields(budget_fields<ClientLevel>(), neighbours_field<ClientLevel>(), kBothFields);
};

struct BothSettings : ExampleSettings, ClientSettings {
  static constexpr auto kFields = fields(ExampleSettings::kFields, ClientLevel::budget_fields<ClientLevel>(true),
                                         ClientLevel::neighbours_field<ClientLevel>(true), ClientSettings::kBothFields);
};

/// What a lot is drawn from under user-level privacy: individual examples, or whole users, each contributing the mean gradient of
/// its examples.
enum class UserSampling { automatic, examples, users };
constexpr auto choice_names(UserSampling) { return names("auto", "examples", "users"); }

/// Settings of user-level privacy inside clients: example-level settings and the definition of a user.
struct UserSettings : ExampleSettings {
  std::string user_column = {};
  UserSampling user_sampling = UserSampling::automatic;
  int user_examples = 1;

  bool may_draw_examples() const { return user_sampling != UserSampling::users; }
  static constexpr auto kFields = fields(
      budget_fields<ExampleLevel>(),
      Field{"sampling-rate", &ExampleSettings::sampling_rate, "share of a client's rows in a lot; 0: batch / rows", kFraction},
      Field{"target-epochs", &ExampleSettings::target_epochs,
            "local epochs that calibrated noise must last at constant clip, and that schedules span; 0: all",
            Valid{.low = 0, .high = 2e9}},
      Field{"user-column", &UserSettings::user_column,
            "your own data: column or key that names each row's user (default: client-column, or the data's natural clients)"},
      Field{"user-sampling", &UserSettings::user_sampling,
            "draw a user's examples one by one, at most user-examples of them, or users with their mean gradient; auto: "
            "whichever needs less noise"},
      Field{"user-examples", &UserSettings::user_examples, "maximum number of a user's examples that are used, drawn once",
            Valid{.low = 1, .high = 100}, Shapes::model, &UserSettings::may_draw_examples});
};

/// The chosen privacy: the settings of each level, or nullptr if the level is off.
class PrivacyPart : public Part {
 public:
  static PartFamily& family();  ///< listed in sim/settings/configuration.cpp

  virtual const ExampleSettings* example() const { return nullptr; }
  virtual const ClientSettings* client() const { return nullptr; }
  /// The bounds on lots, if they can be chosen at example level; otherwise nullptr.
  virtual const BoundSettings* lot_bounds() const { return nullptr; }
  /// The definition of users, if example level protects users inside clients; otherwise nullptr.
  virtual const UserSettings* users() const { return nullptr; }
  ExampleSettings* example() { return const_cast<ExampleSettings*>(std::as_const(*this).example()); }
  ClientSettings* client() { return const_cast<ClientSettings*>(std::as_const(*this).client()); }
};

/// No privacy: no clipping and no noise.
struct NoPrivacy final : PartBase<PrivacyPart, NoPrivacy> {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "no differential privacy";
};

struct ExamplePrivacy final : PartBase<PrivacyPart, ExamplePrivacy, ExampleAloneSettings> {
  static constexpr std::string_view kName = "example";
  static constexpr std::string_view kSummary = "every example is protected: gradients are clipped and noised";
  const ExampleSettings* example() const override { return this; }
  const BoundSettings* lot_bounds() const override { return this; }
};

struct ClientPrivacy final : PartBase<PrivacyPart, ClientPrivacy, ClientSettings> {
  static constexpr std::string_view kName = "client";
  static constexpr std::string_view kSummary = "every client is protected: its updates are clipped and noised";
  const ClientSettings* client() const override { return this; }
};

struct BothPrivacy final : PartBase<PrivacyPart, BothPrivacy, BothSettings> {
  static constexpr std::string_view kName = "both";
  static constexpr std::string_view kSummary = "examples and clients: two separate statements";
  const ExampleSettings* example() const override { return this; }
  const ClientSettings* client() const override { return this; }
};

struct UserPrivacy final : PartBase<PrivacyPart, UserPrivacy, UserSettings> {
  static constexpr std::string_view kName = "user";
  static constexpr std::string_view kSummary = "every user inside a client is protected, with all its examples there";
  const ExampleSettings* example() const override { return this; }
  const UserSettings* users() const override { return this; }
};

using Privacy = Chosen<PrivacyPart>;

/// The settings of a level; nullptr if the level is off.
inline const ExampleSettings* example_level(const Privacy& privacy) { return privacy->example(); }
inline const UserSettings* user_level(const Privacy& privacy) { return privacy->users(); }
inline const ClientSettings* client_level(const Privacy& privacy) { return privacy->client(); }

/// The bounds on examples' gradients and clients' updates.
inline Bound bound_of_lots(const Privacy& privacy) {
  return privacy->lot_bounds() != nullptr ? privacy->lot_bounds()->bound() : Bound();
}
inline Bound bound_of_updates(const Privacy& privacy) {
  return client_level(privacy) != nullptr ? client_level(privacy)->bound() : Bound();
}

}  // namespace fedstride
