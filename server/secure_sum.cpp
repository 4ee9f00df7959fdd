#include "server/secure_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "client/report.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "secagg/shamir.hpp"

namespace fedstride {
namespace {

using secagg::Leaves;
using secagg::Ring;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view kLeftBefore[] = {"its keys", "its shares", "its masked update"};

/// Calls visit(number) for each number of a report that enters the sum.
void for_each_secured(auto& report, auto&& visit) {
  for_each_report_number([&](const auto& field) {
    if (field.is(ReportRule::secured) && field.adds_up()) visit(report.*field.member);
  });
}

/// A client's part of RoundTotals.
struct SecurePart {
  std::vector<ExactTotal> totals = {};     ///< exact doubles: the report's, loss x examples, weighted_square of the change
  std::vector<std::uint64_t> counts = {};  ///< the weight, the report's counts, examples with a loss
};

SecurePart secure_part_of(const SecureRules& rules, const ClientReport& report, std::uint64_t weight, double square) {
  SecurePart part{.counts = {weight}};
  const auto add = [&](double number) { part.totals.emplace_back().add(number); };
  const ClientReport possible = sendable(report);
  for_each_secured(possible, [&]<class Number>(Number number) {
    if constexpr (std::is_integral_v<Number>)
      part.counts.push_back(number);
    else
      add(number);
  });
  const bool has_loss = report.loss >= 0 && std::isfinite(report.loss);
  add(has_loss ? report.loss * static_cast<double>(report.examples) : 0);
  if (rules.lengths) add(square);
  part.counts.push_back(has_loss ? report.examples : 0);
  return part;
}

SecurePart empty_part(const SecureRules& rules) { return secure_part_of(rules, {}, 0, 0); }

std::size_t part_length(const SecureRules& rules) {
  const SecurePart part = empty_part(rules);
  return (part.totals.size() * ExactTotal::kBits + part.counts.size() * 64) / (rules.grid.bits / 2);
}

// Cuts integers into pieces of half the ring's bits, so that sums of 2^(bits / 2) clients' pieces do not wrap.
void add_part(const SecurePart& part, std::size_t first, Ring& ring) {
  const unsigned half = ring.bits() / 2;
  const auto cut = [&](std::uint64_t whole) {
    for (unsigned at = 0; at < 64; at += half) {
      const __int128 piece = half == 64 ? whole : whole >> at & ((std::uint64_t{1} << half) - 1);
      ring.add(first++, std::span(&piece, 1));
    }
  };
  for (const ExactTotal& total : part.totals)
    for (unsigned position = 0; position < ExactTotal::kBits; position += 64) cut(total.piece(position));
  for (const std::uint64_t count : part.counts) cut(count);
}

SecurePart read_part(const SecureRules& rules, const Ring& ring, std::size_t first) {
  const unsigned half = ring.bits() / 2;
  const auto next = [&] {
    const auto value = static_cast<unsigned __int128>(ring.at(first++));
    return ring.bits() == 128 ? value : value & ((static_cast<unsigned __int128>(1) << ring.bits()) - 1);
  };
  SecurePart part = empty_part(rules);
  for (ExactTotal& total : part.totals)
    for (unsigned position = 0; position < ExactTotal::kBits; position += half) {
      const unsigned __int128 piece = next();
      total.add_piece(position, static_cast<std::uint64_t>(piece));
      if (const auto high = static_cast<std::uint64_t>(piece >> 64); high > 0 && position + 64 < ExactTotal::kBits)
        total.add_piece(position + 64, high);
    }
  for (std::uint64_t& count : part.counts)
    for (unsigned at = 0; at < 64; at += half) count += static_cast<std::uint64_t>(next()) << at;
  return part;
}

}  // namespace

std::string without_round(std::string why, std::uint32_t round) {
  if (const std::string prefix = "round " + std::to_string(round) + ": "; why.starts_with(prefix)) why.erase(0, prefix.size());
  return why;
}

secagg::Assumed SecureRules::assumed(std::size_t clients) const {
  const auto with = [&](double automatic) {
    const auto share = [&](const AutoNumber& of) {
      return static_cast<unsigned>((of.is_auto ? automatic * of.value : of.value) * static_cast<double>(clients));
    };
    return secagg::Assumed{static_cast<unsigned>(clients), share(dropouts), share(colluders)};
  };
  const auto is_supported = [&](const secagg::Assumed& one) {
    try {
      secagg::choose_plan(one, static_cast<unsigned>(degree));
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  const bool may_halve = (dropouts.is_auto || colluders.is_auto) && clients > secagg::kMostShares;
  return with(may_halve && !is_supported(with(1)) && is_supported(with(0.5)) ? 0.5 : 1);
}

secagg::Plan SecureRules::plan(std::size_t clients) const {
  const secagg::Assumed assumed = this->assumed(clients);
  secagg::Plan plan = secagg::choose_plan(assumed, static_cast<unsigned>(degree));
  if (minimum == 0) return plan;
  const unsigned majority = (assumed.clients + assumed.colluders) / 2 + 1;
  if (minimum < majority || minimum > assumed.clients)
    throw usage_error("minimum-survivors is " + std::to_string(minimum) + "; with " + counted(assumed.clients, "client") +
                      " a round and " + counted(assumed.colluders, "colluder") + " it must be from " + std::to_string(majority) +
                      ", so that two lists of survivors cannot both be signed, to " + std::to_string(assumed.clients));
  plan.minimum = minimum;
  return plan;
}

std::string SecureRules::session_settings() const {
  return number_text(grid.range) + " " + number_text(grid.step) + (noise ? " " + noise->text() : "");
}

secagg::Leaves SecureSum::leaves(ClientId client) const {
  RandomStream random = rules_.draws.at({Purpose::secure_rounding, round_, client, 1});
  unsigned stage = 0;
  while (stage < static_cast<unsigned>(Leaves::never) && random.uniform() >= rules_.leaving) ++stage;
  return static_cast<Leaves>(stage);
}

// Throws Error (failure), as the protocol does, if fewer clients than the minimum are left after this stage.
void SecureSum::enough(const std::vector<Leaves>& clients, Leaves stage, const char* did) const {
  const auto left = static_cast<std::size_t>(std::ranges::count_if(clients, [&](Leaves one) { return one > stage; }));
  if (left < plan_.minimum)
    throw failure("round " + std::to_string(round_) + ": " + counted(left, "client") + " " + did + "; secure aggregation needs " +
                  std::to_string(plan_.minimum) + ", and nothing is revealed");
}

SecureSum::SecureSum(const SecureRules& rules, std::uint32_t round, std::span<const ClientId> cohort, std::size_t size,
                     const Vector& model, ForEachPiece for_each_piece)
    : rules_(rules), round_(round), size_(size), ring_(0, rules.grid.bits) {
  try {
    plan_ = rules.plan(cohort.size());
    std::vector<ClientId> ascending(cohort.begin(), cohort.end());
    std::ranges::sort(ascending);
    for (const ClientId client : ascending) when_.push_back(leaves(client));
    if (!rules.masks) {
      enough(when_, Leaves::before_keys, "sent keys");
      enough(when_, Leaves::before_shares, "sent shares");
      ring_ = Ring(length(), rules.grid.bits);
      return;
    }
    secagg::Session session{.round = round,
                            .model = Hash().values(view(model)).digest(),
                            .plan = plan_,
                            .length = length(),
                            .bits = rules.grid.bits,
                            .settings = rules.session_settings()};
    std::vector<secagg::Secret> keys;
    for (const ClientId client : ascending) {
      keys.push_back(derived(rules.signing_keys, "", "client " + std::to_string(client)));
      session.cohort.push_back({client, secagg::verifying_key(keys.back())});
    }
    rehearsal_ = std::make_unique<secagg::Rehearsal>(std::move(session), std::move(keys), when_, secagg::Secret(new_secret_key()),
                                                     for_each_piece);
  } catch (const Error& error) {
    end(error.what());
  }
}

SecureSum::SecureSum(const SecureRules& rules, std::uint32_t round, std::size_t size)
    : rules_(rules), round_(round), size_(size), ring_(length(), rules.grid.bits) {}

std::size_t SecureSum::length() const { return rules_.noise ? rules_.noise->length() : size_ + part_length(rules_); }

// The round number is reported separately, so the reason omits it.
void SecureSum::end(const std::string& why) { ended_ = without_round(why, round_); }

std::string SecureSum::objection(ClientId client, std::span<const float> change) const {
  if (!ended_.empty()) return ended_;
  if (const auto stage = static_cast<std::size_t>(leaves(client)); stage < std::size(kLeftBefore))
    return "it dropped out before " + std::string(kLeftBefore[stage]) + " arrived";
  if (!rules_.noise && !rules_.grid.admits(change))
    return "its update has an entry outside the range of secure-grid, " + number_text(rules_.grid.range);
  return {};
}

// The sum is bit-identical with and without masks, since each client draws its own noise.
void SecureSum::add_share(std::span<const float> change, ClientId client) {
  std::vector<std::int64_t> encoded(rules_.noise->length());
  rules_.noise->encode(change, rules_.draws, rules_.own, round_, client, encoded);
  std::unique_lock lock(mutex_, std::defer_lock);
  Ring own(rehearsal_ ? encoded.size() : 0, rules_.grid.bits);
  if (!rehearsal_) lock.lock();
  Ring& ring = rehearsal_ ? own : ring_;
  std::array<__int128, 1024> piece;
  for (std::size_t first = 0; first < encoded.size(); first += piece.size()) {
    const std::size_t count = std::min(piece.size(), encoded.size() - first);
    std::copy_n(encoded.begin() + static_cast<std::ptrdiff_t>(first), count, piece.begin());
    ring.add(first, std::span(piece).first(count));
  }
  if (rehearsal_) return rehearsal_->add(client, std::move(own));
  added_.push_back(leaves(client));
}

void SecureSum::add(std::span<const float> change, std::uint64_t weight, const ClientReport& report, double square) {
  if (rules_.noise) return add_share(change, report.client);
  Ring own(rehearsal_ ? length() : 0, rules_.grid.bits);
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!rehearsal_) lock.lock();
  Ring& ring = rehearsal_ ? own : ring_;
  std::array<__int128, 1024> rounded;
  for (std::size_t first = 0; first < size_; first += rounded.size()) {
    const auto piece = std::span(rounded).first(std::min(rounded.size(), size_ - first));
    const Address address{Purpose::secure_rounding, round_, report.client, 0, static_cast<std::uint32_t>(first / rounded.size())};
    rules_.grid.round(change.subspan(first, piece.size()), weight, rules_.draws.at(address), piece);
    ring.add(first, piece);
  }
  add_part(secure_part_of(rules_, report, weight, square), size_, ring);
  if (rehearsal_) return rehearsal_->add(report.client, std::move(own));
  added_.push_back(leaves(report.client));
}

RoundTotals SecureSum::finish(ExactSum& sum, ForEachPiece for_each_piece) {
  if (ended_.empty()) try {
      if (rehearsal_) {
        ring_ = rehearsal_->sum(for_each_piece);
      } else {
        enough(added_, Leaves::before_input, "sent a masked input");
        enough(added_, Leaves::before_signature, "signed the list of survivors");
        const auto give = std::ranges::count_if(added_, [](Leaves one) { return one > Leaves::before_unmasking; });
        if (give < static_cast<std::ptrdiff_t>(plan_.threshold))
          throw failure(counted(static_cast<std::uint64_t>(give), "client") + " gave shares; secure aggregation needs " +
                        std::to_string(plan_.threshold));
      }
    } catch (const Error& error) {
      end(error.what());
    }
  if (!ended_.empty()) return {.sums = {.loss = kUnknown}};
  const std::span<__int128> integers = sum.integers();
  if (rules_.noise) {
    std::vector<double> steps(ring_.size());
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<double>(ring_.at(i));
    const Vector decoded = rules_.noise->decode(steps, rules_.draws, round_);
    for (std::size_t i = 0; i < size_; ++i)
      integers[i] += static_cast<__int128>(std::nearbyint(static_cast<double>(decoded[i]) * ExactSum::kScale));
    sum.add_weight(rehearsal_ ? rehearsal_->included().size() : clients_ > 0 ? clients_ : added_.size());
    return {.sums = {.loss = kUnknown}, .is_told = false};
  }
  std::array<__int128, 1024> values;
  for (std::size_t first = 0; first < size_; first += values.size()) {
    const auto piece = std::span(values).first(std::min(values.size(), size_ - first));
    ring_.get(first, piece);
    for (std::size_t i = 0; i < piece.size(); ++i)
      integers[first + i] += piece[i] * (static_cast<__int128>(1) << rules_.grid.shift());
  }
  const SecurePart part = read_part(rules_, ring_, size_);
  const std::uint64_t weight = part.counts.front();
  sum.add_weight(weight);
  RoundTotals round;
  auto total = part.totals.begin();
  auto count = part.counts.begin() + 1;
  for_each_secured(round.sums, [&]<class Number>(Number& number) {
    if constexpr (std::is_integral_v<Number>)
      number = static_cast<Number>(*count++);
    else
      number = (total++)->value();
  });
  const double losses = (total++)->value();
  round.sums.loss = *count > 0 ? losses / static_cast<double>(*count) : kUnknown;
  if (rules_.lengths && weight > 0) round.mean_square = total->value() / static_cast<double>(weight);
  return round;
}

}  // namespace fedstride
