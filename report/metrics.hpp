#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fedstride {

/// A metric as it stands at an axis or over a column: words and unit. One that is not known: its name with spaces.
std::string metric_label(std::string_view metric);

/// Its words alone, as they begin a title: "Test accuracy".
std::string title_of_metric(std::string_view metric);

/// A swept key likewise.
std::string key_label(std::string_view key);

/// Whether the metric is a share of a whole, from 0 to 1.
bool is_share(std::string_view metric);

/// Whether no value below 0 makes sense.
bool is_never_negative(std::string_view metric);

/// The number that the whole text is, or nothing.
std::optional<double> number_of(std::string_view text);

/// A value of a key as part of a line's name: "adadp", "random-fraction 0.33".
std::string value_label(const std::string& key, const std::string& value);

}  // namespace fedstride
