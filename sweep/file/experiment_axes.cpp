#include "sweep/file/experiment_draft.hpp"

#include <algorithm>
#include <set>

#include "core/text.hpp"

namespace fedstride {
namespace {

using Section = ExperimentDraft::Section;

// Adds values to an axis. Refuses duplicates, but skips them if the scale or the command line overrides a zipped key.
class AxisValues {
 public:
  AxisValues(const Document& document, Axis& axis) : document_(document), axis_(axis) {}

  void add(const DocumentNode& at, Axis::Value value, bool may_repeat) {
    std::vector<std::string> labels;
    for (const std::string& label : value.labels) labels.push_back(canonical_value(label));
    const bool repeated = !seen_.insert(std::move(labels)).second;
    if (repeated && !may_repeat)
      throw document_.wrong(at, joined(axis_.keys) + " lists the value " + joined(value.labels) + " twice");
    if (!repeated) axis_.values.push_back(std::move(value));
  }

 private:
  const Document& document_;
  Axis& axis_;
  std::set<std::vector<std::string>> seen_ = {};
};

Axis axis_of(const Document& document, const std::string& key, const DocumentNode& node) {
  Axis axis{.keys = {key}};
  AxisValues values(document, axis);
  for (const DocumentNode& value : *node.list())
    values.add(value, {.settings = {{key, value.setting()}}, .labels = {value_text(value.setting().value)}}, false);
  return axis;
}

// Returns, for each zip, those of its keys that still have lists.
std::vector<std::vector<std::string>> read_zips(const Document& document, const ExperimentDraft& draft) {
  std::vector<std::vector<std::string>> zips;
  if (draft.zip == nullptr) return zips;
  const auto refuse = [&](const DocumentNode& at) {
    throw document.wrong(at, "zip must be a list of lists of keys: zip = [[\"noise-multiplier\", \"batch\"]]");
  };
  if (draft.zip->list() == nullptr) refuse(*draft.zip);
  std::set<std::string> seen;
  for (const DocumentNode& group : *draft.zip->list()) {
    if (group.list() == nullptr || group.list()->size() < 2) refuse(group);
    std::vector<std::string> keys;
    for (const DocumentNode& node : *group.list()) {
      if (node.text() == nullptr) refuse(node);
      const std::string& key = *node.text();
      if (!seen.insert(key).second) throw document.wrong(node, "zip names " + key + " twice");
      if (find_entry(draft.swept, key) != nullptr)
        keys.push_back(key);
      else if (!draft.overridden.contains(key))
        throw document.wrong(node, "zip names " + key + ", which is not a list in [sweep]");
    }
    zips.push_back(std::move(keys));
  }
  return zips;
}

Axis tied_axis(const Document& document, const ExperimentDraft& draft, const std::vector<std::string>& keys) {
  const auto list = [&](const std::string& key) -> const DocumentNode::List& { return *find_entry(draft.swept, key)->list(); };
  Axis axis{.keys = keys};
  const std::size_t length = list(keys.front()).size();
  for (const std::string& key : keys)
    if (list(key).size() != length)
      throw document.wrong(*find_entry(draft.swept, key), "zip ties " + keys.front() + " with " + std::to_string(length) +
                                                              " values to " + key + " with " + std::to_string(list(key).size()) +
                                                              "; the lists must have the same length");
  AxisValues values(document, axis);
  for (std::size_t i = 0; i < length; ++i) {
    Axis::Value value;
    for (const std::string& key : keys) {
      value.settings[key] = list(key)[i].setting();
      value.labels.push_back(value_text(list(key)[i].setting().value));
    }
    const bool may_repeat = std::ranges::any_of(*draft.zip->list(), [&](const DocumentNode& group) {
      return std::ranges::any_of(*group.list(), [&](const DocumentNode& key) { return draft.overridden.contains(*key.text()); });
    });
    values.add(list(keys.front())[i], std::move(value), may_repeat);
  }
  return axis;
}

void add_swept(const Document& document, const ExperimentDraft& draft, std::vector<Axis>& axes) {
  const auto zips = read_zips(document, draft);
  for (const auto& [key, node] : draft.swept) {
    // The capture renames `key`, since Clang 14 cannot capture a structured binding.
    const auto zip =
        std::ranges::find_if(zips, [&name = key](const auto& keys) { return std::ranges::find(keys, name) != keys.end(); });
    if (zip == zips.end())
      axes.push_back(axis_of(document, key, node));
    else if (zip->front() == key)
      axes.push_back(tied_axis(document, draft, *zip));
  }
}

void add_section(const Document& document, const Section& section, std::vector<Axis>& axes) {
  const std::map<std::string, std::string> when{{section.key, section.value}};
  Axis plain{.keys = {}, .values = {Axis::Value{}}, .when = when};
  for (const auto& [key, node] : section.entries)
    if (node.list() == nullptr) plain.values.front().settings[key] = node.setting();
  if (section.key != "variant" && !plain.values.front().settings.empty()) axes.push_back(plain);
  for (const auto& [key, node] : section.entries) {
    if (node.list() == nullptr) continue;
    axes.push_back(axis_of(document, key, node));
    axes.back().when = when;
  }
}

bool sets(const Axis& axis, const std::string& key) {
  return std::ranges::find(axis.keys, key) != axis.keys.end() ||
         std::ranges::any_of(axis.values, [&](const Axis::Value& value) { return value.settings.contains(key); });
}

// Moves each axis after the axes that set keys in its conditions; otherwise keeps the order.
std::vector<Axis> in_order(const Document& document, std::vector<Axis> axes) {
  std::vector<Axis> ordered;
  while (!axes.empty()) {
    const auto ready = std::ranges::find_if(axes, [&](const Axis& axis) {
      return std::ranges::all_of(axis.when, [&](const auto& condition) {
        return std::ranges::none_of(axes, [&](const Axis& other) { return &other != &axis && sets(other, condition.first); });
      });
    });
    if (ready == axes.end())
      throw usage_error("'" + document.name + "': [when] tables depend on each other in a cycle, through " +
                        axes.front().when.begin()->first);
    const auto place = ready - axes.begin();
    ordered.push_back(std::move(*ready));
    axes.erase(axes.begin() + place);
  }
  return ordered;
}

}  // namespace

std::vector<Axis> build_axes(const Document& document, const ExperimentDraft& draft) {
  std::vector<Axis> axes;
  Axis variant{.keys = {"variant"}};
  for (const Section& section : draft.sections) {
    if (section.key != "variant") continue;
    Axis::Value value{.settings = {}, .labels = {section.value}};
    for (const auto& [key, node] : section.entries)
      if (node.list() == nullptr) value.settings[key] = node.setting();
    variant.values.push_back(std::move(value));
  }
  if (!variant.values.empty()) axes.push_back(std::move(variant));
  add_swept(document, draft, axes);
  for (const Section& section : draft.sections) add_section(document, section, axes);
  std::stable_partition(axes.begin(), axes.end(), [](const Axis& axis) { return !sets(axis, "seed") || axis.keys.empty(); });
  return in_order(document, std::move(axes));
}

}  // namespace fedstride
