#include <algorithm>
#include <map>
#include <set>

#include "report/metrics.hpp"
#include "report/samples.hpp"

// Figures over rounds: accuracy and loss, clients, epsilon, accuracy by epsilon spent.

namespace fedstride {
namespace {

// A round is an epoch if its only client goes over its data once.
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

Figure nothing(const FigureRequest& request, const std::string& title, const std::string& what) {
  return {.kind = request.kind,
          .title = title,
          .caption = "Nothing to draw yet: no finished cell that is asked for has " + what + "."};
}

std::string title_or(const FigureRequest& request, const std::string& title) {
  return request.title.empty() ? title : request.title;
}

std::string accuracy_metric(const FigureData& data) {
  return data.rows("test_accuracy").empty() && !data.rows("validation_accuracy").empty() ? "validation_accuracy"
                                                                                         : "test_accuracy";
}

Sample by_round(const SummaryRow& row, const std::string& label) {
  const std::string round = std::to_string(*row.round);
  return {
      .row = &row, .x = static_cast<double>(*row.round), .slot = round, .identity = {}, .text = point_text(row, label, round)};
}

// True if values are so far apart that a linear axis would hide the small ones.
bool spans_decades(const std::vector<Sample>& samples) {
  const auto [least, most] = std::ranges::minmax(samples, {}, [](const Sample& sample) { return sample.row->mean; });
  return least.row->mean > 0 && most.row->mean / least.row->mean >= 30;
}

Plot round_plot(const std::string& label, const std::string& metric, const FigureRequest& request) {
  Plot plot{.x_label = label,
            .y_label = metric_label(metric),
            .log_x = request.log_x.value_or(false),
            .log_y = request.log_y.value_or(false)};
  if (is_never_negative(metric)) plot.least = 0;
  if (is_share(metric)) plot.most = 1;
  return plot;
}

}  // namespace

Figure draw_by_round(const FigureData& data, const FigureRequest& request) {
  std::string metric = request.y;
  if (metric.empty()) metric = accuracy_metric(data);
  if (metric == "test_accuracy" && request.kind == "loss-by-round")
    metric = data.rows("test_loss").empty() && !data.rows("validation_loss").empty() ? "validation_loss" : "test_loss";
  const std::string label = round_label(data), title = title_or(request, title_of_metric(metric) + " by round");
  std::vector<Sample> samples;
  for (const SummaryRow* row : data.rows(metric)) {
    if (!row->round || row->client || !is_wanted(*row, request, false)) continue;
    samples.push_back(by_round(*row, label));
    samples.back().identity = identity_of(data, *row, request, {});
  }
  if (samples.empty()) return nothing(request, title, metric + " by round");
  const Plot model = round_plot(label, metric, request);
  std::string caption = caption_of(data, samples, model, true);
  auto plots = plots_of(data, samples, request, model, {}, caption);
  return {.kind = request.kind, .title = title, .caption = caption, .plots = std::move(plots)};
}

Figure draw_clients(const FigureData& data, const FigureRequest& request) {
  const bool is_rate = request.kind == "step-sizes";
  const std::string metric = !request.y.empty() ? request.y : is_rate ? "learning_rate" : "rejected_share";
  const std::string label = round_label(data), title = title_or(request, title_of_metric(metric) + " of each client by round");
  std::vector<Sample> samples;
  std::set<std::uint32_t> left_out;
  std::map<std::string_view, std::set<double>> rates;
  for (const SummaryRow* row : data.rows(metric)) {
    if (!row->round || !row->client || !is_wanted(*row, request, false)) continue;
    rates[row->configuration].insert(row->mean);
    if (*row->client >= kMaxLines) {
      left_out.insert(*row->client);
      continue;
    }
    samples.push_back(by_round(*row, label));
    samples.back().identity = identity_of(data, *row, request, {});
    samples.back().identity.emplace_back("client", std::to_string(*row->client));
  }
  // Constant rates are drawn only on request.
  if (request.where.empty())
    std::erase_if(samples, [&](const Sample& sample) { return rates.at(sample.row->configuration).size() < 2; });
  if (samples.empty()) return nothing(request, title, metric + " of clients that changes");
  Plot model = round_plot(label, metric, request);
  if (is_rate && !request.log_y) model.log_y = spans_decades(samples);
  model.shows_intervals = false;
  std::string caption = caption_of(data, samples, model, true);
  if (!left_out.empty())
    caption +=
        " Clients 0 to " + std::to_string(kMaxLines - 1) + "; " + std::to_string(left_out.size()) + " more are in clients.csv.";
  std::vector<std::string> panels = data.keys();
  panels.push_back("place");
  auto plots = plots_of(data, samples, request, model, panels, caption);
  return {.kind = request.kind, .title = title, .caption = caption, .plots = std::move(plots)};
}

Figure draw_client_spread(const FigureData& data, const FigureRequest& request) {
  constexpr std::pair<const char*, const char*> kParts[] = {{"own_accuracy_p90", "90th percentile"},
                                                            {"own_accuracy_p50", "median"},
                                                            {"own_accuracy_p10", "10th percentile"},
                                                            {"own_accuracy_worst_tenth", "mean of the worst tenth"}};
  const std::string label = round_label(data);
  const std::string title = title_or(request, "accuracy of clients on their own rows by round");
  std::vector<Sample> samples;
  for (const auto& [metric, name] : kParts)
    for (const SummaryRow* row : data.rows(metric)) {
      if (!row->round || row->client || !is_wanted(*row, request, false)) continue;
      samples.push_back(by_round(*row, label));
      samples.back().identity = identity_of(data, *row, request, {});
      samples.back().identity.emplace_back("of clients", name);
    }
  if (samples.empty()) return nothing(request, title, "accuracy of clients on rows of their own");
  Plot model = round_plot(label, "own_accuracy", request);
  model.shows_intervals = false;
  std::string caption = caption_of(data, samples, model, true);
  std::vector<std::string> panels = data.keys();
  panels.push_back("place");
  auto plots = plots_of(data, samples, request, model, panels, caption);
  return {.kind = request.kind, .title = title, .caption = caption, .plots = std::move(plots)};
}

namespace {

// "epsilon_by_tight": tight; "client_epsilon_by_rdp": rdp (clients).
std::string accountant_of(std::string_view metric) {
  const bool of_client = metric.starts_with("client_");
  if (of_client) metric.remove_prefix(7);
  constexpr std::string_view start = "epsilon_by_";
  if (!metric.starts_with(start)) return {};
  std::string name(metric.substr(start.size()));
  std::ranges::replace(name, '_', '-');
  return name + (of_client ? " (of a client)" : "");
}

std::string delta_text(const FigureData& data) {
  std::set<std::string> deltas;
  for (const char* metric : {"delta_spent", "client_delta_spent"})
    for (const SummaryRow* row : data.rows(metric))
      if (!row->client) deltas.insert(number_text(row->mean));
  return deltas.size() == 1 ? " At delta " + *deltas.begin() + "." : "";
}

std::string whose(const FigureData& data) {
  const bool seeded = std::ranges::any_of(data.results().cells, [](const CellResult& cell) {
    const auto found = cell.texts.find("randomness");
    return cell.status == "finished" && (found == cell.texts.end() || found->second != "secret");
  });
  return std::string(seeded ? " Epsilon is that of the mechanism, if the seed were secret." : "") +
         " What was chosen by looking at the data is not charged to it.";
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
  const std::string label = round_label(data), title = title_or(request, "Epsilon by round, by accountant");
  std::map<std::string_view, std::vector<Sample>> of;  // by configuration
  std::vector<std::string_view> order;
  auto metrics = data.metrics();
  if (!request.y.empty()) metrics = {request.y};
  std::erase_if(metrics, [&](const std::string& metric) { return request.y.empty() && accountant_of(metric).empty(); });
  if (metrics.empty()) metrics = {spent_metric(data)};
  for (const auto& metric : metrics)
    for (const SummaryRow* row : data.rows(metric)) {
      if (!row->round || row->client || !is_wanted(*row, request, false)) continue;
      auto& samples = of[row->configuration];
      if (samples.empty()) order.push_back(row->configuration);
      samples.push_back(by_round(*row, label));
      samples.back().identity = identity_of(data, *row, request, {});
      samples.back().identity.emplace_back("accountant", accountant_of(metric));
    }
  // Configurations with equal spending share a picture.
  std::vector<Sample> samples;
  std::set<std::vector<std::pair<double, double>>> seen;
  for (const auto configuration : order) {
    std::vector<std::pair<double, double>> curve;
    for (const auto& sample : of[configuration]) curve.emplace_back(sample.x, sample.row->mean);
    if (seen.insert(curve).second) samples.insert(samples.end(), of[configuration].begin(), of[configuration].end());
  }
  if (samples.empty()) return nothing(request, title, "an epsilon by round");
  Plot model = round_plot(label, samples.front().row->metric, request);
  model.y_label = "epsilon";
  if (!request.log_y) model.log_y = spans_decades(samples);
  std::string caption = caption_of(data, samples, model, true) + delta_text(data) + whose(data);
  if (seen.size() < order.size()) caption += " Configurations that spend the same are drawn once.";
  std::vector<std::string> panels;
  if (metrics.size() > 1) panels = data.keys();
  auto plots = plots_of(data, samples, request, model, panels, caption);
  return {.kind = request.kind, .title = title, .caption = caption, .plots = std::move(plots)};
}

Figure draw_by_epsilon(const FigureData& data, const FigureRequest& request) {
  const std::string y = request.y.empty() ? accuracy_metric(data) : request.y;
  const std::string x = request.x.empty() ? spent_metric(data) : request.x;
  const std::string title = title_or(request, title_of_metric(y) + " by epsilon");
  std::map<std::pair<std::string_view, std::uint32_t>, const SummaryRow*> spent;
  for (const SummaryRow* row : data.rows(x))
    if (!row->client) spent[{row->configuration, row->round.value_or(0)}] = row;
  std::vector<Sample> by_rounds, last;
  std::map<std::string_view, int> lengths;
  for (const SummaryRow* row : data.rows(y)) {
    const auto found = spent.find({row->configuration, row->round.value_or(0)});
    if (row->client || found == spent.end() || !is_wanted(*row, request, false)) continue;
    const std::string value = number_text(found->second->mean);
    auto& samples = row->round ? by_rounds : last;
    samples.push_back(
        {.row = row,
         .x = found->second->mean,
         .slot = std::to_string(row->round.value_or(0)),
         .identity = identity_of(data, *row, request, {}),
         .text = point_text(*row, metric_label(x), value) + (row->round ? "\nround " + std::to_string(*row->round) : "")});
    if (row->round) ++lengths[row->configuration];
  }
  const auto& samples = by_rounds.empty() ? last : by_rounds;
  if (samples.empty()) return nothing(request, title, y + " and " + x);
  Plot model = round_plot(metric_label(x), y, request);
  std::string caption = (by_rounds.empty() ? "After the last round. " : "Each line is a run on its way. ") +
                        caption_of(data, samples, model, true) + delta_text(data) + whose(data);
  auto plots = plots_of(data, samples, request, model, {}, caption);
  return {.kind = request.kind, .title = title, .caption = caption, .plots = std::move(plots)};
}

}  // namespace fedstride
