#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "dp/ledger/statement.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride {

struct MeasureOptions {
  std::uint64_t canaries = 0;  ///< number of canaries at each level; 0: kExampleCanaries, kClientCanaries
  double confidence = 0.99;    ///< joint confidence of all bounds
  const std::atomic<bool>* stop = nullptr;

  static constexpr std::uint64_t kExampleCanaries = 1000;
  static constexpr std::uint64_t kClientCanaries = 1000;
};

/// One lower bound on epsilon.
struct LowerBound {
  std::string view;    ///< "every release" or "final model"
  std::string method;  ///< the method and its assumptions
  double epsilon = 0;
  double confidence = 0;
};

/// What canaries reveal about one level.
struct MeasuredLevel {
  PrivacyStatement ledger = {};  ///< the upper bound
  std::uint64_t canaries = 0;
  std::uint64_t releases = 0;       ///< number of scored releases
  double ratio = 0;                 ///< canaries' mean score over the noise's deviation, relative to the claim; 1 if it holds
  double least_ratio = 0;           ///< largest lower confidence bound on the ratio, over the groups of canaries
  double rate = 0;                  ///< share of the releases for which an included canary was drawn
  double least_rate = 0;            ///< largest lower confidence bound on the rate, for all canaries together and for each
  double largest_contribution = 0;  ///< largest contribution of a row to a sum, in clip bounds; 0: none was measured
  static constexpr double kLessNoise = 0.8;
  double power =
      0;  ///< the probability with which noise of kLessNoise times the claimed deviation would have contradicted the ledger
  std::vector<LowerBound> bounds = {};
  std::string contradiction = {};  ///< one line; empty if nothing contradicts the ledger
};

struct Measurement {
  std::vector<MeasuredLevel> levels = {};
  std::uint32_t rounds = 0;
  double seconds = 0;  ///< total time of the rounds
};

/// Trains as run() does, with the program's own rounds, cohorts, lots, clips, sums and noise, but in a temporary folder and
/// without evaluations. Canaries are added to the rows of one client (example level) or to the clients (client level). Their
/// scores yield lower bounds on epsilon, which must not exceed the epsilon in this training's ledger. Throws Error (usage) if the
/// configuration has no privacy or makes releases that canaries cannot score (check_measurable in measure.cpp).
Measurement measure_privacy(const Configuration& configuration, const MeasureOptions& options = {});

}  // namespace fedstride
