#pragma once

#include <string>

#include "run/client_reports.hpp"
#include "run/run.hpp"

namespace fedstride {

/// The line of rounds.jsonl for a round. Numbers that are not finite are null; so are those of rounds not evaluated.
/// Under privacy, fields that no guarantee covers are named under "not_covered", or left out if `publishable`.
/// Where `reports` leaves clients out, sums and means over all of them stand on the line itself.
std::string round_json(const RoundRecord& record, bool publishable, const ClientReports& reports = {});

/// "in 3 of 40 rounds no step of anybody was kept; begin with a smaller --learning-rate than 0.1, ...": how many of a run's
/// rounds were idle (RoundRecord::is_idle), and the advice alone.
std::string idle_rounds_text(const Configuration& configuration, std::uint64_t idle, std::uint64_t rounds);
std::string idle_rounds_advice(const Configuration& configuration);

/// summary.json: the results of a run, and its build and machine; under privacy as above, and without hashes of the data.
std::string summary_json(const Setup& setup, const RunSummary& summary, const std::string& model_hash);

}  // namespace fedstride
