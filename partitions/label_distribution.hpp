#pragma once

#include <string>

#include "partitions/partitions.hpp"

namespace fedstride {

struct LabelDistributionSettings {
  std::string distribution_file;

  static constexpr auto kFields =
      fields(Field{"distribution-file", &LabelDistributionSettings::distribution_file,
                   "file of class mixes (CSV or JSON): one row per client, one number per class", kFile});
};

/// Reads each client's class mix from a file: one row per client and one number per class, as CSV (no header) or as JSON [[0.5,
/// 0.5], [1, 0]]. All clients get the same number of rows s, as many as the scarcest class allows. If client k's share of class c
/// is p_kc and class c has n_c rows, then s = min over c of n_c / sum_k p_kc. The first k clients together hold s (p_0c + ... +
/// p_(k-1)c) rows of class c, rounded down, so each holds s p_kc to within one row, and its size is s to within one row per
/// class. The remaining rows are unused. Throws Error: usage if no file is named or the number of clients or classes differs;
/// failure if the file is malformed or asks for a class without rows.
struct LabelDistribution final : PartBase<PartitionPart, LabelDistribution, LabelDistributionSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "label-distribution";
  static constexpr std::string_view kSummary = "class mix of each client from a file, client sizes equal";

  Dealing dealing() const override { return Dealing::labels; }
  const std::string* reads() const override { return &distribution_file; }
  ClientRows assign(const PartitionInput& input) const override;
};

}  // namespace fedstride
