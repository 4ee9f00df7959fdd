#pragma once

#include <string>

#include "run/run.hpp"

namespace fedstride {

/// The line of rounds.jsonl for a round. Numbers that are not finite are null; so are those of rounds not evaluated.
/// Under privacy what no guarantee covers is named under "not_covered", or left out where the results are to be publishable.
std::string round_json(const RoundRecord& record, bool publishable);

/// summary.json: how a run ended and what it ran on.
std::string summary_json(const Setup& setup, const RunSummary& summary, const std::string& model_hash);

}  // namespace fedstride
