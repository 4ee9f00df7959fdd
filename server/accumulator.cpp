#include "server/accumulator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "client/report.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "server/secure_sum.hpp"

namespace fedstride {

std::optional<Vector> ReleasedSum::mean() const {
  if (sum_.weight() == 0 && !rules_.adds_noise()) return std::nullopt;
  Vector mean;
  sum_.divided_by(rules_.denominator > 0 ? rules_.denominator : static_cast<double>(sum_.weight()), mean);
  if (rules_.release) keep_only(rules_.release->trained, mean);
  return mean;
}

void require_open_updates(std::string_view who, const SumRules& rules) {
  if (rules.release)
    throw usage_error(std::string(who) +
                      " reads individual clients' updates, which dp 'client' and 'both' hide; use client-noise 'local', or "
                      "aggregation 'mean' and an attack that does not read other clients' updates");
}

Accumulator::Accumulator(const SumRules& rules, std::uint32_t round, std::span<const ClientId> cohort, std::size_t size,
                         Keeps keeps, double expected, double bound)
    : rules_(rules),
      round_(round),
      size_(size),
      keeps_(keeps),
      expected_(expected),
      clip_(rules.release && bound > 0 ? std::optional(rules.release->clip.with_bound(bound)) : std::nullopt),
      cohort_(rules.weights.size()),
      added_(rules.weights.size()),
      sum_(keeps == Keeps::sum ? size + (rules.release ? rules.release->beside.count() : 0) : 0),
      store_(std::make_shared<UpdateStore>(rules.memory)) {
  require(keeps == Keeps::sum || !rules.release, "client-level privacy forbids keeping single updates");
  for (const ClientId client : cohort) {
    require(client < cohort_.size(), client, "is in the cohort but not in the roster");
    cohort_[client] = true;
  }
}

Accumulator::Accumulator(const Accumulator& whole, Stage stage)
    : rules_(whole.rules_),
      round_(whole.round_),
      size_(whole.size_),
      keeps_(whole.keeps_),
      expected_(whole.expected_),
      clip_(whole.clip_),
      cohort_(whole.cohort_),
      stage_(stage),
      added_(whole.added_.size()),
      sum_(whole.sum_.size()),
      store_(whole.store_) {}

double weighted_square(const SumRules& rules, const ClientReport& report) {
  double norm = rules.measured > 0 ? report.change_norm : report.update_norm;
  if (rules.bound && report.update_norm > rules.bound->clip.bound())
    norm = rules.measured > 0 ? norm * (rules.bound->clip.bound() / report.update_norm) : rules.bound->clip.bound();
  return static_cast<double>(rules.weights[report.client]) * norm * norm;
}

double mean_square_norm(const SumRules& rules, std::span<const ClientReport> reports) {
  ExactTotal sum;
  std::uint64_t weights = 0;
  for (const ClientReport& report : reports) {
    if (!report.failure.empty()) continue;
    sum.add(weighted_square(rules, report));
    weights += rules.weights[report.client];
  }
  return weights > 0 ? sum.value() / static_cast<double>(weights) : 0;
}

void Accumulator::require(bool good, const char* what) const {
  if (!good) throw failure("round " + std::to_string(round_) + ": " + what);
}

void Accumulator::require(bool good, ClientId client, const char* what) const {
  if (!good) throw failure("round " + std::to_string(round_) + ": client " + std::to_string(client) + " " + what);
}

std::string Accumulator::add(const ClientUpdate& update, double scale) {
  Arrival arrival = measured(update);
  judge(arrival);
  if (arrival.report.failure.empty()) shorten(arrival, scale);
  return take(std::move(arrival));
}

Accumulator::Arrival Accumulator::measured(const ClientUpdate& update) const {
  const ClientId client = update.report.client;
  require(client < cohort_.size() && cohort_[client], client, "sent an update but is not in the cohort");
  Arrival arrival{.report = update.report, .change = update.change, .remark = update.report.failure};
  ClientReport& report = arrival.report;
  report.update_norm = std::numeric_limits<double>::quiet_NaN();
  report.payload = 0;
  if (!report.failure.empty()) return arrival;
  if (update.change.size() != size_)
    throw failure("round " + std::to_string(round_) + ": client " + std::to_string(client) + " sent an update of " +
                  counted(update.change.size(), "number") + "; it must have " + std::to_string(size_));
  if (const double norm = l2_norm(update.change); !std::isinf(norm)) report.update_norm = norm;
  if (rules_.measured > 0) report.change_norm = l2_norm(update.change.first(rules_.measured));
  // A norm is at least the largest component, even in rounded arithmetic.
  arrival.is_admitted = report.update_norm < ExactSum::kMaxMagnitude || ExactSum::admits(update.change);
  if (arrival.is_admitted) report.payload = update.code.empty() ? rules_.plain_bytes : update.code.size();
  return arrival;
}

void Accumulator::judge(Arrival& arrival) const {
  ClientReport& report = arrival.report;
  if (rules_.release) arrival.clip = clip_ ? &*clip_ : &rules_.release->clip;
  if (!report.failure.empty()) return;
  if (!arrival.is_admitted) {
    arrival.remark = "its training diverged: the update has an entry that is not finite or is at least 2^22 in magnitude";
    // A client that adds a share of the noise always sends that share.
    if (!(rules_.release && rules_.release->noise.by_clients)) report.failure = arrival.remark;
    return;
  }
  if (!rules_.bound || !(report.update_norm > rules_.bound->clip.bound())) return;
  const std::string bound = number_text(rules_.bound->clip.bound());
  arrival.remark = "its update has norm " + number_text(report.update_norm) + "; max-update-norm is " + bound;
  if (rules_.bound->leaves_out) {
    report.failure = "its update has a norm above max-update-norm " + bound;
  } else {
    arrival.remark += ", so it is scaled down to that norm";
    arrival.clip = &rules_.bound->clip;
  }
}

void Accumulator::shorten(Arrival& arrival, double scale) const {
  const ClientReport& report = arrival.report;
  Vector& room = arrival.room;
  if (arrival.clip != nullptr && arrival.is_admitted) {
    const double norm = arrival.clip->clip(arrival.change, room);
    if (rules_.release)
      rules_.release->beside.append(room, arrival.clip->bound(),
                                    report.statistic / static_cast<double>(report.statistics) / expected_,
                                    norm <= arrival.clip->bound());
  } else if (arrival.clip != nullptr) {
    room.resize(sum_.size());
  }
  if (scale != 1) {
    require(scale >= 0 && scale < 1, report.client, "has a scale outside 0 to 1");
    if (room.empty()) room = Vector(arrival.change);
    for (float& value : room) value = static_cast<float>(scale * value);
  }
  if (!room.empty()) arrival.change = view(std::as_const(room));
}

std::string Accumulator::take(Arrival arrival) {
  ClientReport& report = arrival.report;
  const ClientId client = report.client;
  if (secure_ && report.failure.empty())
    if (std::string why = secure_->objection(client, arrival.change); !why.empty())
      arrival.remark = report.failure = std::move(why);
  std::unique_lock lock(mutex_);
  require(stage_ != Stage::ended, client, "sent an update after the sum was released");
  require(!added_[client], client, "sent a second update");
  added_[client] = true;
  if (secure_) {
    lock.unlock();
    if (report.failure.empty()) secure_->add(arrival.change, rules_.weights[client], report, weighted_square(rules_, report));
    lock.lock();
    reports_.push_back(stripped(report));
    return std::move(arrival.remark);
  }
  const bool is_in_sum = report.failure.empty();
  reports_.push_back(std::move(report));
  if (!is_in_sum) return std::move(arrival.remark);
  if (keeps_ == Keeps::sum)
    sum_.add(arrival.change, rules_.weights[client]);
  else
    updates_.push_back({client, rules_.weights[client], store_->keep(arrival.change)});
  return std::move(arrival.remark);
}

void Accumulator::secure(const Vector& model, bool elsewhere, ForEachPiece for_each_piece) {
  if (!rules_.secure) return;
  require(stage_ == Stage::whole && keeps_ == Keeps::sum, "only a whole sum can be secured");
  if (elsewhere) {
    secure_ = std::make_shared<SecureSum>(*rules_.secure, round_, sum_.size());
    return;
  }
  std::vector<ClientId> cohort;
  for (ClientId client = 0; client < cohort_.size(); ++client)
    if (cohort_[client]) cohort.push_back(client);
  secure_ = std::make_shared<SecureSum>(*rules_.secure, round_, cohort, sum_.size(), model, for_each_piece);
}

void Accumulator::add_report(const ClientReport& report) {
  require(report.client < cohort_.size() && cohort_[report.client], report.client, "sent an update but is not in the cohort");
  const std::lock_guard lock(mutex_);
  require(secure_ != nullptr && !added_[report.client], report.client, "sent a second update");
  added_[report.client] = true;
  reports_.push_back(stripped(report));
}

std::optional<RoundTotals> Accumulator::unmask(ForEachPiece for_each_piece) {
  if (!secure_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  RoundTotals totals = secure_->finish(sum_, for_each_piece);
  totals.is_secured = true;
  if (!secure_->ended().empty())
    for (ClientReport& report : reports_) report.failure = secure_->ended();
  secure_.reset();
  return totals;
}

std::unique_ptr<Accumulator> Accumulator::fresh_part() const {
  require(!secure_, "a secured sum has no parts");
  return std::unique_ptr<Accumulator>(new Accumulator(*this, Stage::part));
}

void Accumulator::merge(const Accumulator& part) {
  require(&part != this, "a sum cannot be merged into itself");
  const std::scoped_lock lock(mutex_, part.mutex_);
  require(stage_ != Stage::ended && part.stage_ == Stage::part, "only parts can be merged, and only before the release");
  require(
      &part.rules_ == &rules_ && part.round_ == round_ && part.size_ == size_ && part.keeps_ == keeps_ && part.cohort_ == cohort_,
      "the merged part belongs to another round or other rules");
  take_over(part.sum_, part.reports_);
  updates_.insert(updates_.end(), part.updates_.begin(), part.updates_.end());
}

void Accumulator::merge(const PartOfSum& part) {
  const std::lock_guard lock(mutex_);
  require(stage_ != Stage::ended, "only parts can be merged, and only before the release");
  require(part.sum.size() == sum_.size(), "the merged part belongs to another model");
  std::vector<bool> reported(added_.size());
  for (const ClientReport& report : part.reports) {
    require(report.client < cohort_.size() && cohort_[report.client], report.client, "sent an update but is not in the cohort");
    require(!reported[report.client], report.client, "sent a second update");
    reported[report.client] = true;
  }
  for (const PartOfSum::Update& update : part.updates)
    require(
        keeps_ == Keeps::updates && update.client < reported.size() && reported[update.client] && update.change.size() == size_,
        update.client, "has an update that does not belong to this round");
  take_over(part.sum, part.reports);
  for (const PartOfSum::Update& update : part.updates)
    updates_.push_back({update.client, update.weight, store_->keep(view(update.change))});
}

void Accumulator::take_over(const ExactSum& sum, std::span<const ClientReport> reports) {
  for (const ClientReport& report : reports) require(!added_[report.client], report.client, "sent a second update");
  for (const ClientReport& report : reports) added_[report.client] = true;
  sum_.merge(sum);
  reports_.insert(reports_.end(), reports.begin(), reports.end());
}

PartOfSum Accumulator::hand_over() && {
  const std::lock_guard lock(mutex_);
  require(stage_ == Stage::part, "only a part of a sum can be handed over; the whole is released");
  stage_ = Stage::ended;
  PartOfSum part{.sum = std::move(sum_), .updates = {}, .reports = std::move(reports_)};
  for (const OpenUpdates::Update& update : updates_)
    part.updates.push_back({update.client, update.weight, Vector(update.change)});
  return part;
}

std::vector<ClientReport> Accumulator::reports() const {
  const std::lock_guard lock(mutex_);
  std::vector<ClientReport> sorted = reports_;
  std::ranges::sort(sorted, {}, &ClientReport::client);
  return sorted;
}

void Accumulator::end(Keeps as) {
  require(stage_ != Stage::part, "a part of a sum cannot be released, only merged");
  require(stage_ != Stage::ended, "a sum can be released only once");
  require(keeps_ == as, "a sum has no single updates to open, and kept updates have no sum to release");
  stage_ = Stage::ended;
}

void Accumulator::conspire(const AttackPlan& plan) {
  const std::lock_guard lock(mutex_);
  require(stage_ == Stage::whole && keeps_ == Keeps::updates, "attackers can see updates only in a whole round that keeps them");
  conspired_ = true;
  std::ranges::sort(updates_, {}, &OpenUpdates::Update::client);
  std::vector<std::span<const float>> honest;
  for (const OpenUpdates::Update& update : updates_)
    if (!plan.has(update.client)) honest.push_back(update.change);
  const std::size_t attackers = updates_.size() - honest.size();
  if (attackers == 0 || honest.empty()) return;
  Vector forged(size_);
  plan.attack->conspire(plan.at(round_), honest, attackers, view(forged));
  require(ExactSum::admits(view(std::as_const(forged))),
          "the attackers' update has an entry that is not finite or is at least 2^22 in magnitude");
  const double norm = l2_norm(view(std::as_const(forged)));
  const bool is_long = rules_.bound && norm > rules_.bound->clip.bound();
  Vector clipped;
  if (is_long) rules_.bound->clip.clip(view(std::as_const(forged)), clipped);
  const std::span<const float> kept = store_->keep(view(std::as_const(is_long ? clipped : forged)));
  for (ClientReport& report : reports_) {
    if (!plan.has(report.client) || !report.failure.empty()) continue;
    report.update_norm = norm;
    if (is_long && rules_.bound->leaves_out) report.failure = "its update has a norm above max-update-norm";
  }
  for (OpenUpdates::Update& update : updates_)
    if (plan.has(update.client)) update.change = kept;
  if (is_long && rules_.bound->leaves_out)
    std::erase_if(updates_, [&](const OpenUpdates::Update& update) { return plan.has(update.client); });
}

ReleasedSum Accumulator::release() && {
  const std::lock_guard lock(mutex_);
  if (conspired_ && stage_ == Stage::whole) {
    // Only the attackers saw single updates; the caller reads only the sum.
    sum_ = ExactSum(size_);
    for (const OpenUpdates::Update& update : updates_) sum_.add(update.change, update.weight);
    keeps_ = Keeps::sum;
  }
  end(Keeps::sum);
  require(!secure_, "a secured sum must be unmasked before its release");
  if (rules_.adds_noise()) {
    ClientNoise noise = rules_.release->noise;
    if (clip_) noise.grid.deviation *= clip_->bound() / rules_.release->clip.bound();
    const bool is_correlated = !rules_.release->correlation.is_independent();
    require(is_correlated == (noise_ != nullptr),
            "the noise of earlier rounds must be set if noise is correlated, and only then");
    if (is_correlated)
      noise_->add(sum_, noise.grid, rules_.release->source, round_);
    else
      add_noise(sum_, noise, rules_.release->source, {Purpose::client_noise, round_});
  }
  return {std::move(sum_), rules_};
}

OpenUpdates Accumulator::open() && {
  const std::lock_guard lock(mutex_);
  end(Keeps::updates);
  std::ranges::sort(updates_, {}, &OpenUpdates::Update::client);
  return {std::move(updates_), store_};
}

}  // namespace fedstride
