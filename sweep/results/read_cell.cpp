#include "sweep/results/read_cell.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/client_report.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sweep/results/accounting.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxSummaryBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxErrorBytes = std::uint64_t{1} << 16;
constexpr std::uint64_t kMaxBytesForClients = std::uint64_t{256} << 20;  // limit on rounds.jsonl: about 1 GB in memory

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

// Reads one line of text for each privacy statement, and its epsilon and delta.
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
    const std::string key = client ? "privacy_client" : "privacy_example";
    result.texts[key] = text;
    result.texts[key + "_level"] = level != statement.end() && *level == "user" ? "user" : client ? "client" : "example";
    const std::string prefix = client ? "client_" : "";
    take_number(statement, "epsilon", result.numbers, (prefix + "epsilon_spent").c_str());
    take_number(statement, "delta", result.numbers, (prefix + "delta_spent").c_str());
  }
}

constexpr std::size_t kMaxListEntries = 100;
constexpr std::size_t kMaxNumbers = 10'000;
constexpr int kMaxDepth = 16;

std::string under(const std::string& path, std::string name) {
  std::ranges::replace(name, '-', '_');
  return path.empty() ? name : path + '_' + name;
}

// Returns the label of an entry in a list.
std::string label_of(const Json& entry, std::size_t place) {
  if (entry.is_object())
    for (const char* key : {"name", "accountant", "level", "who"})
      if (const auto found = entry.find(key); found != entry.end() && found->is_string()) return found->get<std::string>();
  return std::to_string(place);
}

// Reads all numbers (true and false as 1 and 0) and strings in a JSON object. Each is named by its path joined with '_', and '-'
// becomes '_': {"a": {"b-c": 1}} gives a_b_c. A list entry is named by its "name", "accountant", "level" or "who" if it has one,
// otherwise by its index. Skips lists of more than 100 entries, and numbers after the first 10,000.
void take_all(const Json& json, const std::string& path, int depth, Numbers& numbers, std::map<std::string, std::string>& texts) {
  if (depth > kMaxDepth || numbers.size() >= kMaxNumbers) return;
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) take_all(value, under(path, name), depth + 1, numbers, texts);
  } else if (json.is_array() && json.size() <= kMaxListEntries) {
    for (std::size_t i = 0; i < json.size(); ++i) take_all(json[i], under(path, label_of(json[i], i)), depth + 1, numbers, texts);
  } else if (json.is_boolean()) {
    numbers[path] = json.get<bool>() ? 1 : 0;
  } else if (json.is_number()) {
    if (const double value = json.get<double>(); std::isfinite(value)) numbers[path] = value;
  } else if (json.is_string() && texts.size() < kMaxNumbers) {
    texts[path] = json.get<std::string>();
  }
}

constexpr std::size_t kMaxCounts = std::size_t{1} << 24;

/// Handles JSON events up to the end of rows_per_class, then stops the parser.
struct Counts final : JsonEvents {
  std::vector<std::vector<std::uint64_t>> rows = {};
  std::size_t counts = 0;
  bool complete = false;
  bool summary = false;  // true for a large partition, which keeps its lists in another file
  bool inside = false;   // inside rows_per_class
  int depth = 0;
  std::string last_key = {};

  bool scalar(Json value) override {
    summary = summary || (depth == 1 && last_key == "format" && value == "fedstride partition 2");
    if (!inside) return !summary;
    if (!value.is_number_unsigned() || depth != 3 || ++counts > kMaxCounts) return false;
    rows.back().push_back(value.get<std::uint64_t>());
    return true;
  }
  bool key(std::string& name) override {
    last_key = name;
    return true;
  }
  bool start_object() override {
    ++depth;
    return !inside;
  }
  bool end_object() override {
    --depth;
    return true;
  }
  bool start_array() override {
    ++depth;
    if (depth == 2 && last_key == "rows_per_class") inside = true;
    if (inside && depth == 3) rows.emplace_back();
    return !inside || (depth <= 3 && ++counts <= kMaxCounts);
  }
  bool end_array() override {
    --depth;
    complete = inside && depth == 1;
    return !complete;
  }
};

