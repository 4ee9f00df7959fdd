#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/client_report.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// What took the clients' model of the round before to that of this one, coded (server/broadcast.hpp).
struct ModelChange {
  std::uint32_t round = 0;
  std::string code;
};

/// The coordinator's request to every client of a cohort: train this model, in this round (1, 2, ...).
struct Task {
  std::uint32_t round = 1;
  const Vector& model;
  /// Under example-level privacy, the number of noisy releases each client may make in this round, by client: the number
  /// reserved for it in the ledger. Empty without.
  std::span<const std::uint64_t> releases = {};
  /// Numbers of the local optimizer's server side (core/pooled_statistic.hpp), the same to every client; empty if it has none.
  std::span<const double> told = {};
  /// A vector of the local objective's server, as long as the model, the same to every client (client/objectives/); empty if it has none.
  std::span<const float> beside = {};
  bool tests = false;  ///< clients test their personal models, where they have them and rows to test them on
  /// If the server compresses its model: the last changes, one a round, up to this one.
  std::span<const ModelChange> changes = {};
  double scale = 1;  ///< factor on each update once it is clipped, at most 1: an asynchronous run's weight of its staleness
};

/// A client's answer: the change of the weights, trained minus received, and after it what its local objective sends beside that
/// (client/objectives/), as long again, or nothing. Valid during the call it is passed to.
struct ClientUpdate {
  const ClientReport& report;
  std::span<const float> change;
  std::string_view code = {};  ///< what is sent for it if updates are compressed; the change is what it decodes to
};

}  // namespace fedstride
