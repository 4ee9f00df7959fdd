#include "cli/in_python.hpp"

#include <cstdlib>
#include <iostream>

#include "cli/terminal/host.hpp"
#include "core/text.hpp"
#include "sweep/cells/subcommand.hpp"
#include "sweep/results/task.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr int kPackageMissing = 3;  // fedstride_report's exit code
constexpr const char* kInstall =
    "sudo apt install python3-pandas python3-scipy python3-matplotlib python3-jinja2";  // also in docs/install.md

// The folder of fedstride_report: in the build folder, where packages, archives and wheels have it, or where it was at build time.
fs::path package_folder() {
  const fs::path program = fs::canonical(host().program());
  for (const char* place : {"python", "../python", "../lib/fedstride/python", FEDSTRIDE_PYTHON_PART})
    if (fs::path folder = program.parent_path() / place; fs::exists(folder / "fedstride_report")) return folder;
  throw MissingPython(Error::Kind::failure, "the Python part 'fedstride_report' is not beside '" + program.string() +
                                                "'; install the program with its folder lib/fedstride");
}

}  // namespace

Json in_python(const Json& task) {
  // Debian's Python, for which the packages in kInstall are, comes before another on PATH.
  const char* chosen = std::getenv("FEDSTRIDE_PYTHON");
  const std::string python = chosen != nullptr && *chosen != '\0' ? chosen
                             : fs::exists("/usr/bin/python3")     ? "/usr/bin/python3"
                                                                  : "python3";
  // Safe path: no module of the working folder takes the place of a package.
  const char* path = std::getenv("PYTHONPATH");
  const std::string packages = package_folder().string() + (path == nullptr ? "" : std::string(":") + path);
  const ProgramOutput output = run_program(
      {"env", "PYTHONPATH=" + packages, "PYTHONSAFEPATH=1", python, "-m", "fedstride_report"}, nullptr, 0, dump_json(task));
  const std::string_view error = trimmed(output.err);
  constexpr int kNotFound = 127, kNotExecutable = 126;  // env's
  if (output.code == kNotFound || output.code == kNotExecutable)
    throw MissingPython(Error::Kind::failure, "'" + python + "' is not installed; tables and reports need: " + kInstall);
  if (output.code == kPackageMissing)
    throw MissingPython(Error::Kind::failure, one_line(std::string(error)) + "; tables and reports need: " + kInstall);
  if (output.code != 0)
    throw Error(output.code == 2 ? Error::Kind::usage : Error::Kind::failure,
                one_line(std::string(error.substr(error.rfind('\n') + 1))));
  return parse_json(output.out);
}

SweepTables write_tables(const fs::path& folder, const std::string& by, const std::string& page) {
  SweepTables tables;
  try {
    tables.sweep = sweep_task(folder);
    Json task = report_task();
    task["sweeps"].push_back(tables.sweep);
    task.update({{"do", "tables"}, {"by", by}, {"out", page}});
    const Json outcome = in_python(task);
    tables.claims = outcome.at("claims");
    tables.failed = outcome.at("failed");
    tables.are_written = true;
  } catch (const MissingPython& missing) {
    tables.note = missing.what();
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::usage) throw;
    tables.error = error.what();
  }
  return tables;
}

void print_note(const SweepTables& tables) {
  if (!tables.note.empty()) std::cerr << "fedstride: note: the cells are kept, but there are no tables: " << tables.note << "\n";
}

}  // namespace fedstride
