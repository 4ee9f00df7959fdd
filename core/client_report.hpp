#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace fedstride {

using ClientId = std::uint32_t;  ///< 0, 1, ...; user-facing text also counts from 0

/// Consecutive identical noisy releases: `count` clipped sums, each with noise of standard deviation noise_multiplier x clip.
struct ReleaseRun {
  double noise_multiplier = 0;
  double clip = 0;
  std::uint64_t count = 0;
  bool operator==(const ReleaseRun&) const = default;
};

/// A mean training loss above this counts as divergence and is not reported, because one client's loss could mask all others in
/// the mean. (An untrained model has a loss of about ln(classes).)
inline constexpr double kMaxLoss = 1e6;
/// The largest learning rate or gradient norm that a report may state: larger values would overflow the weights, which are
/// floats.
inline constexpr double kMaxRate = std::numeric_limits<float>::max();
/// A sum of statistics above this is not pooled: it must include squared differences of gradients that overflow floats.
inline constexpr double kMaxStatistic = 1e200;

/// A client's report on its training; kReportFields describes its members. No privacy guarantee covers the report.
struct ClientReport {
  ClientId client = 0;
  std::uint64_t rows = 0;
  std::uint64_t examples = 0;  ///< in all batches the optimizer requested, excluding those of personal models
  double loss = 0;             ///< mean over batches, at weights the optimizer held (ADADP: excluding half steps)
  double learning_rate = 0;    ///< for mean gradients
  std::uint64_t steps = 0;
  std::uint64_t rejected = 0;             ///< accepted = steps - rejected
  std::vector<ReleaseRun> releases = {};  ///< charged to the client
  std::uint64_t empty_lots = 0;
  std::uint64_t nonfinite = 0;
  double gradient_norm = 0;  ///< NaN: none
  double clipped_share = 0;  ///< NaN: none
  double statistic = 0;
  std::uint64_t statistics = 0;
  double alignment = 0;
  std::uint64_t pairs = 0;
  double measure = 0;  ///< see ObjectiveScale::measure
  double within = 0;   ///< noisy sum, as released: 1/2 per gradient within the bound and -1/2 per other one (BoundPart::counts)
  double expected = 0;
  std::uint64_t personal_examples = 0;  ///< 0: the personal model was not tested
  std::uint64_t personal_correct = 0;
  double personal_loss = 0;   ///< NaN: diverged
  double update_norm = 0;     ///< NaN: not finite
  double change_norm = 0;     ///< see SumRules::measured
  std::uint64_t payload = 0;  ///< 0: nothing was sent
  std::string failure = {};   ///< empty if the update is in the sum
};

/// Rules for a member of ClientReport.
enum class ReportRule : unsigned {
  sent = 0,        ///< by clients; applies to every member that is not `measured`
  measured = 1,    ///< by the party that sums the updates
  pooled = 2,      ///< used by the server; an impossible value becomes 0 (without this rule, a double becomes NaN)
  negative = 4,    ///< may be negative
  shown = 8,       ///< written to the clients' entries in rounds.jsonl
  with_lots = 16,  ///< like `shown`, but only under example-level privacy
  with_test = 32,  ///< like `shown`, but only if the personal model was tested
  covered = 64,    ///< follows from releases and public facts, if only examples are protected
  summed = 128,    ///< the round reports the sum over its clients
  averaged = 256,  ///< the round reports the mean over its clients
  secured = 512,   ///< under secure aggregation, sent as part of the clients' sum
  open = 1024,     ///< under secure aggregation, still sent in the report; members without `secured` or `open` are not sent
};
constexpr ReportRule operator|(ReportRule a, ReportRule b) {
  return static_cast<ReportRule>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// Describes a member of ClientReport. Messages, checks, result lines, tables and sums are derived from kReportFields.
template <class Value>
struct ReportField {
  static constexpr bool kIsNumber = std::is_arithmetic_v<Value>;

  std::string_view name;  ///< in messages and results
  Value ClientReport::*member;
  std::string_view text;  ///< "meaning (unit, details)", for documents and figures
  ReportRule rules = ReportRule::sent;
  double most = std::numeric_limits<double>::infinity();  ///< end of the range, which starts at 0 or, if `negative`, at -most
  /// The count that limits this member. The member is at most that count unless `most` is given, and 0 if the count is 0. Null:
  /// none.
  std::uint64_t ClientReport::*of = nullptr;
  std::string_view of_round = {};  ///< its name in the round's numbers; empty: the same name

  constexpr bool is(ReportRule rule) const { return (static_cast<unsigned>(rules) & static_cast<unsigned>(rule)) != 0; }
  /// The name of the corresponding number of the round; empty: none.
  constexpr std::string_view of_round_name() const {
    return !is(ReportRule::summed | ReportRule::averaged) ? "" : of_round.empty() ? name : of_round;
  }
  /// True if the member can be summed over clients: a count, or a number that the server pools.
  constexpr bool adds_up() const { return std::is_same_v<Value, std::uint64_t> || (kIsNumber && is(ReportRule::pooled)); }
  /// The replacement for a double that is impossible or unknown.
  constexpr double unknown() const { return is(ReportRule::pooled) ? 0 : std::numeric_limits<double>::quiet_NaN(); }
};
template <class Value, class... Rules>
ReportField(std::string_view, Value ClientReport::*, std::string_view, Rules...) -> ReportField<Value>;

inline constexpr auto kReportFields = [] {
  using enum ReportRule;
  using R = ClientReport;
  constexpr double kAll = std::numeric_limits<double>::infinity();
  return std::tuple{
      ReportField{"client", &R::client, "the sender", shown | covered | open},
      ReportField{"rows", &R::rows, "rows (in the roster)", shown | covered | open},
      ReportField{"examples", &R::examples, "gradient examples", shown | secured},
      ReportField{"loss", &R::loss, "training loss (mean, nats per example)", shown | secured, kMaxLoss},
      ReportField{"learning_rate", &R::learning_rate, "learning rate (next step)", shown | covered | averaged, kMaxRate},
      ReportField{"steps", &R::steps, "steps", shown | covered | summed | secured},
      ReportField{"rejected", &R::rejected, "steps undone", shown | covered | summed | secured, kAll, &R::steps,
                  "rejected_steps"},
      ReportField{"releases", &R::releases, "noisy releases (in order)", with_lots | covered | open},
      ReportField{"empty_lots", &R::empty_lots, "releases of noise alone", with_lots | open},
      ReportField{"nonfinite", &R::nonfinite, "examples left out", with_lots, kAll, &R::examples},
      ReportField{"gradient_norm", &R::gradient_norm, "gradient norm (mean over examples, before clipping)", with_lots | averaged,
                  kMaxRate},
      ReportField{"clipped_share", &R::clipped_share, "share of clipped gradients", with_lots | averaged, 1},
      ReportField{"statistic", &R::statistic, "sum the server pools (usually 0)", pooled | secured, kMaxStatistic,
                  &R::statistics},
      ReportField{"statistics", &R::statistics, "steps in that sum", secured, kAll, &R::steps},
      ReportField{"alignment", &R::alignment, "same, for pairs of steps", pooled | secured, kAll, &R::pairs},
      ReportField{"pairs", &R::pairs, "pairs in that sum", secured, kAll, &R::steps},
      ReportField{"measure", &R::measure, "averaged by the server (nova, fair; else 0)", pooled, kMaxRate},
      ReportField{"within", &R::within, "noisy count of gradients within the bound (+-1/2 each)", pooled | negative, kMaxRate},
      ReportField{"expected", &R::expected, "expected number of gradients", pooled, kMaxRate},
      ReportField{"personal_examples", &R::personal_examples, "test rows of the personal model", sent},
      ReportField{"personal_correct", &R::personal_correct, "correct among these", sent, kAll, &R::personal_examples},
      ReportField{"personal_loss", &R::personal_loss, "loss on these (mean)", with_test, kMaxLoss, &R::personal_examples},
      ReportField{"update_norm", &R::update_norm, "norm of the update (as received)", measured | shown | averaged},
      ReportField{"change_norm", &R::change_norm, "norm of the part that changes the model", measured},
      ReportField{"payload", &R::payload, "bytes of its numbers on a network", measured},
      ReportField{"failure", &R::failure, "why the update is not in the sum", measured | shown | open}};
}();

/// Calls visit(field) for every member, in order.
constexpr void for_each_report_field(auto&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, kReportFields);
}
/// Calls visit(field) for every numeric member.
constexpr void for_each_report_number(auto&& visit) {
  for_each_report_field([&]<class Field>(const Field& field) {
    if constexpr (Field::kIsNumber) visit(field);
  });
}

/// A round's sums over its clients.
struct RoundTotals {
  ClientReport sums = {};   ///< sum_of(their reports); if secured, only the `secured` members, over updates in the sum
  double mean_square = 0;   ///< mean_square_norm; if secured, only with SecureRules::lengths
  bool is_secured = false;  ///< true under secure aggregation, in which reports lack these numbers
  bool is_told = true;      ///< false: clients do not send these numbers, because no noise protects them
};

/// Bytes in a round's frames: models and training requests sent to clients, and updates received from them.
struct RoundBytes {
  std::uint64_t downlink = 0;
  std::uint64_t uplink = 0;
  std::uint64_t wasted = 0;  ///< the part of both for clients whose update is in no sum
};

/// A number that a part reports for a round, for rounds.jsonl and `fedstride explain`.
struct NamedNumber {
  std::string_view name;
  double value = 0;
};

}  // namespace fedstride
