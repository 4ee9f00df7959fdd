#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "run/document.hpp"

namespace fedstride {

/// An experiment file in preparation: its keys by section, with the overrides of a scale and of the command line applied.
struct ExperimentDraft {
  using Entries = DocumentNode::Table;
  /// [when.KEY.VALUE], or [variant.NAME] with key "variant".
  struct Section {
    std::string key;
    std::string value;
    DocumentNode at = {};
    Entries entries = {};
  };

  Entries plain = {};                  ///< one value each
  Entries swept = {};                  ///< lists of scalars
  std::vector<Section> sections = {};  ///< in the file's order; entries are scalars or lists
  const DocumentNode* zip = nullptr;
  const DocumentNode* exclude = nullptr;
  Settings fixed = {};  ///< by the command line
  /// Keys that the scale or the command line gave other values: parts of the file about them may be unused.
  std::set<std::string, std::less<>> overridden = {};

  std::vector<std::string> variants() const;
  /// Any key that is an axis somewhere: swept, with a list under a condition, or "variant".
  std::set<std::string, std::less<>> axis_keys() const;
};

/// Reads the keys of `document`, its overrides of `scale`, and `fixed` of the command line; checks each by itself. The
/// document must outlive the draft. `is_run`: keys are those of `fedstride run`.
ExperimentDraft draft_experiment(const Document& document, const std::string& scale, const Settings& fixed, bool is_run);

/// The entry of that name, or nullptr.
const DocumentNode* find_entry(const DocumentNode::Table& table, std::string_view key);

/// "[when.optimizer.sgd]"
std::string section_name(const ExperimentDraft::Section& section);

/// Throws Error (usage) with the line if the table has an entry that `names` does not have.
void require_known(const Document& document, const DocumentNode::Table& table, const std::string& where,
                   const std::vector<std::string>& names);

}  // namespace fedstride
