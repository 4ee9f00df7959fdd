#pragma once

#include "sweep/file/experiment.hpp"
#include "sweep/file/experiment_draft.hpp"

namespace fedstride {

// The tables [tune], [[expect]] and [[figure]] of an experiment file. Throw Error (usage) with the line.

Tuning read_tuning(const Document& document, const ExperimentDraft& draft);
std::vector<Expectation> read_expectations(const Document& document, const ExperimentDraft& draft);
std::vector<FigureRequest> read_figures(const Document& document, const ExperimentDraft& draft);

/// {key = value, ...} with its values as text. `valid`: the allowed keys; errors use its description.
std::map<std::string, std::string> read_where(const Document& document, const DocumentNode& node, const std::string& name);

}  // namespace fedstride
