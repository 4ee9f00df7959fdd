#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/vector.hpp"

namespace fedstride {

using ClientId = std::uint32_t;  ///< 0, 1, ...; texts for people count from 0 as well

/// Consecutive identical noisy releases: `count` clipped sums, each with noise of standard deviation
/// noise_multiplier x clip on the sum.
struct ReleaseRun {
  double noise_multiplier = 0;
  double clip = 0;
  std::uint64_t count = 0;
  bool operator==(const ReleaseRun&) const = default;
};

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

/// A sum of statistics above this is not pooled: the square of a difference of gradients that are not finite as floats.
inline constexpr double kMaxStatistic = 1e200;

/// A client's report on its training. No privacy guarantee covers any of it.
struct ClientReport {
  ClientId client = 0;
  std::uint64_t rows = 0;      ///< examples the client holds
  std::uint64_t examples = 0;  ///< gradient examples: each batch the optimizer asked for counts, a personal model's aside
  double loss = 0;             ///< mean training loss over the batches at weights it held (ADADP: not at half steps)
  double learning_rate = 0;    ///< of its next step, mean-gradient unit
  std::uint64_t steps = 0;
  std::uint64_t rejected = 0;             ///< steps undone by the optimizer; accepted = steps - rejected
  std::vector<ReleaseRun> releases = {};  ///< noisy releases made, in order; they are charged to the client
  std::uint64_t empty_lots = 0;           ///< releases whose lot had no example: noise alone
  std::uint64_t nonfinite = 0;            ///< examples left out of a release because their gradient was not finite
  double gradient_norm = 0;      ///< under example-level privacy: mean norm of an example's gradient before clipping; NaN: none
  double clipped_share = 0;      ///< likewise: share of the examples whose gradient was scaled down; NaN: none
  double statistic = 0;          ///< sum of the statistics of its steps, for the server to pool
  std::uint64_t statistics = 0;  ///< steps in that sum
  double alignment = 0;          ///< sum of the alignments of its steps, likewise
  std::uint64_t pairs = 0;       ///< pairs of steps in that sum
  double measure = 0;            ///< a number for the server's side of the local objective (ObjectiveScale), from 0
  double within = 0;    ///< released: noisy sum over its lots of 1/2 for a gradient within the bound, -1/2 for another (LotClip)
  double expected = 0;  ///< examples that these lots have on average; 0: no such sum
  std::uint64_t personal_examples = 0;  ///< answers to rows of its own that its personal model was tested on; 0: it was not
  std::uint64_t personal_correct = 0;   ///< of these, classified rightly
  double personal_loss = 0;             ///< mean softmax cross-entropy on them; NaN: diverged
  double update_norm = 0;               ///< L2 norm of the update as it came, measured by who sums it; NaN: it is not finite
  double change_norm = 0;               ///< likewise of the part of it that changes the model (SumRules::measured)
  std::uint64_t payload = 0;            ///< likewise: the bytes that its numbers have on a network; 0: it came without
  std::string failure = {};             ///< why the update is not in the sum; empty if it is
};

/// A client's answer: the change of the weights, trained minus received, and after it what its local objective sends beside that
/// (client/objectives/), as long again, or nothing. Valid during the call it is passed to.
struct ClientUpdate {
  const ClientReport& report;
  std::span<const float> change;
  std::string_view code = {};  ///< what is sent for it if updates are compressed; the change is what it decodes to
};

}  // namespace fedstride
