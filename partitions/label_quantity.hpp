#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Each client holds K classes, most of them drawn, so that classes have more or fewer holders and sizes differ (the quantity-based
/// label imbalance #C = K of NIID-Bench: Li et al. 2022, section IV-A).
///
/// The classes that have rows are numbered in the data set's class order. Client c holds number c modulo their count; where there are
/// fewer clients than classes also c + clients, c + 2 clients, ..., so that each class has a holder. Its other classes are drawn
/// without repeats. A class's rows, shuffled, are split among its holders, equally up to one. (A client left without a row gets one of
/// the largest client's.)
struct LabelQuantity {
  int classes_per_client = 0;  ///< K; 0: the fewest that cover every class, ceil(classes / clients)

  static constexpr std::string_view kName = "label-quantity";
  static constexpr std::string_view kSummary =
      "each client holds a few classes drawn at random, client sizes unequal (NIID-Bench's #C = K)";
  static constexpr Dealing kDealing = Dealing::labels;
  static constexpr auto kFields = std::tuple{
      Field{"classes-per-client", &LabelQuantity::classes_per_client, "classes each client holds; 0: as few as cover every class",
            kNonNegative},
  };

  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
