#pragma once

#include <cereal/types/string.hpp>
#include <string>

#include "client/optim/schedule.hpp"
#include "core/task.hpp"
#include "partitions/partitions.hpp"
#include "python/bindings.hpp"
#include "server/aggregation.hpp"
#include "server/cohort.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride::python {

// Parts that call a Python function. The run's OwnCode owns the functions; a part chosen by its name alone has none.

struct CallablePartition final : PartBase<PartitionPart, CallablePartition> {
  py::handle function = {};

  static constexpr std::string_view kName = "callable";
  static constexpr std::string_view kSummary = "a Python function: fedstride.run(partition=function)";
  Dealing dealing() const override { return Dealing::labels; }  // the function may read the labels
  ClientRows assign(const PartitionInput& input) const override;
};

/// The function of a part; not a setting.
struct OwnFunction {
  py::handle function = {};
  static constexpr auto kFields = fields();
};

struct CallableCohort final : PartBase<CohortPart, CallableCohort, OwnFunction> {
  static constexpr std::string_view kName = "callable";
  static constexpr std::string_view kSummary = "a Python function: fedstride.run(cohort=function)";

  std::vector<ClientId> sample(const CohortQuestion& question) const override;
  /// Nothing is known about the function, so all clients may be drawn.
  double rate(std::size_t /*clients*/) const override { return 1; }
  bool is_independent() const override { return false; }  // nothing is known about the function
};

struct CallableAggregation final : PartBase<ComparingAggregation, CallableAggregation, OwnFunction> {
  static constexpr std::string_view kName = "callable";
  static constexpr std::string_view kSummary = "a Python function: fedstride.run(aggregation=function)";

  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override;
};

/// The state consists of arrays and JSON, packed by the package's own code; empty before the first round.
struct CallableServerOptimizer final : ServerOptimizerBase<CallableServerOptimizer, OwnFunction, std::string> {
  static constexpr std::string_view kName = "callable";
  static constexpr std::string_view kSummary = "a Python function: fedstride.run(server_optimizer=function)";

  bool state_length_changes() const override { return true; }
  void apply(std::string& packed, Vector& model, const Vector& mean_change) const override;
};

struct OwnSchedule : Schedule {
  py::handle function = {};
};

struct CallableState {
  std::string packed = {};
  std::uint64_t steps = 0;
  void serialize(auto& archive) { archive(packed, steps); }
};

struct CallableOptimizer final : ScheduledOptimizer<CallableOptimizer, OwnSchedule, CallableState> {
  static constexpr std::string_view kName = "callable";
  static constexpr std::string_view kSummary = "a Python function: fedstride.run(optimizer=function)";

  bool state_length_changes() const override { return true; }
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride::python
