#include <filesystem>
#include <iostream>
#include <optional>

#include "cli/flags.hpp"
#include "cli/in_python.hpp"
#include "cli/privacy/privacy.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "dp/ledger/audit.hpp"
#include "dp/ledger/row_budget.hpp"
#include "sim/run/ledger_terms.hpp"
#include "sim/run/run_records.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

struct PrivacyAuditFlags {
  std::string run;
  std::string key;
  std::string out;
  bool clients = false;
  bool json = false;
};

bool present(const fs::path& path) {
  std::error_code error;
  const bool is_there = fs::exists(path, error);
  if (error) throw failure("cannot read '" + path.string() + "': " + error.message());
  return is_there;
}

/// The run's settings, which may have been edited since; nullopt if they are missing.
std::optional<Configuration> settings_of(const fs::path& run) {
  if (!present(run / "config.toml")) return std::nullopt;
  return resolve_unchecked(read_settings((run / "config.toml").string()));
}

void hold_against_settings(const fs::path& run, const std::string& key, const std::optional<Configuration>& settings,
                           Audit& audit) {
  if (!settings) {
    audit.notes.emplace_back("there is no config.toml beside the ledger, so it was not compared with settings");
    return;
  }
  const LedgerComparison found = compare_with_settings(run / "ledger.jsonl", key, *settings);
  audit.failures.insert(audit.failures.end(), found.contradictions.begin(), found.contradictions.end());
  for (const auto& what : found.not_compared) audit.notes.push_back("not compared with config.toml: " + what);
}

void audit(const PrivacyAuditFlags& arguments) {
  const fs::path run = arguments.run;
  if (const fs::path out = arguments.out; !out.empty() && out.extension() != ".html" && out.extension() != ".md")
    throw usage_error("out is '" + arguments.out + "'; its name must end in .html or .md");
  if (!fs::is_directory(run)) throw usage_error("'" + arguments.run + "' is not the folder of a run");
  const fs::path path = run / "ledger.jsonl";
  if (!present(path))
    throw failure("'" + path.string() +
                  "' is missing; every run with privacy has a ledger, and a run without privacy cannot be audited");
  const std::string key = arguments.key.empty() ? ledger_key(run) : ledger_key_in(arguments.key);
  const RunRecords records(run);
  Audit result = audit_ledger(path, records.marks(), key, arguments.clients);
  const std::optional<Configuration> settings = settings_of(run);
  hold_against_settings(run, key, settings, result);
  records.compare(path, key, settings, result);
  std::cout << (arguments.json ? audit_json(result) : audit_text(result));
  std::cout.flush();
  if (!arguments.out.empty())
    in_python({{"do", "audit"}, {"audit", parse_json(audit_json(result))}, {"run", run.string()}, {"out", arguments.out}});
  if (result.failures.empty()) return;
  const auto more = result.failures.size() - 1;
  throw failure("audit of '" + arguments.run + "' failed: " + result.failures.front() +
                (more == 0 ? "" : "; and " + std::to_string(more) + " more"));
}

struct PrivacyBudgetFlags {
  std::string file;
  double delta = 1e-5;
  bool json = false;
};

void budget(const PrivacyBudgetFlags& arguments) {
  const fs::path data = arguments.file;
  const fs::path file = !present(data) || data.extension() == ".budget" ? data : budget_beside(data);
  if (!present(file)) throw failure("'" + file.string() + "' is missing: nothing was spent, or the record was removed");
  const RowBudget::Entries entries = RowBudget::read(file);
  std::cout << (arguments.json ? budget_json(entries, arguments.delta) : budget_text(entries, arguments.delta));
}

}  // namespace

void add_privacy_budget(CLI::App& privacy) {
  const auto [command, flags] = add_command<PrivacyBudgetFlags>(
      privacy, "budget", "Print what rows were spent on in all experiments that their owner joined.",
      "The record is beside the rows, or where 'fedstride join --budget' put it. Runs on the same rows add up.\n"
      "Example: fedstride privacy budget mine.csv",
      budget);
  add_flag(command, "FILE", flags.file, Place::file, "the record, or the rows that it is beside", Needed::yes);
  add_number_flag(command, "--delta", flags.delta, Valid{.low = 0, .high = 1, .low_included = false, .high_included = false},
                  "delta at which epsilon is given");
  add_json_switch(command, flags.json);
}

void add_privacy_audit(CLI::App& privacy) {
  const auto [command, flags] = add_command<PrivacyAuditFlags>(
      privacy, "audit",
      "Recompute a run's privacy spending from its ledger and check it against the results (to measure leakage, see measure).",
      "Each statement is recomputed by two accountants. The audit fails on a broken or truncated ledger, a noise address used\n"
      "for two inputs, more releases than were reserved, weights that exceed the sensitivity, an accountant that is not valid\n"
      "for the sampling, an exceeded budget, or a ledger that does not match config.toml or the rounds, model, summary and\n"
      "checkpoint beside it. It prints which secrets the ledger's chain and the noise depend on.\n"
      "Example: fedstride privacy audit runs/private",
      audit);
  add_flag(command, "RUN", flags.run, Place::folder, "the folder of a run", Needed::yes);
  add_flag(command, "--key", flags.key, Place::file, "file with the key of secret randomness (default: RUN/secret.key)");
  add_switch(command, "--clients", flags.clients, "print a line for each client");
  add_flag(command, "--out", flags.out, Place::output, "also write the answer as a page, FILE.html or FILE.md");
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
