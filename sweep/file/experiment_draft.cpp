#include "sweep/file/experiment_draft.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace fedstride {
namespace {

using Entries = ExperimentDraft::Entries;
using Section = ExperimentDraft::Section;

/// "[when.optimizer.sgd]"
std::string section_name(const Section& section) {
  return section.key == "variant" ? "[variant." + section.value + "]" : "[when." + section.key + "." + section.value + "]";
}

const std::vector<std::string> kTables{"experiment", "sweep",  "when",   "variant", "target", "tune",
                                       "table",      "expect", "figure", "quick",   "full"};
const std::vector<std::string> kOverridable{"sweep", "when", "variant"};

class Drafter {
 public:
  Drafter(const Document& document, bool is_run) : document_(document), is_run_(is_run) {}

  // Reads the keys of the whole file, or of [quick] or [full].
  ExperimentDraft read(const DocumentNode& root, const std::vector<std::string>& tables, const std::string& prefix) {
    ExperimentDraft draft;
    for (const auto& [key, node] : *root.table()) {
      if (std::ranges::find(tables, key) != tables.end()) continue;
      const bool is_table =
          node.table() != nullptr || (node.list() != nullptr && !node.list()->empty() && node.list()->front().table() != nullptr);
      if (is_table) throw document_.wrong(node, unknown_name("table", prefix + key, tables));
      check_key(node, key);
      if (node.list() != nullptr)
        throw document_.wrong(node, key + " is a list; lists go in [" + prefix + "sweep]; only a single value is valid here");
      check_scalar(node, key);
      draft.plain.emplace_back(key, node);
    }
    read_sweep(draft, root, prefix);
    read_conditions(draft, root, prefix);
    std::ranges::stable_sort(draft.sections, {}, [](const Section& section) { return section.at.line; });
    return draft;
  }

 private:
  const DocumentNode::Table& table_of(const DocumentNode& node, const std::string& name) {
    if (node.table() == nullptr) throw document_.wrong(node, name + " must be a table: [" + name + "]");
    return *node.table();
  }

  void read_sweep(ExperimentDraft& draft, const DocumentNode& root, const std::string& prefix) {
    const DocumentNode* sweep = find_entry(*root.table(), "sweep");
    if (sweep == nullptr) return;
    for (const auto& [key, node] : table_of(*sweep, prefix + "sweep")) {
      if (key == "zip" || key == "exclude") {
        (key == "zip" ? draft.zip : draft.exclude) = &node;
        continue;
      }
      check_key(node, key);
      if (node.list() == nullptr)
        throw document_.wrong(
            node, key + " in [" + prefix + "sweep] must be a list: " + key + " = [...]; a single value goes at the top level");
      check_list(node, key);
      draft.swept.emplace_back(key, node);
    }
  }

  void read_conditions(ExperimentDraft& draft, const DocumentNode& root, const std::string& prefix) {
    if (const DocumentNode* variants = find_entry(*root.table(), "variant"))
      for (const auto& [name, node] : table_of(*variants, prefix + "variant"))
        draft.sections.push_back(section("variant", name, node, prefix + "variant." + name));
    const DocumentNode* when = find_entry(*root.table(), "when");
    if (when == nullptr) return;
    for (const auto& [key, values] : table_of(*when, prefix + "when")) {
      if (key == "variant") throw document_.wrong(values, "[when.variant.NAME] is not valid; write [variant.NAME]");
      check_key(values, key);
      for (const auto& [value, node] : table_of(values, prefix + "when." + key + ".VALUE"))
        draft.sections.push_back(section(key, value, node, prefix + "when." + key + "." + value));
    }
  }

  Section section(const std::string& key, const std::string& value, const DocumentNode& node, const std::string& name) {
    Section result{.key = key, .value = value, .at = node};
    for (const auto& [entry, value_node] : table_of(node, name)) {
      if (value_node.table() != nullptr)
        throw document_.wrong(value_node, "[" + name + "] contains a table '" + entry +
                                              "'; only keys are valid there, and a value with a dot must be quoted");
      check_key(value_node, entry);
      if (entry == key) throw document_.wrong(value_node, "[" + name + "] sets " + entry + ", the key it depends on");
      value_node.list() != nullptr ? check_list(value_node, entry) : check_scalar(value_node, entry);
      result.entries.emplace_back(entry, value_node);
    }
    return result;
  }

  void check_key(const DocumentNode& at, const std::string& key) {
    if (key == "out") throw document_.wrong(at, "out is not valid in an experiment file; set the folder with --out");
    if (is_run_) {
      if (find_key(key) == nullptr) throw document_.wrong(at, unknown_key(key).what());
    } else if (key.empty() || key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != key.npos || key[0] == '-') {
      throw document_.wrong(at, "key '" + key + "' is not a flag name; lowercase letters, digits and '-' are valid");
    }
  }

  void check_scalar(const DocumentNode& node, const std::string& key) {
    if (!node.is_scalar()) throw document_.wrong(node, key + " must be a number, a string, true or false");
  }

  void check_list(const DocumentNode& node, const std::string& key) {
    const auto& list = *node.list();
    if (key == "threads" || key == "quiet")
      throw document_.wrong(node, key + " cannot be swept, because results do not depend on it");
    if (list.empty()) throw document_.wrong(node, key + " is []; list at least one value");
    for (const DocumentNode& value : list)
      if (!value.is_scalar()) throw document_.wrong(value, "values of " + key + " must be numbers, strings, true or false");
  }

  const Document& document_;
  bool is_run_;
};

void erase_key(Entries& entries, std::string_view key) {
  std::erase_if(entries, [&](const auto& entry) { return entry.first == key; });
}

void erase_everywhere(ExperimentDraft& draft, const std::string& key) {
  erase_key(draft.plain, key);
  erase_key(draft.swept, key);
  for (Section& section : draft.sections) erase_key(section.entries, key);
  draft.overridden.insert(key);
}

// Replaces the entry with this name; appends it if there is none.
void put(Entries& entries, const std::string& key, const DocumentNode& node) {
  const auto found = std::ranges::find(entries, key, &Entries::value_type::first);
  if (found == entries.end())
    entries.emplace_back(key, node);
  else
    found->second = node;
}

void override_by(ExperimentDraft& draft, const ExperimentDraft& more) {
  for (const auto& [key, node] : more.plain) {
    erase_everywhere(draft, key);
    draft.plain.emplace_back(key, node);
  }
  for (const auto& [key, node] : more.swept) {
    erase_key(draft.plain, key);
    put(draft.swept, key, node);
    draft.overridden.insert(key);
  }
  for (const Section& section : more.sections) {
    auto known = std::ranges::find_if(
        draft.sections, [&](const Section& other) { return other.key == section.key && same_value(other.value, section.value); });
    if (known == draft.sections.end())
      known = draft.sections.insert(known, {.key = section.key, .value = section.value, .at = section.at});
    for (const auto& [key, node] : section.entries) {
      put(known->entries, key, node);
      draft.overridden.insert(key);
    }
  }
  if (more.zip != nullptr) draft.zip = more.zip;
  if (more.exclude != nullptr) draft.exclude = more.exclude;
}

// Adds a note if the key's list in [sweep] lacks the fixed value.
void note_replaced(ExperimentDraft& draft, const std::string& key, const std::string& fixed) {
  const DocumentNode* swept = find_entry(draft.swept, key);
  if (swept == nullptr) return;
  std::vector<std::string> values;
  for (const DocumentNode& value : *swept->list()) values.push_back(value_text(value.setting().value));
  if (std::ranges::any_of(values, [&](const std::string& value) { return same_value(value, fixed); })) return;
  draft.replaced.push_back("--" + key + " " + fixed + " replaces the list in [sweep]: " + joined(values));
}

// Drops the settings of a part that the command line replaces, as `resolve` does.
void drop_replaced_parts(ExperimentDraft& draft, const Settings& fixed) {
  for (const KeyInfo& key : all_keys()) {
    if (key.parts.empty() || fixed.contains(key.name)) continue;
    const auto family = fixed.find(key.group);
    if (family == fixed.end()) continue;
    if (std::ranges::find(key.parts, value_text(family->second.value)) == key.parts.end()) erase_everywhere(draft, key.name);
  }
}

void check_overlaps(const Document& document, const ExperimentDraft& draft) {
  for (const auto& [key, node] : draft.swept)
    if (const DocumentNode* plain = find_entry(draft.plain, key))
      throw document.wrong(
          node, key + " is a list here and a single value in line " + std::to_string(plain->line) + "; keep one of them");
  for (const Section& section : draft.sections)
    for (const auto& [key, node] : section.entries)
      if (const DocumentNode* swept = find_entry(draft.swept, key))
        throw document.wrong(node, key + " is set in " + section_name(section) + " and swept for all cells in line " +
                                       std::to_string(swept->line) + "; keep one of them");
}

// Refuses a condition that no cell can meet, which must be a misspelling unless an override caused it.
void check_conditions(const Document& document, const ExperimentDraft& draft, bool is_run) {
  for (const Section& section : draft.sections) {
    if (section.key == "variant" || draft.overridden.contains(section.key)) continue;
    std::vector<std::string> values;
    const auto add = [&](const Entries& entries) {
      const DocumentNode* node = find_entry(entries, section.key);
      if (node == nullptr) return;
      if (node->list() == nullptr) return values.push_back(value_text(node->setting().value));
      for (const DocumentNode& value : *node->list()) values.push_back(value_text(value.setting().value));
    };
    add(draft.plain);
    add(draft.swept);
    if (values.empty()) {  // some cells keep the default, which may depend on the part
      const KeyInfo* info = find_key(section.key);
      if (!is_run || info == nullptr || !info->parts.empty()) continue;
      values.push_back(info->default_text);
    }
    for (const Section& other : draft.sections) add(other.entries);
    if (std::ranges::none_of(values, [&](const auto& value) { return same_value(value, section.value); }))
      throw document.wrong(section.at, section_name(section) + " matches no cell; " + section.key + " takes " + joined(values));
  }
}

}  // namespace

std::vector<std::string> ExperimentDraft::variants() const {
  std::vector<std::string> names;
  for (const Section& section : sections)
    if (section.key == "variant") names.push_back(section.value);
  return names;
}

std::set<std::string, std::less<>> ExperimentDraft::axis_keys() const {
  std::set<std::string, std::less<>> keys;
  for (const auto& [key, node] : swept) keys.insert(key);
  for (const Section& section : sections)
    for (const auto& [key, node] : section.entries)
      if (node.list() != nullptr) keys.insert(key);
  if (!variants().empty()) keys.insert("variant");
  return keys;
}

ExperimentDraft draft_experiment(const Document& document, const std::string& scale, const Settings& fixed, bool is_run) {
  Drafter drafter(document, is_run);
  ExperimentDraft draft = drafter.read(document.root, kTables, "");
  for (const std::string name : {"quick", "full"}) {  // both are checked, but only one is used
    const DocumentNode* node = find_entry(*document.root.table(), name);
    if (node == nullptr) continue;
    if (node->table() == nullptr) throw document.wrong(*node, name + " must be a table: [" + name + "]");
    const ExperimentDraft more = drafter.read(*node, kOverridable, name + ".");
    if (name == scale) override_by(draft, more);
  }
  draft.is_run = is_run;
  draft.fixed = fixed;
  for (const auto& [key, setting] : fixed) {
    note_replaced(draft, key, value_text(setting.value));
    erase_everywhere(draft, key);
  }
  drop_replaced_parts(draft, fixed);
  check_overlaps(document, draft);
  check_conditions(document, draft, is_run);
  return draft;
}

const DocumentNode* find_entry(const DocumentNode::Table& table, std::string_view key) {
  const auto found = std::ranges::find(table, key, &DocumentNode::Table::value_type::first);
  return found == table.end() ? nullptr : &found->second;
}

void require_known(const Document& document, const DocumentNode::Table& table, const std::string& where,
                   const std::vector<std::string>& names) {
  for (const auto& [key, node] : table)
    if (std::ranges::find(names, key) == names.end()) throw document.wrong(node, unknown_name("key of " + where, key, names));
}

}  // namespace fedstride
