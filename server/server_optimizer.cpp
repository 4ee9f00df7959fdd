#include "server/server_optimizer.hpp"

#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <limits>
#include <numeric>
#include <sstream>

#include "core/error.hpp"
#include "core/exact_total.hpp"
#include "core/state_bytes.hpp"

namespace fedstride {
namespace {

std::string saved(const PooledStatistic& pool) {
  std::ostringstream bytes;
  pool.save(bytes);
  return std::move(bytes).str();
}

}  // namespace

void Server::take(std::span<const ClientReport> reports, const SumRules& rules) {
  at_work_->measure(mean_square_norm(rules, reports));
  const double all = static_cast<double>(std::accumulate(rules.weights.begin(), rules.weights.end(), std::uint64_t{0}));
  double weight = 0;
  double measure = 0;
  ExactTotal statistic;
  std::uint64_t statistics = 0;
  for (const ClientReport& report : reports) {
    if (!report.failure.empty()) continue;
    const auto own = static_cast<double>(rules.weights[report.client]);
    weight += own;
    measure += own * report.measure;
    if (report.statistic <= kMaxStatistic) {
      statistic.add(report.statistic);
      statistics += report.statistics;
    }
    if (!losses_.empty()) losses_[report.client] = report.loss;
  }
  const double divisor = rules.denominator > 0 ? rules.denominator : weight;
  round_ = {.share = divisor / all,
            .weight = divisor / static_cast<double>(rules.weights.size()),
            .measure = weight > 0 ? measure / weight : 0};
  if (pool_) pool_->take(statistic.value(), statistics);
}

void Server::apply(Vector& model, Vector mean_update, std::uint32_t round) {
  objective_->next(round_, mean_update);
  const auto factor = static_cast<float>(schedule_.factor(round));
  if (factor == 1) return at_work_->apply(model, mean_update);
  const Vector before = model;
  at_work_->apply(model, mean_update);
  for (std::size_t i = 0; i < model.size(); ++i) model[i] = before[i] + factor * (model[i] - before[i]);
}

void Server::remember_losses(std::size_t clients) { losses_.assign(clients, std::numeric_limits<double>::quiet_NaN()); }

std::vector<std::string> Server::states() const {
  return {at_work_->save(), objective_->save(), pool_ ? saved(*pool_) : std::string(), state_bytes(losses_)};
}

std::string Server::save() const { return state_bytes(states()); }

void Server::load(const std::string& bytes) {
  std::vector<std::string> states = this->states();
  load_state(states, bytes, "server-optimizer '" + name_ + "'", true);
  if (states.size() != 4) throw failure("the checkpoint's state of the server is damaged");
  at_work_->load(states[0]);
  objective_->load(states[1]);
  load_state(losses_, states[3], "the clients' losses");
  if (!pool_) return;
  try {
    std::istringstream stream(states[2]);
    pool_->load(stream);
  } catch (const std::exception&) {
    throw failure("the checkpoint's state of the pooled statistic is damaged");
  }
}

}  // namespace fedstride
