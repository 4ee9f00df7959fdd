#include <chrono>
#include <cstdio>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/terminal/host.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/simd.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "sim/run/certificate.hpp"
#include "sim/run/fleets.hpp"
#include "sim/run/reference_runs.hpp"

namespace fedstride {
namespace {

struct VerifyFlags {
  std::string file;
  std::string only;
  int threads = 0;
  bool update = false;
  std::optional<int> rounds;
  std::string seed;
  std::string checkpoints;
  std::string key;
  std::string signer;
  Settings here;
  bool json = false;
};

std::string listed(const char* title, const std::vector<std::string>& phrases) {
  return phrases.empty() ? std::string() : std::string(title) + ": " + joined(phrases, "; ") + ". ";
}

// One paragraph: what held, what did not, and what was not checked.
void verify_run(const VerifyFlags& arguments) {
  if (!arguments.only.empty() || arguments.update)
    throw usage_error("'" + arguments.file + "' is a certificate; --only and --update are for files of reference runs");
  VerifyOptions options{.here = arguments.here,
                        .seed = arguments.seed,
                        .checkpoints = arguments.checkpoints,
                        .key = arguments.key,
                        .signer = arguments.signer,
                        .stop = stop_on_signals()};
  if (arguments.rounds) options.rounds = static_cast<std::uint32_t>(*arguments.rounds);
  options.here["threads"] = {std::int64_t{arguments.threads}, true};
  const Verdict verdict = verify_certificate(arguments.file, options, {in_process_fleet});
  if (arguments.json)
    print_json({{"held", verdict.held}, {"broken", verdict.broken}, {"not_checked", verdict.unchecked}});
  else
    std::printf("%s%s%s\n", listed("Held", verdict.held).c_str(), listed("NOT HELD", verdict.broken).c_str(),
                listed("Not checked", verdict.unchecked).c_str());
  std::fflush(stdout);
  if (!verdict.broken.empty()) throw failure("'" + arguments.file + "' does not hold: " + verdict.broken.front());
}

std::vector<ReferenceRun> wanted_runs(const VerifyFlags& arguments) {
  if (std::error_code error; std::filesystem::is_directory(arguments.file, error))
    throw usage_error("'" + arguments.file + "' is a folder, and verify repeats the runs that a file lists; of a run's folder, " +
                      "'fedstride privacy audit' checks the ledger and 'fedstride explain' says how its results came about");
  std::vector<ReferenceRun> runs = read_reference_runs(arguments.file, arguments.update);
  if (arguments.only.empty()) return runs;
  if (arguments.update)
    throw usage_error("--only and --update cannot be combined: all hashes in a file belong to one numerics version");
  std::vector<std::string> names;
  for (const ReferenceRun& run : runs) names.push_back(run.name);
  std::erase_if(runs, [&](const ReferenceRun& run) { return run.name != arguments.only; });
  if (runs.empty()) throw usage_error(unknown_name("run", arguments.only, names));
  return runs;
}

void verify(const VerifyFlags& arguments) {
  if (is_certificate(arguments.file)) return verify_run(arguments);
  if (arguments.rounds || !arguments.seed.empty() || !arguments.checkpoints.empty() || !arguments.key.empty() ||
      !arguments.signer.empty() || !arguments.here.empty())
    throw usage_error("'" + arguments.file +
                      "' is no certificate; only certificates take --rounds, --seed, --checkpoints, --key, " +
                      "--signer, --data and --data-dir");
  const std::vector<ReferenceRun> runs = wanted_runs(arguments);
  const std::atomic<bool>* stop = stop_on_signals();
  const BuildInfo build = build_info();
  const std::string here = build.version + ", " + build.compiler + ", " + build.instruction_set;
  if (!kFused && arguments.update)
    throw usage_error("this build (" + here +
                      ") rounds each multiply-add twice: --update would write hashes that no other build reproduces");
  if (!kFused && !arguments.json)
    std::printf("note: this build (%s) rounds each multiply-add twice, so its hashes differ\n", here.c_str());
  std::vector<std::string> hashes;
  std::size_t equal = 0;
  Json results = Json::array();
  for (const ReferenceRun& run : runs) {
    const auto start = std::chrono::steady_clock::now();
    hashes.push_back(hash_of(run, arguments.threads, stop));
    if (hashes.back().empty()) throw Stopped();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const bool is_equal = hashes.back() == run.hash;
    equal += is_equal ? 1 : 0;
    results.push_back({{"name", run.name}, {"hash", hashes.back()}, {"expected", run.hash}, {"equal", is_equal}});
    if (arguments.json) continue;
    if (is_equal)
      std::printf("%-28s %.16s  %.1f s\n", run.name.c_str(), run.hash.c_str(), seconds);
    else
      std::printf("%-28s DIFFERS: %s, expected '%s'\n", run.name.c_str(), hashes.back().c_str(), run.hash.c_str());
    std::fflush(stdout);
  }
  if (arguments.json) print_json(results);
  if (arguments.update) {
    update_reference_runs(arguments.file, hashes);
    return;
  }
  const std::string count =
      std::to_string(equal) + " of " + counted(runs.size(), "run") + " have the expected hash (" + here + ")";
  if (equal < runs.size()) throw failure(count);
  if (!arguments.json) std::printf("%s\n", count.c_str());
}

}  // namespace

void add_verify_command(CLI::App& app) {
  const auto [command, flags] = add_command<VerifyFlags>(
      app, "verify", "Check a run's certificate, or repeat reference runs and compare their models' hashes.",
      "The same settings give the same bits on every processor with fused multiply-adds (x86 since 2013, ARMv8), with every\n"
      "compiler and on any number of threads. Ends with code 1 if a hash differs.\n"
      "Of a certificate, everything is checked that these files and data allow, and the rest is named (docs/re-execution.md).\n"
      "Example: fedstride verify examples/reference.toml",
      verify);
  add_flag(command, "FILE", flags.file, Place::file, "a certificate, or reference runs with their hashes (docs/results.md)",
           Needed::yes);
  add_flag(command, "--only", flags.only, {.word = "NAME"}, "repeat only the run with this name");
  add_number_flag(command, "--threads", flags.threads, {.low = 0, .high = 1024}, "threads; 0: one for each processor");
  add_switch(command, "--update", flags.update, "write the computed hashes to the file, for a new numerics version");
  add_number_flag(command, "--rounds", flags.rounds, {.low = 0, .high = 2e9},
                  "certificate: repeat this many rounds, drawn at random (default: all)");
  add_flag(command, "--seed", flags.seed, {.word = "TEXT"}, "certificate: draw these rounds from this seed");
  add_flag(command, "--checkpoints", flags.checkpoints, Place::folder,
           "certificate: published checkpoints (default: the folder 'checkpoints' beside it)");
  add_flag(command, "--key", flags.key, Place::file, "certificate: the run's secret.key, to repeat a private run of one's own");
  add_flag(command, "--signer", flags.signer, {.word = "KEY"}, "certificate: public key that must have signed it");
  add_settings_flags(command, flags.here, [](const KeyInfo& key) { return key.name == "data" || key.name == "data-dir"; });
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
