#include "sim/run/run_records.hpp"
#include "sim/run/fleets.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "nn/safetensors.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::run_records_test {
namespace {

namespace fs = std::filesystem;

const std::string kExample = "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nbatch = 20\noptimizer = 'sgd'\n";
const std::string kClient =
    "dp = 'client'\nnoise-multiplier = 1.5\nclip = 0.2\noptimizer = 'sgd'\nlearning-rate = 0.1\n"
    "accountant = 'zcdp'\n";

/// Some rounds have an empty cohort.
const std::string kDrawn = "cohort = 'poisson'\ncohort-rate = 0.2\nrounds = 8\n";

/// Four rounds, unless `more` says otherwise; it goes before `settings`.
Settings private_settings(const TemporaryFolder& folder, const std::string& out, const std::string& settings,
                          const std::string& more = "") {
  Settings all = settings_for(folder, out, settings);
  for (const auto& [key, setting] : parse_settings("rounds = 4\n", "test")) all[key] = setting;
  for (const auto& [key, setting] : parse_settings(more, "test")) all[key] = setting;
  return all;
}

std::vector<std::string> texts(const std::string& path) {
  std::vector<std::string> lines;
  const std::string text = read_file(path);
  for (const auto line : split(text, '\n')) lines.emplace_back(line);
  lines.pop_back();
  return lines;
}

void write(const std::string& path, const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + '\n';
  write_file(path, text);
}

/// The audit of a run's folder; an error becomes its only failure.
Audit audit_of(const fs::path& run) {
  try {
    const fs::path ledger = run / "ledger.jsonl";
    const std::string key = fs::exists(run / "secret.key") ? read_file(run / "secret.key") : std::string();
    const RunRecords records(run);
    Audit audit = audit_ledger(ledger, records.marks(), key, false);
    std::optional<Configuration> settings;
    if (fs::exists(run / "config.toml")) settings = resolve(read_settings((run / "config.toml").string()));
    records.compare(ledger, key, settings, audit);
    return audit;
  } catch (const Error& error) {
    Audit audit;
    audit.failures.emplace_back(error.what());
    return audit;
  }
}

void check_passes(const fs::path& run) {
  CAPTURE(run.string());
  CHECK(audit_of(run).failures == std::vector<std::string>());
}

void check_fails(const fs::path& run, const std::vector<std::string>& parts) {
  CAPTURE(run.string());
  const std::vector<std::string> failures = audit_of(run).failures;
  REQUIRE(!failures.empty());
  CAPTURE(failures.front());
  for (const std::string& part : parts) CHECK_MESSAGE(names(failures.front(), {part}), part);
}

/// A finished run, with copies to damage.
struct DamagedRun {
  TemporaryFolder folder;
  std::string run = folder / "out";
  int copies = 0;

  explicit DamagedRun(const std::string& settings, const std::string& more = "") {
    write_data(folder);
    start(private_settings(folder, "out", settings, more));
  }
  fs::path copy() {
    const fs::path path = folder / ("copy" + std::to_string(copies++));
    fs::copy(run, path, fs::copy_options::recursive);
    return path;
  }
  void check(const std::vector<std::string>& parts, const std::function<void(const fs::path&)>& damage) {
    const fs::path path = copy();
    damage(path);
    check_fails(path, parts);
  }
};

void edit_summary(const fs::path& run, const std::string& key, const Json& value) {
  Json summary = Json::parse(read_file(run / "summary.json"));
  if (value.is_null())
    summary.erase(key);
  else
    summary[key] = value;
  write_file(run / "summary.json", summary.dump());
}

void remove_files(const fs::path& run, std::initializer_list<const char*> names) {
  for (const char* name : names) fs::remove(run / name);
}

/// A fleet that calls `copy` after each round.
class CopyingFleet : public Fleet {
 public:
  CopyingFleet(std::shared_ptr<Fleet> fleet, std::function<void(const std::string& moment)> copy)
      : fleet_(std::move(fleet)), copy_(std::move(copy)) {}
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    fleet_->collect(task, cohort, updates);
  }
  void end_round(std::uint32_t round) override {
    fleet_->end_round(round);
    copy_("trained");
  }
  std::uint32_t abandon_round(std::uint32_t last_round) override { return fleet_->abandon_round(last_round); }
  void checkpointed(std::uint32_t round) override { fleet_->checkpointed(round); }

