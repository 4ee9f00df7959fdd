#pragma once

#include <filesystem>
#include <string>

#include "sweep/results/results.hpp"

namespace fedstride {

// Parts of the page on one sweep, as HTML. A part without contents is empty.

std::string title_of(const SweepResults& sweep);

/// Title, source, claim, number of cells run. `among_others`: the page has its own title.
std::string heading(const SweepResults& sweep, bool among_others);
/// The settings that all configurations share, and what varies between them.
std::string settings(const SweepResults& sweep);
/// The expectations, each with its outcome, its numbers and the reason of a failure.
std::string claims(const SweepResults& sweep);
/// Results after the last round of every configuration, best and second best of what was tuned.
std::string configurations(const SweepResults& sweep);
/// Notes on the data used for choices, and on the meaning of the epsilons.
std::string notes(const SweepResults& sweep);
/// Rounds that trained nothing, with advice; what the time of a run counts, and the time of evaluation.
std::string remarks(const SweepResults& sweep);
/// Cells that failed, stopped half-way or were not run.
std::string unfinished(const SweepResults& sweep);
std::string machine(const SweepResults& sweep);
/// One command for each cell.
std::string commands(const SweepResults& sweep);
/// Links to the CSV files, from a page in `folder`.
std::string tables(const SweepResults& sweep, const std::filesystem::path& folder);
/// The experiment file, word for word.
std::string file(const SweepResults& sweep);

}  // namespace fedstride
