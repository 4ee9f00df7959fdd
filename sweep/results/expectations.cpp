#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <tuple>

#include "core/text.hpp"
#include "sweep/results/results.hpp"
#include "sweep/results/summary.hpp"

namespace fedstride {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// The reason why a claim cannot be checked.
struct NotRun {
  std::string why;
};

std::string short_number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

struct Value {
  double number = 0;
  std::string chosen = {};  ///< with `pick`, text that names the chosen configuration by its values
};

class Checker {
 public:
  Checker(const Experiment& experiment, const std::vector<CellResult>& cells, const std::vector<SummaryRow>& summary)
      : experiment_(experiment), configurations_(by_configuration(cells)) {
    for (const SummaryRow& row : summary) rows_[{row.configuration, row.metric, row.client}][row.round] = row.mean;
  }

  ExpectationResult result(const Expectation& expectation) const {
    ExpectationResult result{.expectation = expectation, .status = {}, .value = kNoNumber, .other = kNoNumber, .text = {}};
    try {
      if (expectation.scale != "both" && expectation.scale != experiment_.scale)
        throw NotRun{"checked at scale '" + expectation.scale + "' only; this is '" + experiment_.scale + "'"};
      const Value value = evaluate(expectation.value);
      const Value other = expectation.other ? evaluate(*expectation.other) : Value{expectation.number.value_or(kNoNumber)};
      result.value = value.number;
      result.other = other.number;
      result.status = holds(expectation, value.number, other.number) ? "holds" : "fails";
      result.text = said(value) + " against " + said(other);
    } catch (const NotRun& not_run) {
      result.status = "not run";
      result.text = not_run.why;
    }
    return result;
  }

 private:
  static std::string said(const Value& value) {
    return short_number(value.number) + (value.chosen.empty() ? "" : " (" + value.chosen + ")");
  }

  static bool holds(const Expectation& expectation, double value, double other) {
    if (expectation.relation == "above") return value > other + expectation.margin;
    if (expectation.relation == "below") return value < other - expectation.margin;
    constexpr double kDecimal = 1 + 1e-9;  // 1.265 is within 0.005 of 1.26, though not in binary
    return std::abs(value - other) <= expectation.within * kDecimal;
  }

  Value evaluate(const ResultQuantity& quantity) const {
    Value value = single(quantity);
    for (const ResultQuantity& minus : quantity.minus) value.number -= evaluate(minus).number;
    for (const ResultQuantity& over : quantity.over) {
      const double divisor = evaluate(over).number;
      if (divisor == 0) throw NotRun{"cannot divide by " + over.metric + ", which is 0"};
      value.number /= divisor;
    }
    return value;
  }

  // Returns the cells that `where` selects, by configuration. All must be finished: the best of only the finished cells would be
  // a different claim.
  std::vector<Seeds> selected(const ResultQuantity& quantity) const {
    std::vector<Seeds> left;
    std::vector<const CellResult*> missing;
    for (const Seeds& seeds : configurations_) {
      Seeds some;
      for (const CellResult* cell : seeds) {
        const bool matches = std::ranges::all_of(quantity.where, [&](const auto& condition) {
          return same_value(cell->cell.value_of(condition.first), condition.second);
        });
        if (!matches) continue;
        some.push_back(cell);
        if (cell->status != "finished") missing.push_back(cell);
      }
      if (!some.empty()) left.push_back(std::move(some));
    }
    if (left.empty()) throw NotRun{"no cell has " + where_text(quantity)};
    if (!missing.empty()) {
      std::string text = counted(missing.size(), "cell") + (missing.size() == 1 ? " is missing: " : " are missing: ");
      constexpr std::size_t kMaxNamed = 3;
      for (std::size_t i = 0; i < std::min(missing.size(), kMaxNamed); ++i)
        text += (i == 0 ? "" : "; ") + point_text(missing[i]->cell) + " (" + missing[i]->status + ")";
      throw NotRun{text + (missing.size() > kMaxNamed ? "; ..." : "")};
    }
    return left;
  }

  static std::string where_text(const ResultQuantity& quantity) {
    return point_text(Cell{.point = {quantity.where.begin(), quantity.where.end()}});
  }

