#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fedstride {

/// Returns a metric's label for an axis or a column, with its unit; for an unknown metric, its name with spaces.
std::string metric_label(std::string_view metric);

/// Returns the label without its unit, for the start of a title: "Test accuracy".
std::string title_of_metric(std::string_view metric);

/// Returns a swept key's label.
std::string key_label(std::string_view key);

/// True if the metric is a share, from 0 to 1.
bool is_share(std::string_view metric);

/// True if the metric cannot be below 0.
bool is_never_negative(std::string_view metric);

/// Returns the text as a number; empty unless the whole text is a number.
std::optional<double> number_of(std::string_view text);

/// Returns a key's value as part of a line's name: "adadp", "random-fraction 0.33".
std::string value_label(const std::string& key, const std::string& value);

}  // namespace fedstride