 private:
  std::shared_ptr<Fleet> fleet_;
  std::function<void(const std::string& moment)> copy_;
};

/// Runs, copying the folder at each moment at which a kill would leave a different state.
void run_with_copies(const Settings& settings, const fs::path& out, const fs::path& copies, bool goes_on) {
  int count = 0;
  const auto copy = [&](const std::string& moment) {
    fs::copy(out, copies / (std::to_string(count++) + moment), fs::copy_options::recursive);
  };
  RunObserver observer;
  observer.started = [&](const Setup&, const std::string&, std::uint32_t, const std::atomic<std::uint64_t>&) { copy("begun"); };
  observer.round = [&](const RoundRecord&) { copy("round"); };
  const FleetMaker maker{[&](const FleetTask& task) { return std::make_shared<CopyingFleet>(in_process_fleet(task), copy); }};
  fs::create_directories(copies);
  if (goes_on)
    resume(out.string(), settings, observer, maker);
  else
    run(resolve(settings), settings, observer, maker);
  copy("finished");
}

std::size_t check_all_pass(const fs::path& copies) {
  std::size_t count = 0;
  for (const auto& copy : fs::directory_iterator(copies)) {
    check_passes(copy.path());
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a finished run agrees with its ledger, whatever it protects, publishes, keeps and saves") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string published = "publishable = true\nrandomness = 'secret'\n";
  struct Case {
    const char* name;
    std::string settings;
    std::string more;
  };
  const Case runs[] = {
      {"example", kExample, ""},
      {"client", kClient, ""},
      {"both", kExample, "dp = 'both'\nclient-clip = 0.2\nclient-noise-multiplier = 5.0\nclient-accountant = 'zcdp'\n"},
      {"published", kClient, published},
      {"example-published", kExample, published},
      {"budget", kExample, "epsilon = 9.0\ndelta = 1e-3\nrounds = 40\n"},
      {"components", kExample, "private-components = 2\ncomponents-noise = 4.0\nclients = 1\n"},
      {"extrapolated", kExample, "server-optimizer = 'fedexp'\n"},
      {"drawn", kExample, kDrawn},
      {"drawn-published", kExample, kDrawn + published},
      {"drawn-unlisted", kExample, kDrawn + "client-reports = 'none'\n"},
  };
  for (const auto& [name, settings, more] : runs) {
    CAPTURE(name);
    start(private_settings(folder, name, settings, more));
    check_passes(folder / name);
  }
}

TEST_CASE("a round with an empty cohort has no line in the ledger, and needs none") {
  DamagedRun run(kExample, kDrawn);
  const auto results = lines(run.run + "/rounds.jsonl");
  const auto is_empty = [](const Json& line) { return line["clients"].empty(); };
  REQUIRE(std::ranges::any_of(results, is_empty));
  REQUIRE(audit_of(run.run).rounds < results.size());
  check_passes(run.run);
}

TEST_CASE("a ledger cut at any line fails, with and without the files that remember its length") {
  for (const std::string& settings : {kExample, kClient}) {
    DamagedRun run(settings);
    const auto ledger = texts(run.run + "/ledger.jsonl");
    REQUIRE(ledger.size() == 9);  // the header, and four rounds reserved and closed
    for (std::size_t kept = 0; kept < ledger.size(); ++kept) {
      CAPTURE(kept);
      const std::vector<std::string> cut(ledger.begin(), ledger.begin() + static_cast<std::ptrdiff_t>(kept));
      const auto damage = [&](const fs::path& path) { write((path / "ledger.jsonl").string(), cut); };
      run.check({"ledger.jsonl", std::to_string(kept)}, damage);
      const auto forgetful = [&](const fs::path& path) {
        damage(path);
        remove_files(path, {"summary.json", "checkpoint"});
      };
      if (kept == 8) {  // the last round is reserved, and counts in full
        const fs::path path = run.copy();
        forgetful(path);
        check_passes(path);
      } else {
        using Parts = std::vector<std::string>;
        run.check(kept == 0 ? Parts{"ledger.jsonl"}
                            : Parts{"ledger", "round " + std::to_string((kept + 2) / 2), "rounds.jsonl", "round 4"},
                  forgetful);
      }
    }
  }
}

TEST_CASE("without rounds.jsonl, a ledger is compared with the rounds of the checkpoint") {
  DamagedRun run(kClient);
  const auto forged = [&](const fs::path& path) {
    remove_files(path, {"rounds.jsonl", "checkpoint"});
    const auto ledger = texts((path / "ledger.jsonl").string());
    const Json last = Json::parse(ledger[2]);
    write((path / "ledger.jsonl").string(), {ledger[0], ledger[1], ledger[2]});
    edit_summary(path, "ledger_head", last["chain"]);
    edit_summary(path, "ledger_lines", 3);
  };
  run.check({"ledger", "round 2", "round 4"}, forged);
}

TEST_CASE("a missing, duplicate or edited line of rounds.jsonl fails") {
  DamagedRun run(kExample);
  const auto results = texts(run.run + "/rounds.jsonl");
  REQUIRE(results.size() == 4);
  const auto with = [&](const std::vector<std::string>& lines) {
    return [=](const fs::path& path) { write((path / "rounds.jsonl").string(), lines); };
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    CAPTURE(i);
    const std::string line = std::to_string(i + 1), next = std::to_string(i + 2);
    auto fewer = results;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (i == 3)
      run.check({"rounds.jsonl", "3", "checkpoint", "round 4"}, with(fewer));
    else
      run.check({"line " + line, "rounds.jsonl", "round " + next, "round " + line}, with(fewer));
    auto more = results;
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(i), results[i]);
    run.check({"line " + next, "rounds.jsonl", "round " + line, "round " + next}, with(more));
    auto edited = results;
    edited[i].insert(1, "\"x\":1,");
    run.check({"rounds.jsonl", "4 lines", "checkpoint"}, with(edited));
    edited[i] = "x";
    run.check({"line " + line, "rounds.jsonl", "round " + line}, with(edited));
  }
  auto longer = results;
  longer.push_back(results.back());
  longer.back().replace(longer.back().find("\"round\":4"), 9, "\"round\":5");
  longer.back().insert(longer.back().find("\"releases\":") + 11, "1");
  run.check({"ledger", "round 5", "rounds.jsonl"}, with(longer));
  const std::vector<std::string> three(results.begin(), results.end() - 1);
  run.check({"summary.json", "round 4", "rounds.jsonl", "3"}, [&](const fs::path& path) {
    with(three)(path);
    remove_files(path, {"checkpoint"});
  });
  run.check({"model.safetensors", "round 4", "rounds.jsonl", "3"}, [&](const fs::path& path) {
    with(three)(path);
    remove_files(path, {"checkpoint", "summary.json"});
  });
}