// Returns each client's rows per class from a partition.json; empty if the file is only a summary, as for large partitions.
std::vector<std::vector<std::uint64_t>> read_partition_counts(const fs::path& path) {
  std::ifstream file = opened_stream(path);
  Counts counts;
  sax_parse_json(file, counts);
  if (counts.summary) return {};
  if (!counts.complete)
    throw failure("'" + path.string() + "' has no valid rows_per_class; remove the cell's folder to run it again");
  return std::move(counts.rows);
}

// Sets the results so far from the rounds; values from summary.json may replace them later.
void take_rounds(CellResult& result) {
  if (result.rounds.empty()) return;
  result.numbers = result.rounds.back().numbers;
  std::vector<std::string> sums{"examples", "uplink_bytes",       "downlink_bytes", "wasted_bytes", "failed_updates",
                                "seconds",  "evaluation_seconds", "late_clients",   "lost_clients", "dropped_updates"};
  for_each_report_field([&](const auto& field) {
    if (field.is(ReportRule::summed)) sums.emplace_back(field.of_round_name());
  });
  for (const std::string& name : sums) {
    double sum = 0;  // NaN if a round lacks the number
    for (const auto& round : result.rounds) sum += round.numbers.of(name);
    result.numbers.erase(name);
    if (!std::isnan(sum)) result.numbers[name] = sum;
  }
  double best = -1;
  for (const auto& round : result.rounds) best = std::fmax(best, round.numbers.of("test_accuracy"));  // skips NaN
  if (best >= 0) result.numbers["best_test_accuracy"] = best;
  double idle = 0;
  for (const auto& round : result.rounds) {
    const double share = round.numbers.of("rejected_share");
    idle += share == 1 ? 1 : std::isnan(share) ? share : 0;
  }
  if (!std::isnan(idle)) result.numbers["idle_rounds"] = idle;
  const auto of = [&](const char* name) { return result.numbers.of(name); };
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
    if (finished)
      throw failure("'" + folder.string() + "' has a summary.json but no config.toml; remove it to run the cell again");
    return;
  }
  result.status = finished ? "finished" : "unfinished";
  const std::uint64_t bytes = round_bytes(folder);
  if (bytes > kMaxBytesForClients) result.texts["left_out"] = "clients: rounds.jsonl has " + std::to_string(bytes >> 20) + " MiB";
  if (finished || bytes > 0) read_rounds(folder / "rounds.jsonl", bytes <= kMaxBytesForClients, result);
  add_megabytes(result);
  take_rounds(result);
  result.numbers["rounds_done"] = static_cast<double>(result.rounds.size());
  if (is_there(folder / "partition.json")) result.rows_per_class = read_partition_counts(folder / "partition.json");
  if (!summary.is_object()) return;
  for (const char* key : {"model_hash", "data_hash", "partition_hash", "numerics_version", "version", "commit", "compiler",
                          "instruction_set", "randomness", "halted"})
    take_text(summary, key, result);
  if (const auto names = summary.find("class_names"); names != summary.end() && names->is_array())
    for (const Json& name : *names)
      if (name.is_string()) result.class_names.push_back(name.get<std::string>());
  take_number(summary, "peak_memory_bytes", result.numbers, "peak_memory_bytes");
  if (!finished) return;
  if (summary.value("rounds", Json(0)) != Json(result.rounds.size()))
    throw failure("'" + folder.string() + "' is damaged: summary.json has " + dump_json(summary.value("rounds", Json(0))) +
                  " rounds, but rounds.jsonl has " + std::to_string(result.rounds.size()) + "; remove it to run the cell again");
  for (const char* key :
       {"test_accuracy", "test_r2", "test_loss", "examples", "uplink_bytes", "downlink_bytes", "wasted_bytes", "evaluated_rows",
        "chance_accuracy", "seconds", "evaluation_seconds", "examples_per_second", "mean_staleness", "largest_staleness"})
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
  take_all(read_object(path), "", 0, numbers, result.texts);
  result.status = "finished";
  // Removes values of the point that the command merely echoes; they are not results.
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

CellResult read_cell(const Cell& cell, const fs::path& folder, const Experiment& experiment) {
  CellResult result{.cell = cell};
  try {
    if (experiment.command == "run")
      read_run(folder, result);
    else
      read_command(folder, result);
    add_to_target(experiment.target, result);
  } catch (const std::exception& error) {
    result = {.cell = cell, .status = "failed", .error = first_line(error.what())};
  }
  return result;
}

}  // namespace fedstride
