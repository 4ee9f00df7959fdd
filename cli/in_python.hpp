#pragma once

#include <filesystem>
#include <string>

#include "core/error.hpp"
#include "core/json.hpp"

namespace fedstride {

/// Thrown if python3, a package that it needs or this program's own Python part is missing; the message says what to install.
class MissingPython : public Error {
 public:
  using Error::Error;
};

/// Carries out a task (sweep/results/task.hpp) with python/fedstride_report, which is installed beside the program (docs/install.md),
/// and returns the outcome. It needs no compiled module. FEDSTRIDE_PYTHON names the interpreter; the default is
/// Debian's python3, then that on PATH. Throws
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
