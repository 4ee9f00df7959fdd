#include "sweep/results/read_cell.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/parse_number.hpp"
#include "core/text.hpp"
#include "sweep/results/accounting.hpp"
#include "sweep/results/flat_json.hpp"
#include "sweep/results/partition_counts.hpp"
#include "sweep/results/round_lines.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxSummaryBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxErrorBytes = std::uint64_t{1} << 16;
constexpr std::uint64_t kMaxBytesForClients = std::uint64_t{256} << 20;  // of rounds.jsonl: about 1 GB of numbers

Json read_object(const fs::path& path) {
  Json json = parse_json(read_file(path, kMaxSummaryBytes));
  if (!json.is_object()) throw failure("'" + path.string() + "' is not a JSON object; remove the cell's folder to run it again");
  return json;
}

std::string first_line(std::string_view text) { return std::string(trimmed(text.substr(0, text.find('\n')))); }

void take_number(const Json& json, const char* key, Numbers& numbers, const char* name) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_number()) numbers[name] = found->get<double>();
}

void take_text(const Json& json, const char* key, CellResult& result) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  if (found->is_string()) result.texts[key] = found->get<std::string>();
  if (found->is_number_integer()) result.texts[key] = dump_json(*found);
}

// One line a statement, for people: its values and their conditions.
void take_statements(const Json& summary, CellResult& result) {
  const auto statements = summary.find("privacy");
  if (statements == summary.end() || !statements->is_array()) return;
  for (const Json& statement : *statements) {
    if (!statement.is_object()) continue;
    std::string text;
    for (const char* key : {"who", "accountant", "warning"})
      if (const auto found = statement.find(key); found != statement.end() && found->is_string())
        text += (text.empty() ? "" : "; ") + found->get<std::string>();
    const auto assumptions = statement.find("assumptions");
    if (assumptions != statement.end() && assumptions->is_array())
      for (const Json& assumption : *assumptions)
        if (assumption.is_string()) text += "; " + assumption.get<std::string>();
    const auto level = statement.find("level");
    const bool client = level != statement.end() && *level == "client";
    result.texts[client ? "privacy_client" : "privacy_example"] = text;
    const std::string prefix = client ? "client_" : "";
    take_number(statement, "epsilon", result.numbers, (prefix + "epsilon_spent").c_str());
    take_number(statement, "delta", result.numbers, (prefix + "delta_spent").c_str());
  }
}

// The results so far, from the rounds; the summary's values replace them.
void take_rounds(CellResult& result) {
  if (result.rounds.empty()) return;
  result.numbers = result.rounds.back().numbers;
  for (const char* name : {"examples", "steps", "rejected_steps", "failed_updates", "seconds", "evaluation_seconds"}) {
    double sum = 0;
    bool everywhere = true;
    for (const auto& round : result.rounds) {
      const auto found = round.numbers.find(name);
      everywhere = everywhere && found != round.numbers.end();
      if (found != round.numbers.end()) sum += found->second;
    }
    result.numbers.erase(name);
    if (everywhere) result.numbers[name] = sum;
  }
  double idle = 0;
  bool is_known = true;
  for (const auto& round : result.rounds) {
    const auto share = round.numbers.find("rejected_share");
    is_known = is_known && share != round.numbers.end();
    if (share != round.numbers.end() && share->second == 1) ++idle;
  }
  if (is_known) result.numbers["idle_rounds"] = idle;
  const auto of = [&](const char* name) {
    const auto found = result.numbers.find(name);
    return found == result.numbers.end() ? NAN : found->second;
  };
  for (const char* ratio : {"rejected_share", "examples_per_second"}) result.numbers.erase(ratio);
  if (of("rejected_steps") >= 0 && of("steps") > 0) result.numbers["rejected_share"] = of("rejected_steps") / of("steps");
  if (of("examples") >= 0 && of("seconds") > 0) result.numbers["examples_per_second"] = of("examples") / of("seconds");
}

