#include "cli/in_python.hpp"

#include <iostream>

#include "core/text.hpp"
#include "sweep/results/task.hpp"

namespace fedstride {
namespace fs = std::filesystem;

Json in_python(const Json& task) {
  constexpr int kPackageMissing = 3;  // fedstride_report's exit code
  const auto [code, printed] = run_python_part("fedstride_report", dump_json(task));
  if (code == 0) return parse_json(printed);
  const std::string said = one_line(std::string(trimmed(printed)));
  if (code == kPackageMissing) throw MissingPython(Error::Kind::failure, said + "; " + python_packages("fedstride_report"));
  if (said.empty()) throw failure("the Python part 'fedstride_report' ended with code " + std::to_string(code));
  throw code == 2 ? usage_error(said) : code == 5 ? temporary(said) : failure(said);
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
