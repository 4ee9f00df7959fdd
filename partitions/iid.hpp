#pragma once

#include "partitions/dealing.hpp"
#include "partitions/partitions.hpp"

namespace fedstride {

/// Every client draws from the same distribution: the shuffled rows, cut into pieces of equal size up to one.
struct Iid final : PartBase<PartitionPart, Iid> {
  static constexpr std::string_view kName = "iid";
  static constexpr std::string_view kSummary = "random rows, client sizes equal up to one";

  Dealing dealing() const override { return Dealing::counts; }
  ClientRows assign(const PartitionInput& input) const override {
    check_input(input);
    return ClientRows::even(shuffled_rows(input), static_cast<std::size_t>(input.clients));
  }
};

}  // namespace fedstride
