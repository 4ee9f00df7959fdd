#pragma once

#include <filesystem>
#include <string>

#include "core/json.hpp"
#include "core/python_part.hpp"

namespace fedstride {

/// Carries out a task (sweep/results/task.hpp) with python/fedstride_report (core/python_part.hpp) and returns the outcome. Throws
/// MissingPython, or Error as Python reports it.
Json in_python(const Json& task);

/// The tables of a sweep, as Python wrote them.
struct SweepTables {
  Json sweep = {};               ///< sweep_task()
  Json claims = Json::array();   ///< each with claim, status, text and reason
  Json failed = Json::object();  ///< from the keys of cells that failed, or could not be read, to their errors
  bool are_written = false;
  std::string error = {};  ///< why they were not written
  std::string note = {};   ///< instead of `error`, what is missing for them
};

/// Writes the tables of a sweep's folder and, if it is named, the page. Throws only Error (usage).
SweepTables write_tables(const std::filesystem::path& folder, const std::string& by = {}, const std::string& page = {});
/// Prints on standard error what is missing for the tables, if anything.
void print_note(const SweepTables& tables);

}  // namespace fedstride
