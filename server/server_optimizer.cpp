#include "server/server_optimizer.hpp"

#include <algorithm>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "client/report.hpp"
#include "core/error.hpp"
#include "core/exact_sum.hpp"

namespace fedstride {
namespace {

std::string archived(const auto& value) {
  return state_bytes([&](std::ostream& stream) { write_archive(stream, value); });
}

}  // namespace

void Server::take(std::uint32_t round, std::span<const ClientReport> reports, const SumRules& rules,
                  const std::optional<RoundTotals>& secured) {
  totals_ = secured ? *secured : RoundTotals{sum_of(reports), rules.release ? 0 : mean_square_norm(rules, reports)};
  if (!rules.release) mean_square_ = totals_.mean_square;
  if (all_weights_ == 0)
    all_weights_ = static_cast<double>(std::accumulate(rules.weights.begin(), rules.weights.end(), std::uint64_t{0}));
  double weight = 0;
  double measure = 0;
  std::vector<ClientReport> pooled;
  for (const ClientReport& report : reports) {
    if (!report.failure.empty()) continue;
    const auto own = static_cast<double>(rules.weights[report.client]);
    weight += own;
    measure += own * report.measure;
    if ((pool_ || bounds_lots_) && !secured) pooled.push_back(sendable(report));
    if (!losses_.empty()) losses_[report.client] = report.loss;
  }
  const double divisor = rules.denominator > 0 ? rules.denominator : weight;
  round_ = {.share = divisor / all_weights_,
            .weight = divisor / static_cast<double>(rules.weights.size()),
            .measure = weight > 0 ? measure / weight : 0};
  const auto sums = [&] { return secured ? secured->sums : sum_of(pooled); };
  if (pool_ && !rules.release) pool_->take(round, sums());
  if (!bounds_lots_) return;
  // Failed clients are not counted. The mean bit (+-1/2) is limited to twice its range, so that noise cannot move the bound far.
  const ClientReport lots = sums();
  bounds_->take(lots.expected > 0 ? std::optional(std::clamp(lots.within / lots.expected, -1.0, 1.0)) : std::nullopt);
  tell_pool();
}

void Server::apply(Vector& model, Vector mean_update, std::uint32_t round, const SumRules& rules) {
  if (rules.release) {
    const double bound = clip() > 0 ? clip() : rules.release->clip.bound();
    const auto released = rules.release->beside.take_off(mean_update, bound);
    mean_square_ = bound * bound * released.square;
    if (bounds_) bounds_->take(released.bit, rules.release->most_bound());
    if (pool_ && rules.release->beside.statistic)
      pool_->take(round, {.statistic = 2 * released.statistic * pooled_reference(pool_->tell(round)), .statistics = 1});
  }
  average_statistics(statistics_, model, mean_update);
  if (optimizer_->measures()) {
    const double norm = l2_norm(view(std::as_const(mean_update)).first(model.size()));
    optimizer_->measure(*state_, {mean_square_, norm * norm});
  }
  objective_->next(*objective_state_, round_, mean_update);
  const auto factor = static_cast<float>(schedule_.factor(round));
  if (schedule_.is_on_update())
    for (float& value : mean_update) value *= factor;
  if (factor == 1 || schedule_.is_on_update()) return optimizer_->apply(*state_, model, mean_update);
  const Vector before = model;
  optimizer_->apply(*state_, model, mean_update);
  for (std::size_t i = 0; i < model.size(); ++i) model[i] = before[i] + factor * (model[i] - before[i]);
}

std::vector<NamedNumber> Server::numbers() const {
  std::vector<NamedNumber> numbers = optimizer_->numbers(*state_);
  if (pool_) std::ranges::copy(pool_->numbers(), std::back_inserter(numbers));
  if (bounds_ && bounds_->used() > 0) numbers.push_back({"clip", bounds_->used()});
  return numbers;
}

void Server::remember_losses(std::size_t clients) { losses_.assign(clients, std::numeric_limits<double>::quiet_NaN()); }

std::vector<std::string> Server::states() const {
  std::vector<std::string> all{state_bytes(*optimizer_, *state_), state_bytes(*objective_, *objective_state_),
                               pool_ ? state_bytes([&](std::ostream& stream) { pool_->save(stream); }) : std::string(),
                               archived(losses_)};
  if (bounds_) all.push_back(archived(bounds_->bound()));
  if (schedule_.is_on_update()) all.push_back(archived(schedule_.first));
  if (noise_) all.push_back(noise_->save());
  return all;
}

std::string Server::save() const { return archived(states()); }

void Server::load(const std::string& bytes) {
  const auto label = [](const ChosenPart& part) {
    return std::string(part.family().key()) + " '" + std::string(part.name()) + "'";
  };
  std::vector<std::string> states = this->states();
  load_state(bytes, label(optimizer_), {}, [&](std::istream& stream) { read_archive(stream, states); });
  if (states.size() != this->states().size()) throw failure("the server's state in the checkpoint is damaged");
  load_state(*optimizer_, *state_, states[0], label(optimizer_));
  load_state(*objective_, *objective_state_, states[1], label(objective_));
  load_state(states[3], "the clients' losses", archived(losses_).size(),
             [&](std::istream& stream) { read_archive(stream, losses_); });
  if (bounds_) {
    double bound = 0;
    load_state(states[4], "the bound", archived(bound).size(), [&](std::istream& stream) { read_archive(stream, bound); });
    bounds_->resume(bound);
    tell_pool();
  }
  if (schedule_.is_on_update()) {
    const std::string& first = states[4 + static_cast<std::size_t>(bounds_.has_value())];
    load_state(first, "the server's first rate", archived(schedule_.first).size(),
               [&](std::istream& stream) { read_archive(stream, schedule_.first); });
    if (!(schedule_.first > 0) || !std::isfinite(schedule_.first))
      throw failure("the server's state in the checkpoint is damaged");
  }
  if (noise_) noise_->load(states.back());
  if (pool_) load_state(states[2], "the pooled statistic", {}, [&](std::istream& stream) { pool_->load(stream); });
}

}  // namespace fedstride
