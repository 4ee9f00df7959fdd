#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "core/choice.hpp"
#include "core/part.hpp"
#include "core/setting.hpp"

namespace fedstride {

/// What becomes of a task whose staleness would pass the cap.
enum class OverCap : std::uint8_t {
  drop,  ///< its update is dropped
  wait   ///< the server makes no version until it has arrived
};
constexpr auto choice_names(OverCap) { return names("drop", "wait"); }

/// The weight s of an update by its staleness t, the versions made since its task began (Xie, Koyejo & Gupta 2019, section 5).
enum class StalenessWeight : std::uint8_t {
  constant,    ///< 1
  polynomial,  ///< (1 + t)^-a
  hinge        ///< 1 up to b, then 1 / (a (t - b) + 1)
};
constexpr auto choice_names(StalenessWeight) { return names("constant", "polynomial", "hinge"); }

/// How a round of tifl draws its tier.
enum class TierPolicy : std::uint8_t {
  uniform,  ///< each with the same probability
  losses    ///< those with higher losses more often: TiFL's adaptive policy
};
constexpr auto choice_names(TierPolicy) { return names("uniform", "losses"); }

/// A kind of course of a run: when the server's versions are made, and of which updates.
class ModePart : public Part {
 public:
  static PartFamily& family();  ///< sim/time/mode.cpp has the list

  /// True if clients start and end by themselves; a round of the run is then one version of the server's model.
  virtual bool is_asynchronous() const { return false; }

  // Of synchronous rounds.
  virtual double over_selection() const { return 1; }  ///< clients asked for each that is needed
  virtual int minimum_arrivals() const { return 0; }   ///< a round with fewer arrivals changes nothing

  virtual int tiers() const { return 0; }  ///< of clients by speed: a round draws one, or each has rounds of its own; 0: none
  virtual int tiers_adapt_every() const { return 0; }  ///< rounds between looks at the tiers' losses; 0: none
  virtual int tier_credits() const { return 0; }       ///< rounds that a tier may have while others may have one; 0: any number

  // Of asynchronous runs.
  virtual int concurrency() const { return 0; }                           ///< clients at work at once
  virtual int buffer() const { return 1; }                                ///< updates of a version
  virtual double weight(std::uint32_t /*staleness*/) const { return 1; }  ///< at most 1
  virtual bool is_normalized() const { return false; }                    ///< divides by the sum of these weights
  virtual double mixing() const { return 0; }      ///< FedAsync's alpha; 0: changes are added, models not mixed
  virtual int staleness_cap() const { return 0; }  ///< 0: none
  virtual OverCap over_cap() const { return OverCap::drop; }
  /// True if each tier has rounds and a model of its own, of which the server's is made.
  virtual bool merges_tiers() const { return false; }
};
using Mode = Chosen<ModePart>;

struct SynchronousSettings {
  double over_selection_ = 1;
  int minimum_arrivals_ = 1;
  static constexpr auto kFields =
      std::tuple{Field{"over-selection", &SynchronousSettings::over_selection_,
                       "clients asked for each client of cohort-size; a round closes when cohort-size have answered",
                       Valid{.low = 1, .high = 1000}},
                 Field{"minimum-arrivals", &SynchronousSettings::minimum_arrivals_,
                       "a round in which fewer clients arrive by the deadline changes nothing", Valid{.low = 0, .high = 1e7}}};
};
struct Synchronous final : PartBase<ModePart, Synchronous, SynchronousSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "sync";
  static constexpr std::string_view kSummary = "rounds: the server waits for a cohort (Bonawitz et al. 2019)";
  double over_selection() const override { return over_selection_; }
  int minimum_arrivals() const override { return minimum_arrivals_; }
};

struct TieredSettings {
  int tiers_ = 5;
  static constexpr auto kFields = std::tuple{Field{
      "tiers", &TieredSettings::tiers_, "tiers of equally many clients, by the time of a task", Valid{.low = 1, .high = 1000}}};
};
struct TiflSettings : TieredSettings {
  TierPolicy policy = TierPolicy::uniform;
  int interval = 10;
  int credits = 0;
  bool adapts() const { return policy == TierPolicy::losses; }
  static constexpr auto kFields = std::tuple_cat(
      TieredSettings::kFields,
      std::tuple{
          Field{"tier-policy", &TiflSettings::policy, "how a round's tier is drawn: uniformly, or by losses"},
          Field{"tier-interval", &TiflSettings::interval, "rounds between two looks at the tiers' losses",
                Valid{.low = 1, .high = 1e6}, Shapes::model, &TiflSettings::adapts},
          Field{"tier-credits", &TiflSettings::credits, "rounds that a tier may have while others still may; 0: any number",
                Valid{.low = 0, .high = 1e6}, Shapes::model, &TiflSettings::adapts}});
};
/// Rounds whose cohort is drawn from one tier of clients of like speed: uniformly, or by the tiers' losses (sim/time/tier_draw.hpp).
struct Tiered final : PartBase<ModePart, Tiered, TiflSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "tifl";
  static constexpr std::string_view kSummary = "rounds of clients of like speed (Chai et al. 2020)";
  int tiers() const override { return tiers_; }
  int tiers_adapt_every() const override { return adapts() ? interval : 0; }
  int tier_credits() const override { return credits; }
};

