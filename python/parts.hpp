#pragma once

#include <cereal/types/string.hpp>
#include <string>
#include <tuple>

#include "core/task.hpp"
#include "partitions/partition.hpp"
#include "python/bindings.hpp"
#include "server/aggregation.hpp"
#include "server/cohort.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride::python {

// Parts whose work is a Python function. The functions belong to the run's OwnCode; one that is named in settings alone has none.

struct CallablePartition {
  py::handle function = {};

  static constexpr std::string_view kName = "callable";
  static constexpr std::string_view kSummary = "a Python function: fedstride.run(partition=function)";
  static constexpr Dealing kDealing = Dealing::labels;  // which it may read
  static constexpr auto kFields = std::tuple{};

  Assignment assign(const PartitionInput& input) const;
};

struct CallableCohort {
  py::handle function = {};

  static constexpr std::string_view kName = "callable";
  static constexpr std::string_view kSummary = "a Python function: fedstride.run(cohort=function)";
  static constexpr bool kIndependent = false;  // as far as anyone can tell
  static constexpr auto kFields = std::tuple{};

  std::vector<ClientId> sample(const CohortQuestion& question) const;
  /// Nothing is known of it: everybody may be drawn.
  double rate(std::size_t /*clients*/) const { return 1; }
};

struct CallableAggregation {
  py::handle function = {};

  static constexpr std::string_view kName = "callable";
  static constexpr std::string_view kSummary = "a Python function: fedstride.run(aggregation=function)";
  static constexpr auto kFields = std::tuple{};

  std::size_t least_updates() const { return 1; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const;
};

struct CallableServerOptimizer {
  py::handle function = {};

  /// Arrays and JSON as the package's own code packs them; empty before the first round.
  struct State {
    std::string bytes;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(bytes);
    }
  };

  static constexpr std::string_view kName = "callable";
  static constexpr std::string_view kSummary = "a Python function: fedstride.run(server_optimizer=function)";
  static constexpr auto kFields = std::tuple{};

  static constexpr bool kStateLengthChanges = true;

  void start(State& state, std::size_t size) const;
  void apply(State& state, Vector& model, const Vector& mean_change) const;
};

}  // namespace fedstride::python