TEST_CASE("a summary that does not match the ledger, the results and the model fails") {
  DamagedRun run(kExample);
  const auto ledger = lines(run.run + "/ledger.jsonl");
  const std::string hash = hashes(run.run).front(), last = hashes(run.run).back();
  const auto with = [](const std::string& key, const Json& value) {
    return [=](const fs::path& path) { edit_summary(path, key, value); };
  };
  run.check({"summary.json", "round 9", "rounds.jsonl", "4"}, with("rounds", 9));
  run.check({"model.safetensors", "round 4", "summary.json", "round 3"}, [](const fs::path& path) {
    remove_files(path, {"rounds.jsonl", "checkpoint"});
    edit_summary(path, "rounds", 3);
  });
  run.check({"summary.json", hash, "rounds.jsonl", last, "round 4"}, with("model_hash", hash));
  run.check({"summary.json", last, "rounds.jsonl", "round 3"}, with("rounds", 3));
  run.check({"ledger.jsonl", "9", "10"}, with("ledger_lines", 10));
  run.check({"ledger.jsonl", "8"}, with("ledger_lines", 8));
  run.check({"ledger.jsonl", "9", "00"}, with("ledger_head", "00"));
  for (const char* key : {"ledger_head", "ledger_lines"})
    run.check({"summary.json", "ledger_head", "ledger_lines"}, with(key, {}));
  for (const char* key : {"rounds", "model_hash"}) run.check({"summary.json", "rounds", "model_hash"}, with(key, {}));
  for (std::size_t line = 1; line < ledger.size(); ++line)  // as an earlier end of the ledger would have been
    run.check({"summary.json", "round 4", counted(line, "line"), "ledger", "round " + std::to_string((line + 1) / 2)},
              [&](const fs::path& path) {
                edit_summary(path, "ledger_head", ledger[line - 1]["chain"]);
                edit_summary(path, "ledger_lines", line);
              });
}

