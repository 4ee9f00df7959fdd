#include <algorithm>
#include <map>
#include <set>

#include "sweep/report/metrics.hpp"
#include "sweep/report/samples.hpp"

// Figures plotted by round (metrics of the model and of clients, epsilon), and accuracy by epsilon.

namespace fedstride {
namespace {

// Returns "round", or "round (one epoch each)" if a single client passes over its data once per round.
std::string round_label(const FigureData& data) {
  const auto& settings = data.results().experiment.settings;
  const auto is_one = [&](const char* key, bool absent) {
    const auto found = settings.find(key);
    if (std::ranges::find(data.keys(), key) != data.keys().end()) return false;
    if (found == settings.end()) return absent;
    const auto* whole = std::get_if<std::int64_t>(&found->second.value);
    const auto* text = std::get_if<std::string>(&found->second.value);
    return (whole != nullptr && *whole == 1) || (text != nullptr && *text == "1");
  };
  return is_one("clients", false) && is_one("local-epochs", true) ? "round (one epoch each)" : "round";
}

// The x axis of figures over rounds.
class RoundAxis {
 public:
  RoundAxis(const FigureData& data, const FigureRequest& request)
      : data_(data), request_(request), by_(request.by.value_or(data.results().experiment.by)), words_(cost_words(by_)) {
    if (by_ == Cost::rounds) return;
    for (const SummaryRow* row : data.rows(words_.metric))
      if (row->round && !row->client) at_[{row->configuration, *row->round}] = row->mean;
  }

  std::string label() const { return by_ == Cost::rounds ? round_label(data_) : std::string(words_.axis); }
  std::string title(const std::string& what) const { return what + " by " + std::string(words_.title); }

  // Appends a sample for a round's row unless the run's cost up to that round is unknown. Adds `key` and `value`, if given, to
  // the line's identity.
  void add(std::vector<Sample>& samples, const SummaryRow& row, const char* key = nullptr, const std::string& value = {}) const {
    const std::string round = std::to_string(*row.round);
    Sample sample{.row = &row,
                  .x = static_cast<double>(*row.round),
                  .slot = round,
                  .identity = identity_of(data_, row, request_, {}),
                  .text = {}};
    std::string text = round;
    if (by_ != Cost::rounds) {
      const auto found = at_.find({row.configuration, *row.round});
      if (found == at_.end()) return;
      sample.x = found->second;
      text = number_text(sample.x) + " (round " + round + ")";
    }
    sample.text = point_text(row, label(), text);
    if (key != nullptr) sample.identity.emplace_back(key, value);
    samples.push_back(std::move(sample));
  }

