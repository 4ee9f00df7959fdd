#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/client_report.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// The encoded change in the clients' model since the previous round (server/broadcast.hpp).
struct ModelChange {
  std::uint32_t round = 0;
  std::string code;
};

/// The coordinator's request to every client in a cohort to train this model in this round (1, 2, ...).
struct Task {
  std::uint32_t round = 1;
  const Vector& model;
  /// Under example-level privacy, the number of noisy releases that each client may make in this round, as reserved in the
  /// ledger; otherwise empty.
  std::span<const std::uint64_t> releases = {};
  /// Numbers from the local optimizer's server side (core/pooled_statistic.hpp), the same for every client; empty if it has none.
  std::span<const double> told = {};
  /// A vector from the local objective's server side, as long as the model and the same for every client (client/objectives/);
  /// empty if there is none.
  std::span<const float> beside = {};
  bool tests = false;  ///< whether clients test their personal models, if they have one and rows to test it on
  /// If the server compresses its model, the latest changes, one per round, up to and including this round's.
  std::span<const ModelChange> changes = {};
  double scale = 1;  ///< factor (at most 1) on each clipped update: the staleness weight in an asynchronous run
};

/// A client's reply: the change in the weights (trained minus received), followed by the vector of the same length that its local
/// objective sends, if any (client/objectives/). Valid during the call that receives it.
struct ClientUpdate {
  const ClientReport& report;
  std::span<const float> change;
  std::string_view code = {};  ///< sent instead of `change` if updates are compressed; decodes to it
};

}  // namespace fedstride
