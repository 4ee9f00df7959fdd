#pragma once

#include <filesystem>
#include <string>

#include "sweep/results/results.hpp"

namespace fedstride {

// Each function below returns a part of a sweep's page as HTML; "" if the part has no contents.

std::string title_of(const SweepResults& sweep);

/// Title, source, claim and number of finished cells. `among_others`: the page covers several sweeps and has its own title.
std::string heading(const SweepResults& sweep, bool among_others);
/// The settings that vary, and the settings that all configurations share, with defaults folded.
std::string settings(const SweepResults& sweep);
/// The expectations, each with its outcome, its numbers and the reason for a failure.
std::string claims(const SweepResults& sweep);
/// Every configuration's results after the last round, with the best and second best of tuned configurations marked.
std::string configurations(const SweepResults& sweep);
/// Notes on tuning, and on the meaning of epsilon.
std::string notes(const SweepResults& sweep);
/// Remarks on rounds in which no step was kept, with advice.
std::string remarks(const SweepResults& sweep);
/// Training and evaluation time of all cells.
std::string times(const SweepResults& sweep);
/// Cells that failed, are unfinished or were not run.
std::string unfinished(const SweepResults& sweep);
std::string machine(const SweepResults& sweep);
/// One command per cell.
std::string commands(const SweepResults& sweep);
/// Links to the CSV files, from a page in `folder`.
std::string tables(const SweepResults& sweep, const std::filesystem::path& folder);
/// The experiment file, verbatim.
std::string file(const SweepResults& sweep);

}  // namespace fedstride
