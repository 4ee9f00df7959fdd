#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Each client holds a few classes only (Koskela & Honkela, section "Federated learning experiments": client 1 has cars
/// and trucks, client 2 planes and ships, ...).
///
/// The classes that have rows, in the data set's class order, fill the clients x K places cyclically: client c gets those
/// numbered c K ... c K + K - 1, modulo their count. So consecutive classes of the order share a
/// client, a client's classes differ, and the holders of two classes differ by one at most. A class's rows, shuffled,
/// are split among its holders, equally up to one. (A client left without a row, which can only happen if a class has
/// fewer rows than holders, gets one of the largest client's.)
struct Pathological {
  int classes_per_client = 0;  ///< K; 0: the fewest that cover every class, ceil(classes / clients)

  static constexpr std::string_view kName = "pathological";
  static constexpr std::string_view kSummary = "each client holds a few classes; for CIFAR-10 and five clients the paper's pairs";
  static constexpr Dealing kDealing = Dealing::labels;
  static constexpr auto kFields = std::tuple{
      Field{"classes-per-client", &Pathological::classes_per_client, "classes each client holds; 0: as few as cover every class",
            kNonNegative},
  };

  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
