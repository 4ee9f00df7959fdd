#include "sim/prepare/noise_rate.hpp"

#include <algorithm>
#include <cmath>

#include "client/optim/pooled.hpp"
#include "client/trained_ranges.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "server/cohorts.hpp"

namespace fedstride {
namespace {

bool is_learned(const Setup& setup) { return setup.configuration.start == StartFrom::learned; }

struct Trained {
  double count = 0;
  double norm = 0;  // of the initial weights or, if these are learned, of drawn ones, since training makes weights longer
};

Trained trained(const Setup& setup) {
  Trained found;
  const bool is_drawn_anew = is_learned(setup) && setup.model.has_layers();
  const Vector drawn = is_drawn_anew ? drawn_weights(setup.configuration, setup.model) : Vector();
  for (const ParameterRange& range : trained_ranges(setup.model, setup.training.unsent(), 1)) {
    const double norm = l2_norm(view(is_drawn_anew ? drawn : setup.initial).subspan(range.offset, range.size));
    found.norm += norm * norm;
    found.count += static_cast<double>(range.size);
  }
  found.norm = std::sqrt(found.norm);
  return found;
}

// The standard deviation of the sum of correlated noise at the falling rates, relative to independent noise.
double correlated_share(const Setup& setup) {
  const Correlation& correlation = setup.privacy.client_release.correlation;
  if (correlation.is_independent()) return 1;
  const ServerSchedule course{.course = ServerScheduleShape::noise, .rounds = setup.configuration.rounds};
  std::vector<double> factors;
  double square = 0;
  for (int round = 1; round <= course.rounds; ++round) {
    factors.push_back(course.factor(static_cast<std::uint32_t>(round)));
    square += factors.back() * factors.back();
  }
  return combined_deviation(correlation, factors) / std::sqrt(square);
}

/// The standard deviation of the noise in one coordinate of a round's mean update, regardless of who adds it. Uses only public
/// inputs.
double mean_noise(const Setup& setup) {
  const SumRules& sum = setup.rules.sum;
  if (sum.release) return sum.release->noise.grid.deviation / sum.denominator;
  // Each client's noise is weighted like its update.
  double squares = 0;
  for (const std::uint64_t weight : sum.weights) squares += static_cast<double>(weight) * static_cast<double>(weight);
  const double rate = participation_rate(setup.configuration, setup.clients.size());
  return setup.training.local_release->grid.deviation * std::sqrt(rate * squares) / sum.denominator;
}

}  // namespace

double noise_rate(const Setup& setup) {
  const auto [count, norm] = trained(setup);
  if (!(norm > 0) || !std::isfinite(norm))
    throw usage_error("the initial weights have norm " + number_text(norm) +
                      "; server-schedule 'noise' needs a finite norm above 0, from which its rate follows; 'constant' does not "
                      "(--server-schedule)");
  const double factor = setup.configuration.server_noise_factor / (is_learned(setup) ? 3 : 1);
  const double most = kStepInOneDirection * std::sqrt(std::sqrt(count)) / setup.privacy.client->clip;
  const double tau = mean_noise(setup) * correlated_share(setup);
  return std::min(most, factor * norm * std::sqrt(3.0 / (2 * setup.configuration.rounds)) / (tau * std::sqrt(count)));
}

std::string noise_rate_text(const Setup& setup) {
  return "the server's rate " + number_text(noise_rate(setup)) + " (1 - (r - 1) / " + std::to_string(setup.configuration.rounds) +
         ") in round r, from the norm of the first weights, their number, the rounds and the noise";
}

}  // namespace fedstride
