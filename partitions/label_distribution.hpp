#pragma once

#include <string>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Each client's mix of classes is read from a file: a line a client and a number a class, in proportion to which the client
/// holds rows of the classes; as CSV (no header) or as JSON, [[0.5, 0.5], [1, 0]]. All clients have as many rows as the scarcest
/// class allows: with p_kc client k's share of class c and n_c the rows of c, s = min over c of n_c / sum_k p_kc. The first k clients
/// together hold s (p_0c + ... + p_(k-1)c) rows of class c, rounded down, so each holds s p_kc but for less than one row, and
/// its size is s but for less than one row a class. Rows beyond them are held by nobody.
/// Errors: usage if no file is named or it has another number of clients or classes; failure if it is not of this form, or asks
/// for a class without rows.
struct LabelDistribution {
  std::string distribution_file;

  static constexpr std::string_view kName = "label-distribution";
  static constexpr std::string_view kSummary = "each client's mix of classes from a file, client sizes equal";
  static constexpr Dealing kDealing = Dealing::labels;
  static constexpr auto kFields = std::tuple{
      Field{"distribution-file", &LabelDistribution::distribution_file,
            "the clients' mixes of classes, CSV or JSON: a line a client, a number a class; rows beyond them are not used",
            kFile},
  };

  std::string& reads() { return distribution_file; }
  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