TEST_CASE("a model or a checkpoint of another run, or with other weights, fails") {
  DamagedRun run(kExample);
  start(private_settings(run.folder, "other", kExample, "seed = 8\n"));
  start(private_settings(run.folder, "longer", kExample, "rounds = 5\n"));
  const auto from = [&](const std::string& other, const char* name) {
    return [=, &run](const fs::path& path) {
      fs::copy_file(run.folder / (other + "/" + name), path / name, fs::copy_options::overwrite_existing);
    };
  };
  const std::string other = hashes(run.folder / "other").back(), last = hashes(run.run).back();
  run.check({"model.safetensors", other, "summary.json", last}, from("other", "model.safetensors"));
  run.check({"model.safetensors", "round 5", "summary.json", "round 4"}, from("longer", "model.safetensors"));
  run.check({"model.safetensors", other, "rounds.jsonl", last, "round 4"}, [&](const fs::path& path) {
    from("other", "model.safetensors")(path);
    remove_files(path, {"summary.json"});
  });
  run.check({"model.safetensors", last}, [](const fs::path& path) {
    std::string bytes = read_file(path / "model.safetensors");
    bytes.back() ^= 1;
    write_file(path / "model.safetensors", bytes);
  });
  run.check({"ledger.jsonl", "chain"}, from("other", "checkpoint"));
  RunObserver observer;
  observer.round = [&](const RoundRecord& record) {
    if (record.round == 2) fs::copy_file(run.folder / "watched/checkpoint", run.folder / "second");
  };
  start(private_settings(run.folder, "watched", kExample), observer);
  fs::rename(run.folder / "second", run.folder / "watched/checkpoint");
  check_fails(run.folder / "watched", {"rounds.jsonl", "4", "checkpoint", "round 2"});
  run.check({"rounds.jsonl", "4", "checkpoint", "round 5"}, [&](const fs::path& path) {
    from("longer", "checkpoint")(path);
    from("longer", "ledger.jsonl")(path);
    remove_files(path, {"summary.json", "model.safetensors"});
  });
}

TEST_CASE("a run that is killed at any moment or still running passes, also when it was resumed") {
  for (const std::string& settings : {kExample, kClient}) {
    const TemporaryFolder folder;
    write_data(folder);
    run_with_copies(private_settings(folder, "out", settings, "rounds = 2\n"), folder / "out", folder / "first", false);
    CHECK(check_all_pass(folder / "first") == 1 + 2 * 2 + 1);
    // Resumes from each of these states, some of which have a summary of an earlier round.
    const auto last = Settings{{"rounds", {std::int64_t{3}}}};
    int number = 0;
    for (const auto& state : fs::directory_iterator(folder / "first")) {
      const std::string out = folder / ("again" + std::to_string(number));
      fs::copy(state.path(), out, fs::copy_options::recursive);
      run_with_copies(last, out, folder / ("copies" + std::to_string(number)), true);
      CHECK(check_all_pass(folder / ("copies" + std::to_string(number))) >= 2 + 2 * 1);
      ++number;
    }
  }
}

TEST_CASE("a run killed while writing a line or its results passes") {
  DamagedRun run(kExample);
  fs::path path = run.copy();
  const std::string results = read_file(path / "rounds.jsonl");
  write_file(path / "rounds.jsonl", results + results.substr(0, 40));
  check_passes(path);
  // The model is written, the summary still the one of the session before.
  start(private_settings(run.folder, "stopped", kExample, "rounds = 2\n"));
  const std::string before = read_file(run.folder / "stopped/summary.json");
  resume(run.folder / "stopped", {{"rounds", {std::int64_t{4}}}});
  write_file(run.folder / "stopped/summary.json", before);
  check_passes(run.folder / "stopped");
}

TEST_CASE("a ledger without other files passes, and the audit notes what it was not compared with") {
  DamagedRun run(kExample);
  const fs::path path = run.copy();
  remove_files(path, {"summary.json", "checkpoint", "model.safetensors", "rounds.jsonl", "config.toml"});
  check_passes(path);
  const Audit audit = audit_of(path);
  REQUIRE(audit.notes.size() == 2);
  CHECK(names(audit.notes[1], {"summary.json, model.safetensors, checkpoint, rounds.jsonl"}));
}

}  // namespace fedstride::test::run_records_test
