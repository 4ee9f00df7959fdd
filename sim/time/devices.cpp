#include "sim/time/devices.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/elementary.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "sim/time/clock.hpp"
#include "sim/time/number_table.hpp"

namespace fedstride {

Nanoseconds nanoseconds(double seconds, const std::string& what) {
  constexpr double kMostSeconds = 1e8;
  if (!(seconds >= 0 && seconds <= kMostSeconds))
    throw usage_error(what + " has a time of " + number_text(seconds) + " seconds; it must be from 0 to 1e8");
  return std::llround(seconds * 1e9);
}

Nanoseconds later(Nanoseconds time, Nanoseconds span) {
  if (time == kNever || span == kNever) return kNever;
  Nanoseconds sum = 0;
  if (__builtin_add_overflow(time, span, &sum)) throw failure("the run's virtual time exceeds 292 years");
  return sum;
}

double ExponentialDevices::factor(RandomStream& random) const { return -portable::log(1 - random.uniform()); }
double LognormalDevices::factor(RandomStream& random) const { return portable::exp(device_sigma * random.normal()); }
double HalfNormalDevices::factor(RandomStream& random) const { return std::abs(random.normal()); }

double TierDevices::factor(RandomStream& random) const {
  const auto words = split(tier_factors, ',');
  const std::string_view drawn = words[static_cast<std::size_t>(random.below(words.size()))];
  double factor = 0;
  for (const std::string_view word : words) {
    double value = 0;
    if (!parse_number(trimmed(word), value) || !std::isfinite(value) || value <= 0)
      throw usage_error("tier-factors is '" + tier_factors + "'; it must be a comma-separated list of numbers above 0");
    if (word.data() == drawn.data()) factor = value;
  }
  return factor;
}

namespace {

// A column that a table may have, with its unit.
struct TableUnit {
  std::string_view column;
  double Device::*member;
  double scale;  // factor to the member's unit; 0: a speed, inverted to seconds
};
constexpr TableUnit kTableUnits[] = {{"seconds_per_example", &Device::example_seconds, 1},
                                     {"milliseconds_per_example", &Device::example_seconds, 1e-3},
                                     {"inference_milliseconds_per_example", &Device::example_seconds, 3e-3},
                                     {"gigaflops", &Device::example_seconds, 0},
                                     {"upload_megabits", &Device::upload, 1e6 / 8},
                                     {"upload_kilobits", &Device::upload, 1e3 / 8},
                                     {"upload_bytes", &Device::upload, 1},
                                     {"download_megabits", &Device::download, 1e6 / 8},
                                     {"download_kilobits", &Device::download, 1e3 / 8},
                                     {"download_bytes", &Device::download, 1},
                                     {"latency_seconds", &Device::latency, 1},
                                     {"latency_milliseconds", &Device::latency, 1e-3}};

struct DeviceTable {
  std::vector<Device> devices = {};
  bool is_by_client = false;
  bool has_flops = false;  // `example_seconds` holds gigaflops
  std::string hash = {};
};

DeviceTable read_device_table(const std::string& path) {
  if (path.empty()) throw usage_error("devices is 'table', which needs a file; set --device-table");
  std::vector<std::string> known{"client"};
  for (const TableUnit& unit : kTableUnits) known.emplace_back(unit.column);
  const NumberTable read = read_number_table("device-table", path, known);
  const auto wrong = [&](const std::string& what) { return usage_error("device-table '" + path + "' " + what); };
  DeviceTable table;
  std::vector<const TableUnit*> units;
  bool has_speed = false;
  for (const std::string& column : read.columns) {
    const auto* unit = std::ranges::find(kTableUnits, column, &TableUnit::column);
    units.push_back(unit == std::end(kTableUnits) ? nullptr : unit);
    if (units.back() == nullptr) {
      table.is_by_client = true;
    } else {
      const auto same = std::ranges::find_if(
          units, [&](const TableUnit* one) { return one != nullptr && one != unit && one->member == unit->member; });
      if (same != units.end())
        throw wrong("has columns '" + std::string((*same)->column) + "' and '" + column + "', which give the same quantity");
      has_speed |= unit->member == &Device::example_seconds;
      table.has_flops |= unit->scale == 0;
    }
  }
  if (!has_speed)
    throw wrong(
        "has no speed column; valid: seconds_per_example, milliseconds_per_example, inference_milliseconds_per_example, "
        "gigaflops");
  std::vector<bool> filled;
  Hash hash;
  for (const auto& line : read.lines) {
    Device device;
    double client = static_cast<double>(table.devices.size());
    for (std::size_t i = 0; i < line.size(); ++i) {
      hash.value(line[i]);
      if (units[i] == nullptr) {
        client = line[i];
      } else if (units[i]->scale == 0) {
        if (line[i] == 0) throw wrong("has 0 gigaflops; a speed must be above 0");
        device.example_seconds = line[i];
      } else {
        device.*(units[i]->member) = line[i] * units[i]->scale;
      }
    }
    if (client != std::floor(client) || client > 1e7)
      throw wrong("has client " + number_text(client) + "; clients are whole numbers from 0 to 1e7");
    const auto at = static_cast<std::size_t>(client);
    if (at >= filled.size()) filled.resize(at + 1), table.devices.resize(at + 1);
    if (filled[at]) throw wrong("has client " + std::to_string(at) + " twice");
    filled[at] = true;
    table.devices[at] = device;
  }
  if (const auto gap = std::ranges::find(filled, false); gap != filled.end())
    throw wrong("lacks client " + std::to_string(gap - filled.begin()) + "; it must have every client");
  for (const std::string& column : read.columns) hash.text(column);
  table.hash = hash.hex();
  return table;
}

// Returns a file's table, read only once.
std::shared_ptr<const DeviceTable> device_table_of(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const DeviceTable>> known_tables;
  const std::lock_guard lock(mutex);
  auto& table = known_tables[path];
  if (table == nullptr) table = std::make_shared<const DeviceTable>(read_device_table(path));
  return table;
}

}  // namespace

Device TableDevices::device(const DeviceQuestion& question) const {
  const auto table = device_table_of(device_table);
  std::size_t line = question.client;
  if (!table->is_by_client) {
    RandomStream random(question.seed, {.purpose = Purpose::devices, .client = question.client});
    line = static_cast<std::size_t>(random.below(table->devices.size()));
  }
  if (line >= table->devices.size())
    throw usage_error("device-table '" + device_table + "' lacks client " + std::to_string(line) + "; it must have every client");
  Device device = table->devices[line];
  if (table->has_flops) device.example_seconds = question.example_flops / (device.example_seconds * 1e9);
  return device;
}

std::string TableDevices::file_hash(std::size_t clients) const {
  const auto table = device_table_of(device_table);
  if (table->is_by_client && table->devices.size() < clients)
    throw usage_error("device-table '" + device_table + "' lacks client " + std::to_string(table->devices.size()) +
                      "; it must have every client, 0 to " + std::to_string(clients - 1));
  return table->hash;
}

PartFamily& DevicesPart::family() {
  static PartFamily family = [] {
    PartFamily all("devices", "how fast the clients' devices are, in virtual time", Question::federation);
    add_parts<DevicesPart, NoDevices, EqualDevices, UniformDevices, ExponentialDevices, LognormalDevices, HalfNormalDevices,
              TierDevices, TableDevices>(all);
    return all;
  }();
  return family;
}

}  // namespace fedstride
