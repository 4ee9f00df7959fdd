#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/chart.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// A figure on the page: one or more plots with a title and a caption.
struct Figure {
  std::string kind;
  std::string title;
  std::string caption;
  std::vector<Plot> plots = {};  ///< if empty, the caption states the reason
};

/// A sweep's summary rows by metric. The results must outlive it.
class FigureData {
 public:
  using Rows = std::vector<const SummaryRow*>;
  using Point = std::vector<std::pair<std::string, std::string>>;

  explicit FigureData(const SweepResults& results);

  const SweepResults& results() const { return *results_; }
  const Rows& rows(std::string_view metric) const;
  std::vector<std::string> metrics() const;
  bool has_rounds(std::string_view metric) const;   ///< has the metric after two or more rounds of one configuration
  bool has_clients(std::string_view metric) const;  ///< has the metric for any client other than 0
  /// Returns a key's values in the finished configurations, in the order of the configurations.
  std::vector<std::string> values(std::string_view key) const;
  /// Returns the swept keys except the seed, in the order of the axes. numeric_keys() returns those that have at least two
  /// values, all numeric.
  const std::vector<std::string>& keys() const { return keys_; }
  std::vector<std::string> numeric_keys() const;
  bool is_tuned(std::string_view key) const;

 private:
  const SweepResults* results_;
  std::map<std::string, Rows, std::less<>> rows_;
  std::vector<std::string> keys_;
};

/// Returns the value of a key at a point of the grid; "" if missing.
std::string value_at(const FigureData::Point& point, std::string_view key);

/// Returns the main measure of models in the results: accuracy or R2 on test rows or, failing that, on validation rows; test
/// accuracy if the results have neither.
std::string main_metric(const FigureData& data);

/// True if a configuration has a tuned key, and so competes with configurations that differ only in tuned keys.
bool competes(const Tuning& tuning, const FigureData::Point& point);

/// One kind of figure. If the experiment file requests no figures, each request that `requests` returns is drawn or, if
/// `requests` is null, a single figure if `is_usual` returns true.
struct FigureKind {
  std::string_view name;
  bool (*is_usual)(const FigureData& data);
  Figure (*draw)(const FigureData& data, const FigureRequest& request);
  std::vector<FigureRequest> (*requests)(const FigureData& data) = nullptr;
};

/// Returns all kinds, in page order.
std::span<const FigureKind> figure_kinds();

/// Returns the figures requested by the experiment file, or else the default figures. Throws Error (usage) for an unknown kind or
/// key.
std::vector<Figure> figures_of(const SweepResults& results);

// The functions that draw each kind.
Figure draw_by_round(const FigureData& data, const FigureRequest& request);
Figure draw_by_key(const FigureData& data, const FigureRequest& request);
Figure draw_lines(const FigureData& data, const FigureRequest& request);
Figure draw_by_epsilon(const FigureData& data, const FigureRequest& request);
Figure draw_epsilon(const FigureData& data, const FigureRequest& request);
Figure draw_clients(const FigureData& data, const FigureRequest& request);
Figure draw_client_spread(const FigureData& data, const FigureRequest& request);
Figure draw_partition(const FigureData& data, const FigureRequest& request);
Figure draw_time(const FigureData& data, const FigureRequest& request);

}  // namespace fedstride
