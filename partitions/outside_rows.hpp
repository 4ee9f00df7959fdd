#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Examples that only code of the clients' own knows, of a model that is tensors alone. Their numbers, by which updates are weighed
/// and cohorts drawn, are all that is known here.
struct OutsideRows {
  std::string client_examples = "1";

  static constexpr std::string_view kName = "outside";
  static constexpr std::string_view kSummary = "examples that only the clients' own code knows, for a model of tensors";
  static constexpr Dealing kDealing = Dealing::given;
  static constexpr auto kFields = std::tuple{
      Field{"client-examples", &OutsideRows::client_examples,
            "number of examples of each client, \"100,200,50\", or one for all of them: their updates' weights"},
  };

  /// Throws Error (usage), since there are no rows to assign.
  Assignment assign(const PartitionInput& input) const;

  /// The number of each of so many clients. Throws Error (usage) for a list of another length or numbers that are not from 1 to 10^9.
  std::vector<std::uint64_t> counts(std::size_t clients) const;
};

}  // namespace fedstride
