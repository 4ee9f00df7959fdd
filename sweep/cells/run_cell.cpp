#include "sweep/cells/run_cell.hpp"

#include <exception>
#include <new>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/floating_point.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "run/run_folder.hpp"
#include "sweep/cells/cell_keys.hpp"
#include "sweep/cells/subcommand.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

Setting of_command_line(const std::string& text) { return {.value = text, .from_command_line = true}; }

// An exception on its way as one line.
std::string message_of(const std::exception_ptr& exception) {
  std::string line = "unknown error";
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    line = "out of memory";
  } catch (const std::exception& error) {
    line = error.what();
  } catch (...) {
  }
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  return line;
}

CellOutcome failed(const fs::path& folder, const std::string& error) {
  try {
    fs::create_directories(folder);
    write_file(folder / "error.txt", error + "\n");
  } catch (const std::exception&) {  // said on the screen all the same
  }
  return {CellOutcome::Kind::failed, error};
}

RunSummary run_or_resume(const Cell& cell, bool fresh, const fs::path& folder, const CellWork& work,
                         const RunObserver& observer) {
  if (!fresh) {
    Settings settings{{"threads", of_command_line(std::to_string(work.threads))}};
    for (const char* place : {"data", "data-dir"})
      if (const auto data = cell.settings.find(place); data != cell.settings.end()) settings[place] = data->second;
    return resume(folder.string(), settings, observer, work.fleet);
  }
  Settings settings = cell.settings;
  settings["threads"] = of_command_line(std::to_string(work.threads));
  settings["out"] = of_command_line(folder.string());
  settings.erase("quiet");
  std::error_code ignored;
  fs::remove(folder / "error.txt", ignored);
  return run(resolve(settings), settings, observer, work.fleet);
}

CellOutcome carry_out_run(const Cell& cell, bool fresh, const fs::path& folder, const CellWork& work,
                          const std::function<void(const RoundRecord&, std::uint32_t)>& round) {
  std::uint32_t rounds = 0;
  RunObserver observer;
  observer.stop = work.stop;
  observer.started = [&](const Setup& setup, const std::string&, std::uint32_t, const std::atomic<std::uint64_t>&) {
    rounds = static_cast<std::uint32_t>(setup.configuration.rounds);
  };
  observer.round = [&](const RoundRecord& record) { round(record, rounds); };
  const RunSummary summary = run_or_resume(cell, fresh, folder, work, observer);
  return {summary.interrupted ? CellOutcome::Kind::interrupted : CellOutcome::Kind::finished};
}

CellOutcome carry_out_command(const Cell& cell, const fs::path& folder, const CellWork& work) {
  fs::create_directories(folder);
  const FolderLock lock(folder, FolderLock::Wait::no);
  if (!lock.held()) return {CellOutcome::Kind::held_elsewhere};
  std::vector<std::string> words = command_words(work.experiment, cell);
  words.insert(words.begin(), work.program);
  const ProgramOutput output = run_program(words, work.stop);
  if (output.stopped) return {CellOutcome::Kind::interrupted};
  if (output.code != 0) {
    const std::string_view line = trimmed(std::string_view(output.err).substr(0, output.err.find('\n')));
    constexpr std::string_view name = "fedstride: ";
    throw failure(line.empty() ? "exit code " + std::to_string(output.code)
                               : std::string(line.substr(line.starts_with(name) ? name.size() : 0)));
  }
  if (parse_json(output.out).is_discarded()) throw failure("'fedstride " + work.experiment.command + "' does not print JSON");
  write_file(folder / "result.json", output.out);
  return {CellOutcome::Kind::finished};
}

}  // namespace

CellOutcome carry_out(const Cell& cell, CellState::Kind state, const CellWork& work,
                      const std::function<void(const RoundRecord&, std::uint32_t)>& round) {
  const FloatingPointMode mode;
  const fs::path folder = work.sweep / "cells" / cell.key;
  const bool fresh = state == CellState::Kind::fresh;
  CellOutcome outcome;
  try {
    outcome = work.experiment.command == "run" ? carry_out_run(cell, fresh, folder, work, round)
                                               : carry_out_command(cell, folder, work);
  } catch (const FolderInUse&) {
    return {CellOutcome::Kind::held_elsewhere};
  } catch (...) {
    const std::string error = message_of(std::current_exception());
    return failed(folder, fresh ? error : error + "; to begin the cell again remove the folder '" + folder.string() + "'");
  }
  std::error_code ignored;
  if (outcome.kind == CellOutcome::Kind::finished) fs::remove(folder / "error.txt", ignored);
  return outcome;
}

CellOutcome refuse_damaged(const Cell& cell, const CellState& state, const CellWork& work) {
  const fs::path folder = work.sweep / "cells" / cell.key;
  return failed(folder, "the folder '" + folder.string() + "' is damaged: " + state.why + "; remove it to run the cell again");
}

}  // namespace fedstride
