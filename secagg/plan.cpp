#include "secagg/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "secagg/shamir.hpp"

namespace fedstride::secagg {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log2_choose(double n, double k) {
  return (std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1)) * std::numbers::log2e;
}

double log2_sum(double a, double b) {
  const double high = std::max(a, b);
  return high == kNever ? kNever : high + std::log2(std::exp2(a - high) + std::exp2(b - high));
}

// log2 of a union bound over the clients, at most 0 (probability 1).
double for_any(unsigned clients, double log2_probability) { return std::min(0.0, std::log2(clients) + log2_probability); }

bool is_complete(const Assumed& assumed, unsigned degree) { return degree + 1 >= assumed.clients; }

// Removed vertices disconnect the ring only if they include degree / 2 consecutive ones.
double log2_disconnected(const Assumed& assumed, unsigned degree) {
  const unsigned removed = assumed.colluders + assumed.dropouts;
  double log2 = 0;
  for (unsigned i = 0; i < degree / 2; ++i) {
    if (removed <= i) return kNever;
    log2 += std::log2(static_cast<double>(removed - i) / (assumed.clients - i));
  }
  return for_any(assumed.clients, log2);
}

// log2 of the probability that some client's masks can be removed or the graph is disconnected; -infinity: never. Drop-outs before
// the graph is drawn leave a larger share of colluders among the others.
double log2_privacy(const Assumed& assumed, unsigned degree, unsigned threshold) {
  if (is_complete(assumed, degree)) return 2 * threshold > assumed.clients + assumed.colluders ? kNever : 0;
  if (2 * threshold <= degree + 1) return 0;
  const unsigned roster = std::max(assumed.clients - assumed.dropouts, degree + 1);
  const double both = log2_hypergeometric_tail(roster - 1, assumed.colluders, degree, 2 * threshold - degree - 1);
  return log2_sum(for_any(assumed.clients, both), log2_disconnected(assumed, degree));
}

// log2 of the probability that a round with the fewest survivors cannot be unmasked.
double log2_completion(const Assumed& assumed, unsigned degree, unsigned threshold) {
  if (is_complete(assumed, degree)) return assumed.clients - assumed.dropouts >= threshold ? kNever : 0;
  if (threshold > degree) return 0;
  return for_any(assumed.clients,
                 log2_hypergeometric_tail(assumed.clients - 1, assumed.dropouts, degree, degree - threshold + 1));
}

// Cutting the ring takes two runs of degree / 2 clients; the coordinator chooses the drop-outs, and the permutation places its
// colluders.
bool splits(const Assumed& assumed, unsigned degree) {
  if (is_complete(assumed, degree) || degree > assumed.dropouts + assumed.colluders) return false;
  if (degree <= assumed.dropouts) return true;
  return 2 * std::log2(assumed.clients) +
             log2_hypergeometric_tail(assumed.clients, assumed.colluders, degree, degree - assumed.dropouts) >
         kLog2Failure;
}

std::string described(const Assumed& assumed) {
  return counted(assumed.clients, "client") + " a round, " + counted(assumed.dropouts, "drop-out") + " and " +
         counted(assumed.colluders, "colluder");
}

}  // namespace

double log2_hypergeometric_tail(unsigned population, unsigned marked, unsigned drawn, unsigned least) {
  double sum = kNever;
  const unsigned lowest = drawn > population - marked ? drawn - (population - marked) : 0;
  if (least <= lowest) return 0;
  for (unsigned hits = std::max(least, lowest); hits <= std::min(marked, drawn); ++hits)
    sum = log2_sum(sum,
                   log2_choose(marked, hits) + log2_choose(population - marked, drawn - hits) - log2_choose(population, drawn));
  return std::min(sum, 0.0);
}

Plan choose_plan(const Assumed& assumed, unsigned degree) {
  if (assumed.clients < 3)
    throw usage_error("secure-aggregation needs at least 3 clients a round, as each knows its own part of the sum; there are " +
                      std::to_string(assumed.clients));
  const unsigned majority = (assumed.clients + assumed.colluders) / 2 + 1;
  if (assumed.dropouts + majority > assumed.clients)
    throw usage_error("secure-aggregation cannot support " + described(assumed) +
                      ": two lists of survivors could both be signed; with " + counted(assumed.colluders, "colluder") +
                      " at most " + counted(assumed.clients > majority ? assumed.clients - majority : 0, "client") +
                      " may drop out");
  const unsigned complete = assumed.clients - 1;
  if (degree > 0 && degree < complete && degree % 2 != 0)
    throw usage_error("secure-degree is " + std::to_string(degree) + "; it must be an even number, or at least " +
                      std::to_string(complete) + " to make all clients neighbors");
  const unsigned most = std::min(complete, kMostShares - 1);
  std::vector<unsigned> degrees;
  if (degree > 0) degrees = {std::min(degree, most)};
  for (unsigned k = 2; degree == 0 && k < most; k += 2) degrees.push_back(k);
  if (degree == 0) degrees.push_back(most);
  for (const unsigned k : degrees) {
    // A higher threshold protects better but tolerates fewer drop-outs.
    unsigned t = (k + 1) / 2 + 1;
    while (t <= k && log2_privacy(assumed, k, t) > kLog2Failure) ++t;
    if (log2_privacy(assumed, k, t) <= kLog2Failure && log2_completion(assumed, k, t) <= kLog2Failure)
      return {assumed.clients, k, t, std::max(majority, assumed.clients - assumed.dropouts), splits(assumed, k)};
  }
  throw usage_error((degree > 0 ? "secure-degree is " + std::to_string(degree) + ", which cannot support "
                                : "secure-aggregation cannot support ") +
                    described(assumed) + " with a failure probability below 2^-40" +
                    (degree > 0 ? "; 0 chooses the smallest sufficient degree" : "; a client can have at most 254 neighbors"));
}

Graph::Graph(std::vector<ClientId> roster, const Bytes32& roster_hash, unsigned degree)
    : order_(std::move(roster)), degree_(degree) {
  std::vector<std::pair<Bytes32, ClientId>> keyed;
  for (const ClientId client : order_) keyed.emplace_back(Hash().text(text_of(roster_hash)).value(client).digest(), client);
  std::ranges::sort(keyed);
  for (unsigned i = 0; i < keyed.size(); ++i) {
    order_[i] = keyed[i].second;
    place_.emplace_back(keyed[i].second, i);
  }
  std::ranges::sort(place_);
}

std::vector<ClientId> Graph::holders(ClientId client) const {
  const auto clients = static_cast<unsigned>(order_.size());
  std::vector<ClientId> found;
  if (degree_ + 1 >= clients) {
    found = order_;
  } else {
    const unsigned at = std::ranges::lower_bound(place_, client, {}, &std::pair<ClientId, unsigned>::first)->second;
    found.push_back(client);
    for (unsigned step = 1; step <= degree_ / 2; ++step) {
      found.push_back(order_[(at + step) % clients]);
      found.push_back(order_[(at + clients - step) % clients]);
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace fedstride::secagg