  double number_of(const ResultQuantity& quantity, const Seeds& seeds) const {
    // The mean over only the seeds that reached the target would be too low.
    if (const auto never = std::ranges::count_if(seeds, [&](const CellResult* cell) {
          return is_to_target(quantity.metric) && !cell->numbers.contains(quantity.metric);
        }))
      throw NotRun{std::to_string(never) + " of " + counted(seeds.size(), "seed") + " have no " + quantity.metric + ", for " +
                   point_text(seedless(seeds.front()->cell)) + ": they never reached the target"};
    const auto found = rows_.find({seeds.front()->cell.configuration, quantity.metric, quantity.client});
    if (found != rows_.end())
      if (const auto at = found->second.find(quantity.round); at != found->second.end()) return at->second;
    const std::string after = quantity.round ? " after round " + std::to_string(*quantity.round) : "";
    const std::string of = quantity.client ? " of client " + std::to_string(*quantity.client) : "";
    throw NotRun{"no " + quantity.metric + of + after + " for " + point_text(seedless(seeds.front()->cell))};
  }

  static Cell seedless(const Cell& cell) {
    Cell result{.point = cell.point};
    std::erase_if(result.point, [](const auto& part) { return part.first == "seed"; });
    return result;
  }

  Value single(const ResultQuantity& quantity) const {
    const std::vector<Seeds> left = selected(quantity);
    if (quantity.pick == "mean") {
      double sum = 0;
      for (const Seeds& seeds : left) sum += number_of(quantity, seeds);
      return {sum / static_cast<double>(left.size())};
    }
    if (quantity.pick.empty() && left.size() > 1)
      throw NotRun{where_text(quantity) + " matches " + std::to_string(left.size()) + " configurations; set pick to choose one"};
    const Seeds& chosen = left[place_of(quantity, left)];
    Value value{number_of(quantity, chosen)};
    if (left.size() > 1)
      for (const auto& [key, text] : chosen.front()->cell.point)
        if (key != "seed" && !quantity.where.contains(key))
          value.chosen += (value.chosen.empty() ? quantity.pick + ": " : ", ") + key + " " + text;
    return value;
  }

  // Returns the configurations whose results decide the pick among `left`: `left` itself, or its counterparts at pick_where.
  std::vector<Seeds> judged(const ResultQuantity& quantity, const std::vector<Seeds>& left) const {
    if (quantity.pick_where.empty()) return left;
    ResultQuantity at = quantity;
    for (const auto& [key, value] : quantity.pick_where) at.where[key] = value;
    const std::vector<Seeds> candidates = selected(at);
    std::vector<Seeds> judges;
    for (const Seeds& seeds : left) {
      Cell wanted = seedless(seeds.front()->cell);
      for (auto& [key, value] : wanted.point)
        if (const auto other = quantity.pick_where.find(key); other != quantity.pick_where.end()) value = other->second;
      const auto found = std::ranges::find_if(candidates, [&](const Seeds& candidate) {
        const Cell cell = seedless(candidate.front()->cell);
        return std::ranges::equal(cell.point, wanted.point, [](const auto& a, const auto& b) {
          return a.first == b.first && same_value(a.second, b.second);
        });
      });
      if (found == candidates.end()) throw NotRun{"cannot pick: no cell has " + point_text(wanted)};
      judges.push_back(*found);
    }
    return judges;
  }

  std::size_t place_of(const ResultQuantity& quantity, const std::vector<Seeds>& left) const {
    if (quantity.pick.empty()) return 0;
    const std::vector<Seeds> judges = judged(quantity, left);
    if (quantity.pick == "lowest" || quantity.pick == "highest") {
      std::vector<double> numbers;
      numbers.reserve(judges.size());
      for (const Seeds& seeds : judges) numbers.push_back(number_of(quantity, seeds));
      const auto at = quantity.pick == "lowest" ? std::ranges::min_element(numbers) : std::ranges::max_element(numbers);
      return static_cast<std::size_t>(at - numbers.begin());
    }
    const auto order = ordered(experiment_.tuning, judges);
    if (order.size() < judges.size())
      throw NotRun{"cannot pick: " + std::to_string(judges.size() - order.size()) + " of " + std::to_string(judges.size()) +
                   " configurations have no " + experiment_.tuning.metric_name()};
    if (quantity.pick == "worst") return order.back();
    if (quantity.pick == "best") return order.front();
    if (order.size() < 2) throw NotRun{where_text(quantity) + " matches one configuration, so there is no second"};
    return order[1];
  }

  const Experiment& experiment_;
  std::vector<Seeds> configurations_;
  std::map<std::tuple<std::string, std::string, std::optional<std::uint32_t>>, std::map<std::optional<std::uint32_t>, double>>
      rows_;  ///< by configuration, metric and client, then by round
};

}  // namespace

std::vector<ExpectationResult> check(const Experiment& experiment, const std::vector<CellResult>& cells,
                                     const std::vector<SummaryRow>& summary) {
  const Checker checker(experiment, cells, summary);
  std::vector<ExpectationResult> results;
  for (const Expectation& expectation : experiment.expectations) results.push_back(checker.result(expectation));
  return results;
}

}  // namespace fedstride
