#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/flag_values.hpp"
#include "cli/privacy/privacy_parts.hpp"
#include "cli/settings_flags.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "dp/ledger/audit.hpp"
#include "run/ledger_terms.hpp"
#include "run/run_records.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

struct PrivacyAuditFlags {
  std::string run;
  std::string key;
  bool clients = false;
  bool json = false;
};

bool present(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// The key of a secret source, kept beside the ledger unless it is named.
std::string key_of(const PrivacyAuditFlags& arguments) {
  constexpr std::uint64_t kSize = 32;
  const fs::path path = arguments.key.empty() ? fs::path(arguments.run) / "secret.key" : fs::path(arguments.key);
  if (arguments.key.empty() && !present(path)) return {};
  std::string key = read_file(path, kSize);
  if (key.size() != kSize)
    throw failure("the key '" + path.string() + "' has " + std::to_string(key.size()) + " bytes; it must have 32");
  return key;
}

/// The run's settings, which somebody may have edited since; nothing if they are missing.
std::optional<Configuration> settings_of(const fs::path& run) {
  if (!present(run / "config.toml")) return std::nullopt;
  return resolve(read_settings((run / "config.toml").string()));
}

void hold_against_settings(const fs::path& run, const std::string& key, const std::optional<Configuration>& settings,
                           Audit& audit) {
  if (!settings) {
    audit.notes.emplace_back("no config.toml lies beside the ledger: it was compared with no settings");
    return;
  }
  const LedgerComparison found = compare_with_settings(run / "ledger.jsonl", key, *settings);
  audit.failures.insert(audit.failures.end(), found.contradictions.begin(), found.contradictions.end());
  for (const auto& what : found.not_compared) audit.notes.push_back("not compared with config.toml: " + what);
}

void audit(const PrivacyAuditFlags& arguments) {
  const fs::path run = arguments.run;
  if (!fs::is_directory(run)) throw usage_error("'" + arguments.run + "' is not the folder of a run");
  const fs::path path = run / "ledger.jsonl";
  if (!present(path))
    throw failure("'" + path.string() + "' is missing: a run without privacy has no ledger, one with privacy must");
  const std::string key = key_of(arguments);
  const RunRecords records(run);
  Audit result = audit_ledger(path, records.marks(), key, arguments.clients);
  const std::optional<Configuration> settings = settings_of(run);
  hold_against_settings(run, key, settings, result);
  records.compare(path, key, settings, result);
  std::cout << (arguments.json ? audit_json(result) : audit_text(result));
  std::cout.flush();
  if (result.failures.empty()) return;
  const auto more = result.failures.size() - 1;
  throw failure("audit of '" + arguments.run + "' failed: " + result.failures.front() +
                (more == 0 ? "" : "; and " + std::to_string(more) + " more"));
}

}  // namespace

void add_privacy_audit(CLI::App& privacy) {
  CLI::App& command =
      *privacy.add_subcommand("audit", "Recompute what a run has spent from its ledger, and hold it against its settings.");
  command.footer(
      "Every statement by two accountants. Fails on a broken or cut ledger, an address used for two inputs, more\n"
      "releases than reserved, weights that break the sensitivity, an accountant that does not fit the sampling, a\n"
      "passed budget, a ledger that is not of the settings in config.toml, or not of the rounds, model, summary and\n"
      "checkpoint beside it. Says which secrets the chain and the noise depend on.\n"
      "Example: fedstride privacy audit runs/quickstart");
  auto arguments = std::make_shared<PrivacyAuditFlags>();
  command.allow_extras();
  takes(*command.add_option("RUN", arguments->run, "the folder of a run")->required(), Place::folder);
  takes(*command.add_option("--key", arguments->key, "file with the key of a secret source [RUN/secret.key]"), Place::file);
  add_switch(command, "--clients", arguments->clients, "a line for each client");
  add_json_switch(command, arguments->json);
  when_called(command, [arguments] { audit(*arguments); });
}

}  // namespace fedstride
