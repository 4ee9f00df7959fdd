#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/settings/document.hpp"
#include "sweep/file/experiment.hpp"

namespace fedstride {

/// A partly read experiment file: its keys by section, with overrides from the scale and the command line applied.
struct ExperimentDraft {
  using Entries = DocumentNode::Table;
  /// The section [when.KEY.VALUE], or [variant.NAME] with key "variant".
  struct Section {
    std::string key;
    std::string value;
    DocumentNode at = {};
    Entries entries = {};
  };

  Entries plain = {};                  ///< single values
  Entries swept = {};                  ///< lists of scalars
  std::vector<Section> sections = {};  ///< in the file's order; entries are scalars or lists
  const DocumentNode* zip = nullptr;
  const DocumentNode* exclude = nullptr;
  Settings fixed = {};  ///< from the command line
  /// Keys that the scale or the command line overrides; tables of the file that refer to them may then match nothing.
  std::set<std::string, std::less<>> overridden = {};
  bool is_run = true;                      ///< whether keys and results are those of `fedstride run`
  std::vector<std::string> replaced = {};  ///< as in Experiment

  std::vector<std::string> variants() const;
  /// Returns all keys that are axes for some cell: swept keys, lists under a condition, and "variant".
  std::set<std::string, std::less<>> axis_keys() const;
};

/// Reads the keys of `document`, the overrides for `scale`, and `fixed` from the command line. The document must outlive the
/// draft. `is_run`: the keys belong to `fedstride run`. Throws Error (usage) with the line.
ExperimentDraft draft_experiment(const Document& document, const std::string& scale, const Settings& fixed, bool is_run);

/// Returns the entry with this name, or nullptr.
const DocumentNode* find_entry(const DocumentNode::Table& table, std::string_view key);

/// Throws Error (usage) with the line if the table has an entry not listed in `names`.
void require_known(const Document& document, const DocumentNode::Table& table, const std::string& where,
                   const std::vector<std::string>& names);

/// Returns a draft's axes: "variant" first, "seed" last, the others in the file's order, except that each follows the axes on
/// which its conditions depend. A single setting under a condition is an axis with one value and no keys. Throws Error (usage).
std::vector<Axis> build_axes(const Document& document, const ExperimentDraft& draft);

// The functions below read [target], [tune], [table], [[expect]] and [[figure]], and throw Error (usage) with the line.

void read_target(const Document& document, Target& target, Cost& by);
Tuning read_tuning(const Document& document, const ExperimentDraft& draft);
TableRequest read_table(const Document& document, const ExperimentDraft& draft);
std::vector<Expectation> read_expectations(const Document& document, const ExperimentDraft& draft);
std::vector<FigureRequest> read_figures(const Document& document, const ExperimentDraft& draft);

/// Reads {key = value, ...}, with values as text. Errors mention `name`.
std::map<std::string, std::string> read_where(const Document& document, const DocumentNode& node, const std::string& name);

}  // namespace fedstride
