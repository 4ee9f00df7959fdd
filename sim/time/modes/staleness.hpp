#pragma once

#include <cmath>

#include "core/choice.hpp"
#include "core/elementary.hpp"
#include "sim/time/asynchronous.hpp"
#include "sim/time/mode.hpp"

namespace fedstride {

/// How to handle a task whose staleness would exceed the cap.
enum class OverCap : std::uint8_t {
  drop,  ///< its update is dropped
  wait   ///< the server makes no version until the task has ended
};
constexpr auto choice_names(OverCap) { return names("drop", "wait"); }

/// The weight s of an update by its staleness t, the number of versions made since its task began (Xie, Koyejo & Gupta 2019,
/// section 5).
enum class StalenessWeight : std::uint8_t {
  constant,    ///< 1
  polynomial,  ///< (1 + t)^-a
  hinge        ///< 1 for t up to b, then 1 / (a (t - b) + 1)
};
constexpr auto choice_names(StalenessWeight) { return names("constant", "polynomial", "hinge"); }

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
  /// The weight of an update with this staleness, under these settings.
  double weight(std::uint32_t staleness) const {
    const double late = static_cast<double>(staleness) - hinge_from;
    switch (staleness_weight) {
      case StalenessWeight::constant:
        break;
      case StalenessWeight::polynomial:
        return staleness_power == 0.5 ? 1 / std::sqrt(1.0 + staleness) : portable::pow(1.0 + staleness, -staleness_power);
      case StalenessWeight::hinge:
        return late <= 0 ? 1 : 1 / (hinge_slope * late + 1);
    }
    return 1;
  }
  /// The mean staleness weight of the updates in a version's sum, each weighted as in the sum; 1 if there are no updates.
  double mean_weight(const SummedUpdates& updates) const {
    double sum = 0;
    for (const SummedUpdates::Update& update : updates.all) sum += update.weight * weight(update.staleness);
    return updates.weight > 0 ? sum / updates.weight : 1;
  }

  static constexpr auto kFields = fields(
      Field{"concurrency", &AsynchronousSettings::concurrency_, "clients at work at once", Valid{.low = 1, .high = 1e7}},
      Field{"staleness-weight", &AsynchronousSettings::staleness_weight, "how an update's weight depends on its staleness"},
      Field{"staleness-power", &AsynchronousSettings::staleness_power, "a in (1 + staleness)^-a", Valid{.low = 0, .high = 100},
            Shapes::model, &AsynchronousSettings::is_polynomial},
      Field{"hinge-slope", &AsynchronousSettings::hinge_slope, "a in 1 / (a (staleness - b) + 1)", Valid{.low = 0, .high = 1e6},
            Shapes::model, &AsynchronousSettings::is_hinge},
      Field{"hinge-from", &AsynchronousSettings::hinge_from, "b: the largest staleness with weight 1",
            Valid{.low = 0, .high = 1e6}, Shapes::model, &AsynchronousSettings::is_hinge},
      Field{"staleness-cap", &AsynchronousSettings::staleness_cap_, "largest allowed staleness; 0: no limit",
            Valid{.low = 0, .high = 1e6}},
      Field{"over-cap",
            &AsynchronousSettings::over_cap_,
            "whether an update beyond staleness-cap is dropped, or the server waits for it before making another version",
            {},
            Shapes::model,
            &AsynchronousSettings::has_cap});
};

/// The base of modes without rounds. Self must have the functions scale and change of AsynchronousRun.
template <class Self, class Settings>
struct AsynchronousMode : PartBase<ModePart, Self, Settings> {
  using PartBase<ModePart, Self, Settings>::PartBase;
  std::unique_ptr<TimedRun> begin(const TimeTerms& terms) const final {
    struct Run final : AsynchronousRun {
      Run(std::unique_ptr<EventSchedule> schedule, const Self& its_mode) : AsynchronousRun(std::move(schedule)), mode(its_mode) {}
      double scale(std::uint32_t staleness) const override { return mode.scale(staleness); }
      Vector change(Vector mean, const SummedUpdates& updates, const Vector& model) override {
        return mode.change(std::move(mean), updates, model);
      }
      Self mode;
    };
    return std::make_unique<Run>(schedule(terms), static_cast<const Self&>(*this));
  }
  int concurrency() const final { return this->concurrency_; }
  std::unique_ptr<EventSchedule> schedule(const TimeTerms& terms) const final {
    return std::make_unique<BufferSchedule>(terms, BufferRules{.concurrency = static_cast<std::size_t>(this->concurrency_),
                                                               .buffer = static_cast<std::size_t>(this->buffer()),
                                                               .staleness_cap = static_cast<std::uint32_t>(this->staleness_cap_),
                                                               .waits = this->over_cap_ == OverCap::wait});
  }
};

}  // namespace fedstride
