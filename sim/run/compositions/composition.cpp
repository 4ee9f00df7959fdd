#include "sim/run/compositions/composition.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/filter.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/spending.hpp"

namespace fedstride {
namespace {

std::uint64_t releases_in(const CompositionEvent& event) {
  return event.noise_multipliers.empty() ? *event.count : event.noise_multipliers.size();
}

std::vector<ReleaseRun> noise_of(const CompositionEvent& event, double noise_multiplier) {
  std::vector<ReleaseRun> runs;
  for (const double listed : event.noise_multipliers) runs.push_back({.noise_multiplier = listed, .count = 1});
  if (!runs.empty()) return runs;
  if (!event.schedule) return {{.noise_multiplier = noise_multiplier, .count = *event.count}};
  NoisePlanRules rules = *event.schedule;
  rules.noise_multiplier = noise_multiplier;
  return NoisePlan(rules).runs(0, *event.count);
}

Releases drawn_as(const CompositionEvent& event, Neighbours neighbours) {
  return {.sampling = event.sampling, .neighbours = neighbours, .rate = event.rate, .adaptive = event.adaptive};
}

/// Adds event `at` of a case to the spending. `sought` is the noise multiplier for events that omit it.
void add_event(Spending& spending, const CompositionCase& one, std::size_t at, std::optional<double> sought) {
  const CompositionEvent& event = one.events[at];
  const auto refuse = [&](const std::string& what) { throw usage_error("event " + std::to_string(at + 1) + ": " + what); };
  if (event.noise_multipliers.empty() && !event.count)
    refuse("'count' is missing; only the last event may omit it, and only if ask is 'steps'");
  if (event.noise_multipliers.empty() && !event.noise_multiplier && !sought)
    refuse("'noise_multiplier' is missing; events may omit it only if ask is 'noise-multiplier'");
  Releases like = drawn_as(event, one.neighbours);
  if (event.sampling == Sampling::shuffle) {
    like.passes = epochs_of(releases_in(event), event.rate);
  }
  const double multiplier = event.noise_multiplier ? *event.noise_multiplier : sought.value_or(1);
  merge(spending, exposure(noise_of(event, multiplier), like));
}

Spending spending_with(const CompositionCase& one, std::optional<double> sought) {
  Spending spending;
  for (std::size_t at = 0; at < one.events.size(); ++at) add_event(spending, one, at, sought);
  return spending;
}

PrivacyBound smallest_noise(const CompositionCase& one) {
  const auto is_sought = [](const CompositionEvent& event) { return event.noise_multipliers.empty() && !event.noise_multiplier; };
  if (std::ranges::none_of(one.events, is_sought))
    throw usage_error("ask is 'noise-multiplier', but no event omits 'noise_multiplier'");
  return {calibrate(
      make_accountant(one.accountant), [&](double multiplier) { return spending_with(one, multiplier); }, *one.epsilon,
      *one.delta)};
}

bool any_adaptive(const CompositionCase& one) { return std::ranges::any_of(one.events, &CompositionEvent::adaptive); }

/// The filter for a case, planned for releases like the first event's, the only releases known in advance.
PrivacyFilter filter_of(const CompositionCase& one) {
  const Accountant accountant = make_accountant(one.accountant);
  if (const auto* zcdp = std::get_if<Zcdp>(&accountant))
    return PrivacyFilter::by_zcdp(*one.epsilon, *one.delta, one.neighbours, zcdp->conversion);
  const auto* rdp = std::get_if<Rdp>(&accountant);
  if (rdp == nullptr) throw usage_error("accountant is '" + one.accountant.name + "', which has no filter; valid: rdp, zcdp");
  const CompositionEvent& first = one.events.front();
  if (first.adaptive)
    throw usage_error("event 1: 'adaptive' is true; a filter is planned from the first event, which cannot be adaptive");
  Releases planned = drawn_as(first, one.neighbours);
  planned.noise_multiplier =
      first.noise_multipliers.empty() ? first.noise_multiplier.value_or(1) : first.noise_multipliers.front();
  return PrivacyFilter::by_rdp(*one.epsilon, *one.delta, planned, rdp->orders, rdp->conversion);
}

/// Throws Error (failure) for the first event that does not fit in the filter's budget.
void charge_events(PrivacyFilter& filter, const CompositionCase& one, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    Spending event;
    add_event(event, one, at, {});
    try {
      for (const Releases& releases : event) filter.charge(releases);
    } catch (const Error& error) {
      throw Error(error.kind(), "event " + std::to_string(at + 1) + ": " + error.what());
    }
  }
}

PrivacyBound share_of_filter(const CompositionCase& one) {
  PrivacyFilter filter = filter_of(one);
  charge_events(filter, one, one.events.size());
  std::string by = filter.order() ? "the filter's order, for releases like event 1, is " + number_text(*filter.order()) : "";
  return {filter.spent() / filter.budget(), std::move(by)};
}

PrivacyBound largest_count_of_last(const CompositionCase& one) {
  const CompositionEvent& last = one.events.back();
  if (last.count || !last.noise_multipliers.empty())
    throw usage_error("ask is 'steps', but the last event does not omit 'count'");
  if (last.schedule || last.sampling == Sampling::shuffle)
    throw usage_error("ask is 'steps', so the last event can have neither a schedule nor sampling 'shuffle'");
  if (!last.noise_multiplier) throw usage_error("the last event: 'noise_multiplier' is missing");
  if (any_adaptive(one)) {
    PrivacyFilter filter = filter_of(one);
    charge_events(filter, one, one.events.size() - 1);
    Releases next = drawn_as(last, one.neighbours);
    next.noise_multiplier = *last.noise_multiplier;
    const std::uint64_t admitted = filter.admitted(next, kMaxSteps);
    return {static_cast<double>(admitted), steps_remark(admitted)};
  }
  Spending spent;
  for (std::size_t at = 0; at + 1 < one.events.size(); ++at) add_event(spent, one, at, {});
  Releases next = drawn_as(last, one.neighbours);
  next.noise_multiplier = *last.noise_multiplier;
  const std::uint64_t steps = most_steps(make_accountant(one.accountant), spent, next, *one.epsilon, *one.delta);
  return {static_cast<double>(steps), steps_remark(steps)};
}

/// Throws Error (usage) unless the accountant covers this spending.
Spending covered_by(const Accountant& accountant, const CompositionCase& one) {
  Spending spending = spending_of(one);
  if (const std::string reason = unsound_by(accountant, spending); !reason.empty())
    throw usage_error(std::string(part_name(accountant)) + ": " + reason);
  return spending;
}

double epsilon_of_one_epoch_at_least(const CompositionCase& one) {
  const CompositionEvent& event = one.events.front();
  if (one.events.size() > 1 || event.sampling != Sampling::shuffle || !event.noise_multipliers.empty() || event.schedule ||
      one.neighbours != Neighbours::add_remove)
    throw usage_error(
        "ask is 'lower-bound', which needs exactly one event, with sampling 'shuffle' and one noise_multiplier, under add-remove "
        "neighbours");
  spending_of(one);
  const std::uint64_t lots = lots_an_epoch(event.rate);
  if (*event.count < lots)
    throw usage_error("ask is 'lower-bound', which needs a whole epoch, but count is " + std::to_string(*event.count) +
                      "; it must be at least " + std::to_string(lots) + ", 1 / rate");
  return shuffle_epsilon_lower_bound(*event.noise_multiplier, lots, *one.delta);
}

bool leaves_out(const CompositionCase& one, std::string_view key) {
  return key == "accountant" ? one.accountant.name.empty()
         : key == "epsilon"  ? !one.epsilon
         : key == "delta"    ? !one.delta
                             : !one.order;
}

PrivacyBound answered(const CompositionCase& one) {
  switch (*one.ask) {
    case CompositionAsk::epsilon:
      return epsilon_by(make_accountant(one.accountant), spending_of(one), *one.delta);
    case CompositionAsk::delta:
      return delta_by(make_accountant(one.accountant), spending_of(one), *one.epsilon);
    case CompositionAsk::noise_multiplier:
      return smallest_noise(one);
    case CompositionAsk::steps:
      return largest_count_of_last(one);
    case CompositionAsk::filter:
      return share_of_filter(one);
    case CompositionAsk::divergence:
      return {spending_rdp(covered_by(Rdp{}, one), {&*one.order, 1}).front()};
    case CompositionAsk::rho:
      return {zcdp_rho(covered_by(Zcdp{}, one))};
    case CompositionAsk::lower_bound:
      return {epsilon_of_one_epoch_at_least(one)};
  }
  return {};
}

}  // namespace

const CompositionAskRow& row_of(CompositionAsk ask) { return *std::ranges::find(kCompositionAsks, ask, &CompositionAskRow::ask); }

bool CompositionCase::bounded() const { return std::isfinite(accept_min) || std::isfinite(accept_max); }

std::string name_of(const CompositionCase& one) {
  return "case " + (one.id.empty() ? std::to_string(one.number) : "'" + one.id + "'");
}

Spending spending_of(const CompositionCase& one) { return spending_with(one, {}); }

PrivacyBound answer(const CompositionCase& one) {
  if (!one.error.empty()) throw usage_error(one.error);
  if (!one.ask) throw usage_error("'ask' is missing");
  for (const auto key : split(row_of(*one.ask).needs, ' '))
    if (!key.empty() && leaves_out(one, key))
      throw usage_error("'" + std::string(key) + "' is missing; ask '" + std::string(row_of(*one.ask).name) + "' needs it");
  PrivacyBound bound = answered(one);
  if (std::isnan(bound.value)) throw failure("the numbers are too extreme: the result is not a number");
  return bound;
}

}  // namespace fedstride