struct FedAtSettings : TieredSettings {
  int tier_cohort = 10;
  static constexpr auto kFields =
      std::tuple_cat(TieredSettings::kFields,
                     std::tuple{Field{"tier-cohort", &FedAtSettings::tier_cohort,
                                      "clients of a round of a tier, at most all of it", Valid{.low = 1, .high = 1e7}}});
};
/// x <- sum_m T_(M+1-m) / T x_m over M tiers, the fastest first: x_m is the model of tier m, the mean of its clients' models after its
/// last round, and T_m the number of its rounds. The paper's proximal term is local-objective prox.
struct FedAt final : PartBase<ModePart, FedAt, FedAtSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "fedat";
  static constexpr std::string_view kSummary = "tiers of clients of like speed, each with rounds of its own (Chai et al. 2021)";
  bool is_asynchronous() const override { return true; }
  int tiers() const override { return tiers_; }
  int concurrency() const override { return tiers_ * tier_cohort; }
  int buffer() const override { return tier_cohort; }
  bool merges_tiers() const override { return true; }
};

/// The settings of modes without rounds.
struct AsynchronousSettings {
  int concurrency_ = 10;
  StalenessWeight staleness_weight = StalenessWeight::polynomial;
  double staleness_power = 0.5;
  double hinge_slope = 10;
  int hinge_from = 4;
  int staleness_cap_ = 0;
  OverCap over_cap_ = OverCap::drop;

  bool is_polynomial() const { return staleness_weight == StalenessWeight::polynomial; }
  bool is_hinge() const { return staleness_weight == StalenessWeight::hinge; }
  bool has_cap() const { return staleness_cap_ > 0; }
  /// StalenessWeight as set here.
  double weight_at(std::uint32_t staleness) const;

  static constexpr auto kFields = std::tuple{
      Field{"concurrency", &AsynchronousSettings::concurrency_, "clients at work at once", Valid{.low = 1, .high = 1e7}},
      Field{"staleness-weight", &AsynchronousSettings::staleness_weight, "how an update's weight falls with its staleness"},
      Field{"staleness-power", &AsynchronousSettings::staleness_power, "a in (1 + staleness)^-a", Valid{.low = 0, .high = 100},
            Shapes::model, &AsynchronousSettings::is_polynomial},
      Field{"hinge-slope", &AsynchronousSettings::hinge_slope, "a in 1 / (a (staleness - b) + 1)", Valid{.low = 0, .high = 1e6},
            Shapes::model, &AsynchronousSettings::is_hinge},
      Field{"hinge-from", &AsynchronousSettings::hinge_from, "b: the largest staleness with weight 1",
            Valid{.low = 0, .high = 1e6}, Shapes::model, &AsynchronousSettings::is_hinge},
      Field{"staleness-cap", &AsynchronousSettings::staleness_cap_, "largest staleness; 0: none", Valid{.low = 0, .high = 1e6}},
      Field{"over-cap",
            &AsynchronousSettings::over_cap_,
            "an update beyond staleness-cap is dropped, or the server waits for it before it makes another version",
            {},
            Shapes::model,
            &AsynchronousSettings::has_cap}};
};

/// The base of the mode Self without rounds.
template <class Self, class Settings>
struct AsynchronousMode : PartBase<ModePart, Self, Settings> {
  using PartBase<ModePart, Self, Settings>::PartBase;
  bool is_asynchronous() const final { return true; }
  int concurrency() const final { return this->concurrency_; }
  double weight(std::uint32_t staleness) const final { return this->weight_at(staleness); }
  int staleness_cap() const final { return this->staleness_cap_; }
  OverCap over_cap() const final { return this->over_cap_; }
};

struct FedAsyncSettings : AsynchronousSettings {
  double mixing_ = 0.6;
  static constexpr auto kFields =
      std::tuple_cat(AsynchronousSettings::kFields,
                     std::tuple{Field{"mixing", &FedAsyncSettings::mixing_,
                                      "alpha: weight of a client's model in the server's, times the staleness weight",
                                      Valid{.low = 0, .high = 1, .low_included = false}}});
};
/// x <- (1 - a) x + a x_k with a = alpha s(staleness), one client's model x_k at a time. The paper's proximal term is local-objective
/// prox.
struct FedAsync final : AsynchronousMode<FedAsync, FedAsyncSettings> {
  using AsynchronousMode::AsynchronousMode;
  static constexpr std::string_view kName = "fedasync";
  static constexpr std::string_view kSummary = "each client's model is mixed in as it arrives (Xie et al. 2019)";
  double mixing() const override { return mixing_; }
};

struct FedBuffSettings : AsynchronousSettings {
  int buffer_ = 10;
  bool normalized_staleness = false;
  static constexpr auto kFields = std::tuple_cat(
      AsynchronousSettings::kFields,
      std::tuple{
          Field{"buffer", &FedBuffSettings::buffer_, "updates of a version; at most concurrency", Valid{.low = 1, .high = 1e7}},
          Field{"normalized-staleness", &FedBuffSettings::normalized_staleness,
                "divide by the sum of the staleness weights, not by the number of updates"}});
};
/// x <- x + rate (1 / K) sum s(t_i) D_i over a buffer of K updates, each against the version its client began from.
struct FedBuff final : AsynchronousMode<FedBuff, FedBuffSettings> {
  using AsynchronousMode::AsynchronousMode;
  static constexpr std::string_view kName = "fedbuff";
  static constexpr std::string_view kSummary = "a version for each full buffer of updates (Nguyen et al. 2022)";
  int buffer() const override { return buffer_; }
  bool is_normalized() const override { return normalized_staleness; }
};

}  // namespace fedstride
