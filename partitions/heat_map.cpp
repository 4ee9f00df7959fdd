#include "partitions/manifest.hpp"

#include <algorithm>
#include <numeric>

namespace fedstride {
namespace {

using Counts = std::vector<std::size_t>;

constexpr std::size_t kColumns = 80;
constexpr std::size_t kMargin = 18;    // client number and size: "  client       rows"
constexpr std::size_t kWithCount = 6;  // up to five digits, then the shade
constexpr std::size_t kMaxShownClients = 40;
constexpr std::size_t kShownOfMany = 20;

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// "classes: 0 airplane, 1 automobile, ...", in lines of at most kColumns unless a name is longer.
std::string numbered(std::span<const std::string> names) {
  std::string text, line = "classes:";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string entry = " " + std::to_string(i) + " " + names[i] + (i + 1 < names.size() ? "," : "");
    if (characters(line) + characters(entry) > kColumns) {
      text += line + '\n';
      line = std::string(8, ' ');
    }
    line += entry;
  }
  return text + line + '\n';
}

const char* shade(std::size_t count, std::size_t largest) {
  if (count == 0) return "·";
  constexpr const char* kShades[] = {"░", "▒", "▓", "█"};
  return kShades[std::min<std::size_t>(3, (4 * count - 1) / largest)];
}

// Sums over groups of `group` neighboring classes.
Counts grouped(const Counts& counts, std::size_t group) {
  Counts cells((counts.size() + group - 1) / group, 0);
  for (std::size_t label = 0; label < counts.size(); ++label) cells[label / group] += counts[label];
  return cells;
}

std::string cell(std::size_t count, std::size_t largest, std::size_t width) {
  std::string text;
  if (width == kWithCount && largest < 100000)
    return padded(count > 0 ? std::to_string(count) : "", width - 1) + shade(count, largest);
  for (std::size_t i = 0; i + (width > 1 ? 1 : 0) < width; ++i) text += shade(count, largest);
  return text + (width > 1 ? " " : "");
}

std::string quantiles(const char* what, Counts values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t quarter) { return std::to_string(values[(values.size() - 1) * quarter / 4]); };
  return std::string(what) + ": min " + at(0) + ", quartiles " + at(1) + ", " + at(2) + ", " + at(3) + ", max " + at(4) + "\n";
}

}  // namespace

std::string heat_map(const std::vector<Counts>& rows_per_class, std::span<const std::string> class_names) {
  if (rows_per_class.empty() || rows_per_class.front().empty()) return {};
  const std::size_t classes = rows_per_class.front().size();
  const std::size_t group = (classes + kColumns - kMargin - 1) / (kColumns - kMargin);
  const std::size_t cells = (classes + group - 1) / group;
  const std::size_t width = std::min(kWithCount, (kColumns - kMargin) / cells);
  const std::size_t clients = rows_per_class.size();

  std::size_t largest = 1;
  Counts sizes, held;
  for (const Counts& counts : rows_per_class) {
    const Counts sums = grouped(counts, group);
    largest = std::max(largest, *std::max_element(sums.begin(), sums.end()));
    sizes.push_back(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    held.push_back(counts.size() - static_cast<std::size_t>(std::count(counts.begin(), counts.end(), std::size_t{0})));
  }

  // Names head the columns if all fit; otherwise, numbers do, and a list above the table gives the names.
  const bool has_columns = width >= 4;
  const bool fits =
      class_names.size() >= cells && std::ranges::all_of(class_names, [&](const auto& name) { return characters(name) < width; });
  std::string text = has_columns && !fits && !class_names.empty() ? numbered(class_names) : "";
  text += padded("client", 6) + padded("rows", kMargin - 8) + "  ";
  if (has_columns) {
    for (std::size_t i = 0; i < cells; ++i) {
      const std::string head = fits ? class_names[i] : std::to_string(i);
      text += std::string(width - 1 - characters(head), ' ') + head + " ";
    }
  } else {
    text += "classes 0 to " + std::to_string(classes - 1);
    if (group > 1) text += ", " + std::to_string(group) + " per cell";
  }
  text += '\n';
  const std::size_t shown = clients > kMaxShownClients ? kShownOfMany : clients;
  for (std::size_t client = 0; client < shown; ++client) {
    text += padded(std::to_string(client), 6) + padded(std::to_string(sizes[client]), kMargin - 8) + "  ";
    for (const std::size_t count : grouped(rows_per_class[client], group)) text += cell(count, largest, width);
    text += '\n';
  }
  if (shown == clients) return text;
  text += "  ... and " + std::to_string(clients - shown) + " more clients\n";
  text += quantiles("rows per client", std::move(sizes));
  return text + quantiles("classes per client", std::move(held));
}

}  // namespace fedstride
