#include "sim/time/work.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "core/json.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

struct DeviceColumn {
  std::string name;
  std::vector<double> values = {};  // ascending
};

constexpr double kPercentiles[] = {0, 10, 50, 90, 100};

double percentile(const DeviceColumn& column, double percent) {
  return column.values[static_cast<std::size_t>(std::llround(percent / 100 * static_cast<double>(column.values.size() - 1)))];
}

double mean_of(const DeviceColumn& column) {
  double sum = 0;
  for (const double value : column.values) sum += value;
  return sum / static_cast<double>(column.values.size());
}

std::vector<DeviceColumn> device_columns(const TimeTerms& terms) {
  constexpr std::size_t kMostShown = 100'000;
  const std::size_t count = std::min(terms.clients, kMostShown);
  std::vector<DeviceColumn> columns{{"example_seconds"}, {"download_seconds"}, {"upload_seconds"}, {"task_seconds"}};
  for (std::size_t i = 0; i < count; ++i) {
    const auto client = static_cast<ClientId>(i * terms.clients / count);
    const Device device = terms.device(client);
    columns[0].values.push_back(device.example_seconds);
    columns[1].values.push_back(device.latency +
                                (device.download > 0 ? static_cast<double>(terms.traffic.down) / device.download : 0));
    columns[2].values.push_back(device.latency + (device.upload > 0 ? static_cast<double>(terms.traffic.up) / device.upload : 0));
    columns[3].values.push_back(seconds_of(terms.length(client, 1)));
  }
  for (DeviceColumn& column : columns) std::ranges::sort(column.values);
  return columns;
}

std::string fields(const std::vector<std::string>& words) {
  std::string line;
  char field[32];
  for (const std::string& word : words) {
    std::snprintf(field, sizeof field, line.empty() ? "%-18s" : "%12s", word.c_str());
    line += field;
  }
  return line + "\n";
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

}  // namespace

std::string devices_text(const TimeTerms& terms) {
  const auto columns = device_columns(terms);
  std::string text = fields({"seconds", "mean", "minimum", "10 %", "median", "90 %", "maximum"});
  for (const DeviceColumn& column : columns) {
    std::vector<std::string> words{column.name, short_number(mean_of(column))};
    for (const double percent : kPercentiles) words.push_back(short_number(percentile(column, percent)));
    text += fields(words);
  }
  // Counts clients by the length of a task, in bins of equal width up to the 99th percentile; the last bin is open-ended.
  constexpr std::size_t kBars = 12;
  constexpr std::size_t kWidest = 50;
  const DeviceColumn& task = columns.back();
  const double least = task.values.front();
  const double width = (percentile(task, 99) - least) / kBars;
  if (width > 0) {
    std::vector<std::size_t> counts(kBars);
    for (const double value : task.values) ++counts[std::min(kBars - 1, static_cast<std::size_t>((value - least) / width))];
    text += "\nclients by task_seconds: start of range, count\n";
    for (std::size_t bar = 0; bar < kBars; ++bar) {
      const std::size_t size = counts[bar] * kWidest / std::ranges::max(counts);
      char line[64];
      std::snprintf(line, sizeof line, "%12s %8zu ", short_number(least + width * static_cast<double>(bar)).c_str(), counts[bar]);
      text += line + std::string(size, '#') + "\n";
    }
  }
  return text + "\na client receives " + std::to_string(terms.traffic.down) + " bytes per task and sends " +
         std::to_string(terms.traffic.up) + "; training on one example takes " + short_number(terms.flops) + " operations\n";
}

std::string devices_json(const TimeTerms& terms) {
  Json json;
  json["clients"] = terms.clients;
  json["download_bytes"] = terms.traffic.down;
  json["upload_bytes"] = terms.traffic.up;
  json["example_flops"] = terms.flops;
  for (const DeviceColumn& column : device_columns(terms)) {
    Json& one = json[column.name];
    one["mean"] = mean_of(column);
    for (const double percent : kPercentiles) one["p" + number_text(percent)] = percentile(column, percent);
  }
  return dump_json(json, 2) + "\n";
}

}  // namespace fedstride
