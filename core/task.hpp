#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/client_report.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// The coded change from the clients' model of the previous round to that of this round (server/broadcast.hpp).
struct ModelChange {
  std::uint32_t round = 0;
  std::string code;
};

/// The coordinator's request to every client of a cohort: train this model, in this round (1, 2, ...).
struct Task {
  std::uint32_t round = 1;
  const Vector& model;
  /// Under example-level privacy, how many noisy releases each client may make in this round: the number reserved for it in the
  /// ledger. Otherwise empty.
  std::span<const std::uint64_t> releases = {};
  /// Numbers from the local optimizer's server side (core/pooled_statistic.hpp), the same for every client; empty if it has none.
  std::span<const double> told = {};
  /// A vector from the local objective's server side, as long as the model, the same for every client (client/objectives/); or
  /// empty.
  std::span<const float> beside = {};
  bool tests = false;  ///< clients test their personal models, if they have one and rows to test it on
  /// If the server compresses its model: the last changes, one per round, up to this one.
  std::span<const ModelChange> changes = {};
  double scale = 1;  ///< factor on each update once it is clipped, at most 1: the staleness weight in an asynchronous run
};

/// A client's answer: the change of the weights, trained minus received, followed by what its local objective sends
/// (client/objectives/), of the same length, or nothing. Valid during the call that receives it.
struct ClientUpdate {
  const ClientReport& report;
  std::span<const float> change;
  std::string_view code = {};  ///< sent in its place if updates are compressed; it decodes to the change
};

}  // namespace fedstride
