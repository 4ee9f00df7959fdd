#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "partitions/partitions.hpp"

namespace fedstride {

struct OutsideRowsSettings {
  std::string client_examples = "1";

  static constexpr auto kFields =
      fields(Field{"client-examples", &OutsideRowsSettings::client_examples,
                   "examples per client (\"100,200,50\", or one number for all); these numbers weight the updates"});
};

/// Examples known only to the clients' own code, for a model that consists only of tensors. Only the number of each client's
/// examples is known here; it weights the client's updates and its chance of being drawn into a cohort.
struct OutsideRows final : PartBase<PartitionPart, OutsideRows, OutsideRowsSettings> {
  static constexpr std::string_view kName = "outside";
  static constexpr std::string_view kSummary = "examples known only to the clients' code, for a model of tensors";

  Dealing dealing() const override { return Dealing::given; }
  /// Throws Error (usage): there are no rows to assign.
  ClientRows assign(const PartitionInput& input) const override;

  /// The number of examples of each client. Throws Error (usage) if the list has the wrong length or a number is not from 1 to
  /// 10^9.
  std::vector<std::uint64_t> counts(std::size_t clients) const;
};

}  // namespace fedstride