 private:
  const FigureData& data_;
  const FigureRequest& request_;
  Cost by_;
  CostWords words_;
  std::map<std::pair<std::string_view, std::uint32_t>, double> at_ = {};
};

bool is_of_round(const SummaryRow& row, const FigureRequest& request) {
  return row.round && !row.client && is_wanted(row, request, false);
}

bool needs_log(const std::vector<Sample>& samples) {
  std::vector<double> values;
  for (const auto& sample : samples) values.push_back(sample.row->mean);
  return spans_decades(values);
}

// Returns all keys and "rank"; split by them, a figure has one panel per configuration.
std::vector<std::string> each_configuration(const FigureData& data) {
  std::vector<std::string> keys = data.keys();
  keys.push_back("rank");
  return keys;
}

}  // namespace

Figure draw_by_round(const FigureData& data, const FigureRequest& request) {
  std::string metric = request.y;
  if (metric.empty()) metric = main_metric(data);
  if (metric == main_metric(data) && request.kind == "loss-by-round")
    metric = data.rows("test_loss").empty() && !data.rows("validation_loss").empty() ? "validation_loss" : "test_loss";
  const RoundAxis axis(data, request);
  FigureDraft draft{.title = axis.title(title_of_metric(metric)),
                    .missing = metric + " by round",
                    .model = metric_plot(axis.label(), metric, request)};
  for (const SummaryRow* row : data.rows(metric))
    if (is_of_round(*row, request)) axis.add(draft.samples, *row);
  return figure_of(data, request, std::move(draft));
}

Figure draw_clients(const FigureData& data, const FigureRequest& request) {
  const bool is_rate = request.kind == "step-sizes";
  const std::string metric = !request.y.empty() ? request.y : is_rate ? "learning_rate" : "rejected_share";
  const RoundAxis axis(data, request);
  FigureDraft draft{.title = axis.title(title_of_metric(metric) + " of each client"),
                    .missing = metric + " that varies by client or round",
                    .model = metric_plot(axis.label(), metric, request),
                    .panel_keys = each_configuration(data)};
  std::set<std::uint32_t> left_out;
  std::map<std::string_view, std::set<double>> rates;
  for (const SummaryRow* row : data.rows(metric)) {
    if (!row->round || !row->client || !is_wanted(*row, request, false)) continue;
    rates[row->configuration].insert(row->mean);
    if (*row->client < kMaxLines)
      axis.add(draft.samples, *row, "client", std::to_string(*row->client));
    else
      left_out.insert(*row->client);
  }
  // Configurations whose values never change are drawn only on request.
  if (request.where.empty())
    std::erase_if(draft.samples, [&](const Sample& sample) { return rates.at(sample.row->configuration).size() < 2; });
  if (is_rate && !request.log_y && !draft.samples.empty()) draft.model.log_y = needs_log(draft.samples);
  draft.model.shows_intervals = false;
  if (!left_out.empty())
    draft.after =
        " Clients 0 to " + std::to_string(kMaxLines - 1) + "; " + std::to_string(left_out.size()) + " more are in clients.csv.";
  return figure_of(data, request, std::move(draft));
}

Figure draw_client_spread(const FigureData& data, const FigureRequest& request) {
  constexpr std::pair<const char*, const char*> kParts[] = {
      {"_p90", "90th percentile"}, {"_p50", "median"}, {"_p10", "10th percentile"}, {"_worst_tenth", "mean of the worst tenth"}};
  const std::string own = data.rows("own_r2_p50").empty() ? "own_accuracy" : "own_r2";
  const RoundAxis axis(data, request);
  FigureDraft draft{.title = axis.title("Clients' " + std::string(own == "own_r2" ? "R2" : "accuracy") + " on their own rows"),
                    .missing = "accuracy of clients on their own rows",
                    .model = metric_plot(axis.label(), own, request),
                    .panel_keys = each_configuration(data)};
  for (const auto& [end, name] : kParts)
    for (const SummaryRow* row : data.rows(own + end))
      if (is_of_round(*row, request)) axis.add(draft.samples, *row, "statistic", name);
  draft.model.shows_intervals = false;
  return figure_of(data, request, std::move(draft));
}

namespace {

// Returns "tight" for "epsilon_by_tight", and "rdp (client level)" for "client_epsilon_by_rdp".
std::string accountant_of(std::string_view metric) {
  const bool of_client = metric.starts_with("client_");
  if (of_client) metric.remove_prefix(7);
  constexpr std::string_view start = "epsilon_by_";
  if (!metric.starts_with(start)) return {};
  std::string name(metric.substr(start.size()));
  std::ranges::replace(name, '_', '-');
  return name + (of_client ? " (client level)" : "");
}

std::string delta_text(const FigureData& data) {
  std::set<std::string> deltas;
  for (const char* metric : {"delta_spent", "client_delta_spent"})
    for (const SummaryRow* row : data.rows(metric))
      if (!row->client) deltas.insert(number_text(row->mean));
  return deltas.size() == 1 ? " At delta " + *deltas.begin() + "." : "";
}

std::string epsilon_caveats(const FigureData& data) {
  const bool seeded = std::ranges::any_of(data.results().cells, [](const CellResult& cell) {
    return cell.status == "finished" && cell.text("randomness") != "secret";
  });
  return std::string(seeded ? " Epsilon is that of the mechanism with a secret seed." : "") +
         " The cost of choices made on the data is not included.";
}

std::string spent_metric(const FigureData& data) {
  for (const char* metric : {"epsilon_spent", "client_epsilon_spent"})
    if (!data.rows(metric).empty()) return metric;
  for (const auto& metric : data.metrics())
    if (!accountant_of(metric).empty()) return metric;
  return "epsilon_spent";
}

}  // namespace

Figure draw_epsilon(const FigureData& data, const FigureRequest& request) {
  const RoundAxis axis(data, request);
  std::map<std::string_view, std::vector<Sample>> of;  // keyed by configuration
  std::vector<std::string_view> order;
  auto metrics = data.metrics();
  if (!request.y.empty()) metrics = {request.y};
  std::erase_if(metrics, [&](const std::string& metric) { return request.y.empty() && accountant_of(metric).empty(); });
  if (metrics.empty()) metrics = {spent_metric(data)};
  for (const auto& metric : metrics)
    for (const SummaryRow* row : data.rows(metric)) {
      if (!is_of_round(*row, request)) continue;
      auto& samples = of[row->configuration];
      if (samples.empty()) order.push_back(row->configuration);
      axis.add(samples, *row, "accountant", accountant_of(metric));
    }
  FigureDraft draft{.title = axis.title("Epsilon") + ", by accountant", .missing = "an epsilon by round"};
  // Configurations with equal spending are drawn once.
  std::set<std::vector<std::pair<double, double>>> seen;
  for (const auto configuration : order) {
    std::vector<std::pair<double, double>> curve;
    for (const auto& sample : of[configuration]) curve.emplace_back(sample.x, sample.row->mean);
    if (seen.insert(curve).second) draft.samples.insert(draft.samples.end(), of[configuration].begin(), of[configuration].end());
  }
  if (!draft.samples.empty()) {
    draft.model = metric_plot(axis.label(), draft.samples.front().row->metric, request);
    draft.model.y_label = "epsilon";
    if (!request.log_y) draft.model.log_y = needs_log(draft.samples);
  }
  draft.after = delta_text(data) + epsilon_caveats(data);
  if (seen.size() < order.size()) draft.after += " Configurations with equal spending are drawn once.";
  if (metrics.size() > 1) draft.panel_keys = data.keys();
  return figure_of(data, request, std::move(draft));
}

Figure draw_by_epsilon(const FigureData& data, const FigureRequest& request) {
  const std::string y = request.y.empty() ? main_metric(data) : request.y;
  const std::string x = request.x.empty() ? spent_metric(data) : request.x;
  std::map<std::pair<std::string_view, std::uint32_t>, const SummaryRow*> spent;
  for (const SummaryRow* row : data.rows(x))
    if (!row->client) spent[{row->configuration, row->round.value_or(0)}] = row;
  std::vector<Sample> by_rounds, last;
  for (const SummaryRow* row : data.rows(y)) {
    const auto found = spent.find({row->configuration, row->round.value_or(0)});
    if (row->client || found == spent.end() || !is_wanted(*row, request, false)) continue;
    const std::string round = row->round ? "\nround " + std::to_string(*row->round) : "";
    (row->round ? by_rounds : last)
        .push_back({.row = row,
                    .x = found->second->mean,
                    .slot = std::to_string(row->round.value_or(0)),
                    .identity = identity_of(data, *row, request, {}),
                    .text = point_text(*row, metric_label(x), number_text(found->second->mean)) + round});
  }
  return figure_of(data, request,
                   {.title = title_of_metric(y) + " by epsilon",
                    .missing = y + " and " + x,
                    .samples = by_rounds.empty() ? last : by_rounds,
                    .model = metric_plot(metric_label(x), y, request),
                    .before = by_rounds.empty() ? "After the last round. " : "Each line follows a run over its rounds. ",
                    .after = delta_text(data) + epsilon_caveats(data)});
}

}  // namespace fedstride
