#pragma once

#include "partitions/dealing.hpp"
#include "partitions/partitions.hpp"

namespace fedstride {

/// All clients have the same distribution: the shuffled rows are cut into pieces whose sizes differ by at most one.
struct Iid final : PartBase<PartitionPart, Iid> {
  static constexpr std::string_view kName = "iid";
  static constexpr std::string_view kSummary = "random rows, client sizes equal to within one row";

  Dealing dealing() const override { return Dealing::counts; }
  ClientRows assign(const PartitionInput& input) const override {
    check_input(input);
    return ClientRows::even(shuffled_rows(input), static_cast<std::size_t>(input.clients));
  }
};

}  // namespace fedstride
