#include "server/cohorts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <numeric>

#include "core/elementary.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "secagg/plan.hpp"
#include "server/balls_in_bins_cohort.hpp"

namespace fedstride {
namespace {

/// A line of a trace: the client is available in rounds `from` to `to`.
struct TracePresence {
  ClientId client = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};
using Trace = std::vector<TracePresence>;

Trace read_trace(const std::string& path) {
  if (path.empty()) throw usage_error("cohort is 'trace', which needs a file; set --trace");
  constexpr std::uint64_t kMaxTraceBytes = std::uint64_t{1} << 30;
  const std::string text = read_text_file(path, kMaxTraceBytes);
  Trace trace;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const auto wrong = [&](const std::string& what) {
      return usage_error("trace '" + path + "', line " + std::to_string(number) + ": " + what);
    };
    if (number == 1) {
      if (line != "client,from,to") throw wrong("'" + std::string(line) + "'; the first line must be client,from,to");
      continue;
    }
    const auto columns = split(line, ',');
    std::int64_t client = 0, from = 0, to = 0;
    if (columns.size() != 3 || !parse_number(std::string(columns[0]), client) || !parse_number(std::string(columns[1]), from) ||
        !parse_number(std::string(columns[2]), to))
      throw wrong("'" + std::string(line) + "'; it must be three whole numbers, as in 3,1,20");
    constexpr std::int64_t kMost = 0xFFFFFFFF;
    if (client < 0 || client > kMost || from < 1 || to < from || to > kMost)
      throw wrong("'" + std::string(line) +
                  "'; clients are numbered from 0 and rounds from 1, and the last round must not precede the first");
    trace.push_back({static_cast<ClientId>(client), static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)});
  }
  if (trace.empty()) throw usage_error("trace '" + path + "' lists no clients; it must have at least one");
  return trace;
}

/// Returns the trace in this file, which is read once for all rounds.
std::shared_ptr<const Trace> trace_of(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Trace>> known;
  const std::lock_guard lock(mutex);
  auto& trace = known[path];
  if (trace == nullptr) trace = std::make_shared<const Trace>(read_trace(path));
  return trace;
}

}  // namespace

std::vector<ClientId> all_clients(std::size_t clients) {
  std::vector<ClientId> everyone(clients);
  std::iota(everyone.begin(), everyone.end(), ClientId{0});
  return everyone;
}

std::size_t fewest_drawn(std::size_t clients, double rate) {
  if (rate >= 1) return clients;
  const double n = static_cast<double>(clients);
  const auto term = [](double a, double b) { return a > 0 ? a * portable::log(a / b) : 0; };
  const auto is_unlikely = [&](std::size_t k) {
    const double share = static_cast<double>(k) / n;
    return share < rate && n * (term(share, rate) + term(1 - share, 1 - rate)) >= -secagg::kLog2Failure * std::numbers::ln2;
  };
  std::size_t least = 0, beyond = clients;  // k is unlikely below `least`, but not at `beyond`
  while (least < beyond) {
    const std::size_t middle = least + (beyond - least) / 2;
    if (is_unlikely(middle))
      least = middle + 1;
    else
      beyond = middle;
  }
  return least;
}

std::size_t CohortSize::size_among(std::size_t clients) const {
  if (static_cast<std::size_t>(cohort_size) > clients)
    throw usage_error("cohort-size is " + std::to_string(cohort_size) + "; it must be at most the number of clients, " +
                      std::to_string(clients));
  return static_cast<std::size_t>(cohort_size);
}

std::vector<ClientId> draw_by_size(const CohortQuestion& question, std::size_t count) {
  std::vector<std::pair<double, ClientId>> keys;
  keys.reserve(question.clients());
  for (ClientId client = 0; client < question.clients(); ++client) {
    if (question.rows[client] == 0) continue;
    RandomStream random = question.source.at({.purpose = Purpose::cohort, .round = question.round, .client = client});
    keys.emplace_back(portable::log(1 - random.uniform()) / static_cast<double>(question.rows[client]), client);
  }
  count = std::min(count, keys.size());
  std::ranges::partial_sort(keys, keys.begin() + static_cast<std::ptrdiff_t>(count), [](const auto& a, const auto& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  });
  std::vector<ClientId> drawn;
  for (std::size_t i = 0; i < count; ++i) drawn.push_back(keys[i].second);
  std::ranges::sort(drawn);
  return drawn;
}

std::vector<ClientId> RoundRobinCohort::sample(const CohortQuestion& question) const {
  const std::uint64_t clients = question.clients();
  const std::uint64_t first = (question.round - 1) % clients * size(clients) % clients;
  std::vector<ClientId> turn;
  for (std::uint64_t i = 0; i < size(clients); ++i) turn.push_back(static_cast<ClientId>((first + i) % clients));
  std::ranges::sort(turn);
  return turn;
}

std::vector<ClientId> PowerOfChoiceCohort::sample(const CohortQuestion& question) const {
  std::vector<ClientId> chosen = draw_by_size(question, static_cast<std::size_t>(std::max(candidates, cohort_size)));
  const auto loss = [&](ClientId client) {
    const double told = client < question.losses.size() ? question.losses[client] : NAN;
    return std::isnan(told) ? HUGE_VAL : told;
  };
  std::ranges::stable_sort(chosen, std::greater{}, loss);
  chosen.resize(std::min(chosen.size(), size(question.clients())));
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<ClientId> TraceCohort::sample(const CohortQuestion& question) const {
  std::vector<ClientId> there;
  for (const TracePresence& presence : *trace_of(trace))
    if (presence.from <= question.round && question.round <= presence.to) there.push_back(presence.client);
  std::ranges::sort(there);
  there.erase(std::unique(there.begin(), there.end()), there.end());
  if (at_most == 0) return there;
  std::vector<ClientId> drawn;
  draw_without_replacement(question.source, {Purpose::cohort, question.round}, static_cast<std::size_t>(at_most), there, drawn);
  return drawn;
}

std::string TraceCohort::file_hash(std::size_t clients) const {
  Hash hash;
  for (const TracePresence& presence : *trace_of(trace))
    if (presence.client >= clients)
      throw usage_error("trace '" + trace + "' lists client " + std::to_string(presence.client) + "; clients are numbered 0 to " +
                        std::to_string(clients - 1));
  for (const TracePresence& presence : *trace_of(trace)) hash.value(presence.client).value(presence.from).value(presence.to);
  return hash.hex();
}

PartFamily& CohortPart::family() {
  static PartFamily family = [] {
    PartFamily all("cohort", "which clients take part in a round", Question::federation, Shown::often);
    add_parts<CohortPart, AllClients, PoissonCohort, FixedCohort, SizeCohort, RoundRobinCohort, PowerOfChoiceCohort, TraceCohort,
              BinsCohort>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride
