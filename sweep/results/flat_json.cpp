#include "sweep/results/flat_json.hpp"
#include "core/json.hpp"

#include <algorithm>
#include <cmath>

namespace fedstride {
namespace {

constexpr std::size_t kMaxListEntries = 100;
constexpr std::size_t kMaxNumbers = 10'000;
constexpr int kMaxDepth = 16;

std::string under(const std::string& path, std::string name) {
  std::ranges::replace(name, '-', '_');
  return path.empty() ? name : path + '_' + name;
}

// The name of an entry of a list.
std::string label_of(const Json& entry, std::size_t place) {
  if (entry.is_object())
    for (const char* key : {"name", "accountant", "level", "who"})
      if (const auto found = entry.find(key); found != entry.end() && found->is_string()) return found->get<std::string>();
  return std::to_string(place);
}

void take(const Json& json, const std::string& path, int depth, Numbers& numbers, std::map<std::string, std::string>& texts) {
  if (depth > kMaxDepth || numbers.size() >= kMaxNumbers) return;
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) take(value, under(path, name), depth + 1, numbers, texts);
  } else if (json.is_array() && json.size() <= kMaxListEntries) {
    for (std::size_t i = 0; i < json.size(); ++i) take(json[i], under(path, label_of(json[i], i)), depth + 1, numbers, texts);
  } else if (json.is_boolean()) {
    numbers[path] = json.get<bool>() ? 1 : 0;
  } else if (json.is_number()) {
    if (const double value = json.get<double>(); std::isfinite(value)) numbers[path] = value;
  } else if (json.is_string() && texts.size() < kMaxNumbers) {
    texts[path] = json.get<std::string>();
  }
}

}  // namespace

void take_all_numbers(const Json& json, Numbers& numbers, std::map<std::string, std::string>& texts) {
  take(json, "", 0, numbers, texts);
}

}  // namespace fedstride
