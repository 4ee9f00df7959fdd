#include "partitions/heat_map.hpp"

#include <algorithm>
#include <numeric>

namespace fedstride {
namespace {

using Counts = std::vector<std::size_t>;

constexpr std::size_t kColumns = 80;
constexpr std::size_t kMargin = 18;    // client number and size: "  client       rows"
constexpr std::size_t kWithCount = 6;  // shade, then up to five digits
constexpr std::size_t kMaxShownClients = 40;
constexpr std::size_t kShownOfMany = 20;

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

// The first `width` characters, right-aligned: UTF-8, never cut inside one.
std::string shortened(const std::string& text, std::size_t width) {
  std::size_t end = 0;
  std::size_t characters = 0;
  for (; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (begins && characters == width) break;
    characters += begins ? 1 : 0;
  }
  return std::string(width - characters, ' ') + text.substr(0, end);
}

const char* shade(std::size_t count, std::size_t largest) {
  if (count == 0) return "·";
  constexpr const char* kShades[] = {"░", "▒", "▓", "█"};
  return kShades[std::min<std::size_t>(3, (4 * count - 1) / largest)];
}

// Sums of `group` neighbouring classes.
Counts grouped(const Counts& counts, std::size_t group) {
  Counts cells((counts.size() + group - 1) / group, 0);
  for (std::size_t label = 0; label < counts.size(); ++label) cells[label / group] += counts[label];
  return cells;
}

std::string cell(std::size_t count, std::size_t largest, std::size_t width) {
  std::string text;
  if (width == kWithCount && largest < 100000)
    return shade(count, largest) + padded(count > 0 ? std::to_string(count) : "", width - 1);
  for (std::size_t i = 0; i + (width > 1 ? 1 : 0) < width; ++i) text += shade(count, largest);
  return text + (width > 1 ? " " : "");
}

std::string quantiles(const char* what, Counts values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t quarter) { return std::to_string(values[(values.size() - 1) * quarter / 4]); };
  return std::string(what) + ": least " + at(0) + ", quartiles " + at(1) + ", " + at(2) + ", " + at(3) + ", most " + at(4) + "\n";
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

  std::string text = padded("client", 6) + padded("rows", kMargin - 8) + "  ";
  if (width >= 4) {
    for (std::size_t i = 0; i < cells; ++i)
      text += shortened(i < class_names.size() ? class_names[i] : std::to_string(i), width - 1) + " ";
  } else {
    text += "classes 0 to " + std::to_string(classes - 1);
    if (group > 1) text += ", " + std::to_string(group) + " a cell";
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
  text += quantiles("rows a client", std::move(sizes));
  return text + quantiles("classes a client", std::move(held));
}

}  // namespace fedstride
