#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "server/round.hpp"
#include "sim/time/schedule.hpp"
#include "sim/time/tier_schedule.hpp"

namespace fedstride {

/// A version of the server's model as clients receive it.
struct ModelVersion {
  Vector model = {};
  std::vector<double> told = {};  ///< Task::told
};

/// The change of a version. FedBuff's is the mean of the weighted updates; if normalized, divided by `mean_weight`, the mean of their
/// weights. FedAsync's is the step to the mix of the two models: a (begun + mean - model), in double, a = mixing mean_weight; `begun`
/// is the mean of the models that the updates began from: one, or with over-cap 'wait' several.
Vector version_change(const ModePart& mode, Vector mean, double mean_weight, std::span<const double> begun, const Vector& model);

/// FedAT's model: sum_m T_(M+1-m) / T x_m of the tiers' models x_m and the numbers T_m of their rounds, in double.
Vector merged_tiers(std::span<const Vector> models, std::span<const std::uint64_t> rounds);

/// An asynchronous run. A version of its model is made like a round (server/round.hpp), of the updates that an EventSchedule names,
/// each trained from the version its task began from and weighted by its staleness once it is clipped. Memory: the models of the
/// versions that tasks at work began from, at most `concurrency`, and the updates that the fleet trained ahead; a model for each
/// tier, if tiers are merged.
class AsynchronousRun {
 public:
  /// The terms must outlive it.
  explicit AsynchronousRun(const TimeTerms& terms);

  /// Makes the next version. Returns the reports in order of clients. Throws like run_round.
  std::vector<ClientReport> advance(const RoundRules& rules, Fleet& fleet, Server& server, Vector& model,
                                    ForEachPiece for_each_piece = serially);
  const RoundTime& last() const { return last_; }

  /// The state of the schedule as bytes, and back. The models of versions() belong to it; they are in files.
  std::string save() const;
  void load(const std::string& bytes);
  /// The versions before the model's that tasks at work began from.
  const std::map<std::uint32_t, std::shared_ptr<const ModelVersion>>& versions() const { return versions_; }
  std::set<std::uint32_t> needed_versions() const;
  void put_version(std::uint32_t number, ModelVersion version) {
    versions_[number] = std::make_shared<const ModelVersion>(std::move(version));
  }

 private:
  const TimeTerms& terms_;
  std::unique_ptr<EventSchedule> schedule_;
  std::vector<Vector> tier_models_ = {};
  std::vector<std::uint64_t> tier_rounds_ = {};
  std::map<std::uint32_t, std::shared_ptr<const ModelVersion>> versions_ = {};
  RoundTime last_ = {};
};

}  // namespace fedstride
