#include "report/figures.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "report/metrics.hpp"

namespace fedstride {
namespace {

using Requests = std::vector<FigureRequest>;

Requests once_if(bool wanted, const char* kind) { return wanted ? Requests{{.kind = kind}} : Requests{}; }

bool has_accuracy_rounds(const FigureData& data) {
  return data.has_rounds("test_accuracy") || data.has_rounds("validation_accuracy");
}

Requests each_key(const FigureData& data) {
  Requests requests;
  if (data.rows("test_accuracy").empty() && data.rows("validation_accuracy").empty()) return requests;
  const bool has_rates = !data.rows("test_accuracy").empty();  // then they have their own figure
  for (const auto& key : data.numeric_keys())
    if (!data.is_tuned(key) && !(has_rates && key == "learning-rate")) requests.push_back({.kind = "accuracy-by-key", .x = key});
  return requests;
}

// Commands other than run have no default figures: every number is drawn against every key, up to kMaxDefaultFigures.
Requests each_metric(const FigureData& data) {
  constexpr std::size_t kMaxDefaultFigures = 6;
  Requests requests;
  if (data.results().experiment.command == "run") return requests;
  for (const auto& key : data.numeric_keys())
    for (const auto& metric : data.metrics())
      if (requests.size() < kMaxDefaultFigures && metric != key) requests.push_back({.kind = "lines", .x = key, .y = metric});
  return requests;
}

bool is_tuned_by_number(const FigureData& data) {
  return std::ranges::any_of(data.numeric_keys(),
                             [&](const std::string& key) { return data.is_tuned(key) || key == "learning-rate"; });
}

bool varies_by_client(const FigureData& data, const char* metric) {
  std::map<std::string_view, double> first;
  for (const SummaryRow* row : data.rows(metric))
    if (row->round && row->client)
      if (const auto [known, is_new] = first.try_emplace(row->configuration, row->mean); !is_new && known->second != row->mean)
        return true;
  return false;
}

// True if rejected steps are known for more than one client, or more than one round.
bool has_rejected_steps(const FigureData& data) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> points;
  bool any = false;
  for (const SummaryRow* row : data.rows("rejected_share")) {
    if (!row->round || !row->client) continue;
    points.emplace(*row->round, *row->client);
    any = any || row->mean > 0;
  }
  return any && points.size() > 1;
}

bool is_private(const FigureData& data) {
  const auto metrics = data.metrics();
  return std::ranges::any_of(metrics, [](const std::string& metric) {
    return metric == "epsilon_spent" || metric == "client_epsilon_spent" || metric.find("epsilon_by_") != std::string::npos;
  });
}

constexpr FigureKind kKinds[] = {
    {"accuracy-by-round", [](const FigureData& data) { return once_if(has_accuracy_rounds(data), "accuracy-by-round"); },
     draw_by_round},
    {"loss-by-round",
     [](const FigureData& data) {
       return once_if(data.has_rounds("test_loss") || data.has_rounds("validation_loss"), "loss-by-round");
     },
     draw_by_round},
    {"accuracy-by-key", each_key, draw_by_key},
    {"accuracy-by-rate",
     [](const FigureData& data) {
       return once_if(!data.rows("test_accuracy").empty() && is_tuned_by_number(data), "accuracy-by-rate");
     },
     draw_by_key},
    {"step-sizes", [](const FigureData& data) { return once_if(varies_by_client(data, "learning_rate"), "step-sizes"); },
     draw_clients},
    {"client-spread", [](const FigureData& data) { return once_if(data.has_rounds("own_accuracy_p50"), "client-spread"); },
     draw_client_spread},
    {"rejected-share", [](const FigureData& data) { return once_if(has_rejected_steps(data), "rejected-share"); }, draw_clients},
    {"epsilon-by-round", [](const FigureData& data) { return once_if(is_private(data), "epsilon-by-round"); }, draw_epsilon},
    {"accuracy-by-epsilon", [](const FigureData& data) { return once_if(is_private(data), "accuracy-by-epsilon"); },
     draw_by_epsilon},
    {"lines", each_metric, draw_lines},
    {"partition", [](const FigureData& data) { return once_if(data.has_clients("rows_of_class_0"), "partition"); },
     draw_partition},
    {"time",
     [](const FigureData& data) {
       return once_if(
           std::ranges::any_of(data.results().cells, [](const CellResult& cell) { return cell.numbers.contains("seconds"); }),
           "time");
     },
     draw_time},
};

}  // namespace

std::span<const FigureKind> figure_kinds() { return kKinds; }

std::vector<Figure> figures_of(const SweepResults& results) {
  const FigureData data(results);
  Requests requests = results.experiment.figures;
  if (requests.empty())
    for (const auto& kind : kKinds)
      for (auto& request : kind.automatic(data)) requests.push_back(std::move(request));
  std::vector<Figure> figures;
  for (const auto& request : requests) {
    const auto kind = std::ranges::find(kKinds, request.kind, &FigureKind::name);
    if (kind == std::end(kKinds)) {
      std::vector<std::string> names;
      for (const auto& known : kKinds) names.emplace_back(known.name);
      throw usage_error(unknown_name("kind of [[figure]]", request.kind, names));
    }
    figures.push_back(kind->draw(data, request));
  }
  return figures;
}

}  // namespace fedstride