void take_accounts(const fs::path& folder, const Json& summary, CellResult& result) {
  const auto head = summary.find("ledger_head");
  const auto lines = summary.find("ledger_lines");
  if (head == summary.end() || !head->is_string() || lines == summary.end() || !lines->is_number_unsigned()) return;
  const auto rounds = static_cast<std::uint32_t>(result.rounds.size());
  const LedgerMark mark{.head = head->get<std::string>(), .lines = lines->get<std::uint64_t>()};
  const auto accounts = account(folder, mark, rounds, result.texts["randomness"] == "secret");
  for (const auto& [round, numbers] : accounts) {
    if (round < 1 || round > rounds) continue;
    result.rounds[round - 1].numbers.add_missing(numbers);
    if (round == rounds) result.numbers.add_missing(numbers);
  }
}

void read_run(const fs::path& folder, CellResult& result) {
  Json summary;
  if (is_there(folder / "summary.json")) summary = read_object(folder / "summary.json");
  const bool finished = summary.is_object() && summary.value("finished", Json(false)) == Json(true);
  if (!finished && is_there(folder / "error.txt")) throw failure(first_line(read_file(folder / "error.txt", kMaxErrorBytes)));
  if (!is_there(folder / "config.toml")) {
    if (finished) throw failure("'" + folder.string() + "' has a summary and no config.toml; remove it to run the cell again");
    return;
  }
  result.status = finished ? "finished" : "unfinished";
  const std::uint64_t bytes = round_bytes(folder);
  if (bytes > kMaxBytesForClients)
    result.texts["left_out"] = "its clients: rounds.jsonl has " + std::to_string(bytes >> 20) + " MiB";
  if (finished || bytes > 0) read_rounds(folder / "rounds.jsonl", bytes <= kMaxBytesForClients, result);
  take_rounds(result);
  result.numbers["rounds_done"] = static_cast<double>(result.rounds.size());
  if (is_there(folder / "partition.json")) result.rows_per_class = read_partition_counts(folder / "partition.json");
  if (!summary.is_object()) return;
  for (const char* key : {"model_hash", "data_hash", "partition_hash", "numerics_version", "version", "commit", "compiler",
                          "instruction_set", "randomness", "halted"})
    take_text(summary, key, result);
  take_number(summary, "peak_memory_bytes", result.numbers, "peak_memory_bytes");
  if (!finished) return;
  if (summary.value("rounds", Json(0)) != Json(result.rounds.size()))
    throw failure("'" + folder.string() + "' is damaged: summary.json tells of " + dump_json(summary.value("rounds", Json(0))) +
                  " rounds, rounds.jsonl has " + std::to_string(result.rounds.size()) + "; remove it to run the cell again");
  for (const char* key :
       {"test_accuracy", "test_loss", "examples", "evaluated_rows", "seconds", "evaluation_seconds", "examples_per_second"})
    take_number(summary, key, result.numbers, key);
  take_statements(summary, result);
  take_accounts(folder, summary, result);
}

void read_command(const fs::path& folder, CellResult& result) {
  const fs::path path = folder / "result.json";
  if (!is_there(path)) {
    if (is_there(folder / "error.txt")) throw failure(first_line(read_file(folder / "error.txt", kMaxErrorBytes)));
    return;
  }
  Numbers numbers;
  take_all_numbers(read_object(path), numbers, result.texts);
  result.status = "finished";
  // Values of the point that the command only repeats are not results.
  for (const auto& [key, text] : result.cell.point) {
    std::string name = key;
    std::ranges::replace(name, '-', '_');
    double value = 0;
    const auto found = numbers.find(name);
    if (parse_number(text, value) && found != numbers.end() && found->second == value) numbers.erase(found);
  }
  result.numbers = std::move(numbers);
}

}  // namespace

fs::path cell_folder(const fs::path& folder, const Cell& cell) {
  return is_there(folder / "sweep.json") ? folder / "cells" / cell.key : folder;
}

std::uint64_t round_bytes(const fs::path& folder) {
  std::error_code error;
  const auto size = fs::file_size(folder / "rounds.jsonl", error);
  return error ? 0 : size;
}

CellResult read_cell(const Cell& cell, const fs::path& folder, bool is_run) {
  CellResult result{.cell = cell};
  try {
    if (is_run)
      read_run(folder, result);
    else
      read_command(folder, result);
  } catch (const std::exception& error) {
    result = {.cell = cell, .status = "failed", .error = first_line(error.what())};
  }
  return result;
}

}  // namespace fedstride
