#include "run/run_records.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "nn/safetensors.hpp"
#include "tests/run/csv_runs.hpp"

namespace fedstride::test::run_records_test {
namespace {

namespace fs = std::filesystem;

const std::string kExample = "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nbatch = 20\noptimizer = 'sgd'\n";
const std::string kClient =
    "dp = 'client'\nnoise-multiplier = 1.5\nclip = 0.2\noptimizer = 'sgd'\nlearning-rate = 0.1\n"
    "accountant = 'zcdp'\n";

/// Rounds in which nobody is drawn, too.
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

/// The audit of a run's folder; a refusal to audit is its only failure.
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

void check_fails(const fs::path& run, const std::string& part) {
  CAPTURE(run.string());
  CAPTURE(part);
  const std::vector<std::string> failures = audit_of(run).failures;
  REQUIRE(!failures.empty());
  CAPTURE(failures.front());
  CHECK(failures.front().find(part) != std::string::npos);
  CHECK(failures.front().find('\n') == std::string::npos);
}

/// A finished run, and copies of it to spoil.
struct Spoiled {
  TemporaryFolder folder;
  std::string run = folder / "out";
  int copies = 0;

  explicit Spoiled(const std::string& settings, const std::string& more = "") {
    write_data(folder);
    start(private_settings(folder, "out", settings, more));
  }
  fs::path copy() {
    const fs::path path = folder / ("copy" + std::to_string(copies++));
    fs::copy(run, path, fs::copy_options::recursive);
    return path;
  }
  void check(const std::string& part, const std::function<void(const fs::path&)>& spoil) {
    const fs::path path = copy();
    spoil(path);
    check_fails(path, part);
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

void forget(const fs::path& run, std::initializer_list<const char*> names) {
  for (const char* name : names) fs::remove(run / name);
}

/// Runs, with a copy of the folder at each moment at which a kill would leave another state.
void run_with_copies(const Settings& settings, const fs::path& out, const fs::path& copies, bool goes_on) {
  int count = 0;
  const auto copy = [&](const std::string& moment) {
    fs::copy(out, copies / (std::to_string(count++) + moment), fs::copy_options::recursive);
  };
  RunObserver observer;
  observer.started = [&](const Setup&, const std::string&, std::uint32_t, const std::atomic<std::uint64_t>&) { copy("begun"); };
  observer.round = [&](const RoundRecord&) { copy("round"); };
  FleetMaker maker;
  maker.make = [&](const FleetTask& task) {
    RunFleet fleet = in_process_fleet(task);
    fleet.end_round = [&, before = fleet.end_round](std::uint32_t round) {
      if (before) before(round);
      copy("trained");
    };
    return fleet;
  };
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

TEST_CASE("a round in which nobody was drawn has no line in the ledger, and needs none") {
  Spoiled run(kExample, kDrawn);
  const auto results = lines(run.run + "/rounds.jsonl");
  const auto is_empty = [](const Json& line) { return line["clients"].empty(); };
  REQUIRE(std::ranges::any_of(results, is_empty));
  REQUIRE(audit_of(run.run).rounds < results.size());
  check_passes(run.run);
}

TEST_CASE("a ledger cut at any line fails, with and without the files that remember its length") {
  for (const std::string& settings : {kExample, kClient}) {
    Spoiled run(settings);
    const auto ledger = texts(run.run + "/ledger.jsonl");
    REQUIRE(ledger.size() == 9);  // the header, and four rounds reserved and closed
    for (std::size_t kept = 0; kept < ledger.size(); ++kept) {
      CAPTURE(kept);
      const std::vector<std::string> cut(ledger.begin(), ledger.begin() + static_cast<std::ptrdiff_t>(kept));
      const auto spoil = [&](const fs::path& path) { write((path / "ledger.jsonl").string(), cut); };
      run.check("was cut: it has " + std::to_string(kept) + " lines", spoil);
      const auto forgetful = [&](const fs::path& path) {
        spoil(path);
        forget(path, {"summary.json", "checkpoint"});
      };
      if (kept == 8) {  // the last round is reserved, and counts in full
        const fs::path path = run.copy();
        forgetful(path);
        check_passes(path);
      } else {
        run.check(kept == 0 ? "has no line"
                            : "the ledger has no reservation of round " + std::to_string((kept + 2) / 2) +
                                  "; rounds.jsonl has results up to round 4",
                  forgetful);
      }
    }
  }
}

TEST_CASE("a ledger of which rounds.jsonl is gone is held against the rounds of the checkpoint") {
  Spoiled run(kClient);
  const auto forged = [&](const fs::path& path) {
    forget(path, {"rounds.jsonl", "checkpoint"});
    const auto ledger = texts((path / "ledger.jsonl").string());
    const Json last = Json::parse(ledger[2]);
    write((path / "ledger.jsonl").string(), {ledger[0], ledger[1], ledger[2]});
    edit_summary(path, "ledger_head", last["chain"]);
    edit_summary(path, "ledger_lines", 3);
  };
  run.check("the ledger has no reservation of round 2; the run has come to round 4", forged);
}

TEST_CASE("a line of rounds.jsonl that is missing, there twice or edited fails") {
  Spoiled run(kExample);
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
    run.check(i == 3 ? "rounds.jsonl has 3 rounds; the checkpoint is of round 4"
                     : "line " + line + " of rounds.jsonl is the result of round " + next + "; it must be that of round " + line,
              with(fewer));
    auto more = results;
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(i), results[i]);
    run.check("line " + next + " of rounds.jsonl is the result of round " + line + "; it must be that of round " + next,
              with(more));
    auto edited = results;
    edited[i].insert(1, "\"x\":1,");
    run.check("rounds.jsonl was altered: its first 4 lines are not those that the checkpoint remembers", with(edited));
    edited[i] = "x";
    run.check("line " + line + " of rounds.jsonl is no round's result", with(edited));
  }
  auto longer = results;
  longer.push_back(results.back());
  longer.back().replace(longer.back().find("\"round\":4"), 9, "\"round\":5");
  longer.back().insert(longer.back().find("\"releases\":") + 11, "1");
  run.check("the ledger has no reservation of round 5; rounds.jsonl has results up to round 5", with(longer));
  const std::vector<std::string> three(results.begin(), results.end() - 1);
  run.check("summary.json is of round 4; rounds.jsonl has 3 rounds", [&](const fs::path& path) {
    with(three)(path);
    forget(path, {"checkpoint"});
  });
  run.check("model.safetensors is of round 4; rounds.jsonl has 3 rounds", [&](const fs::path& path) {
    with(three)(path);
    forget(path, {"checkpoint", "summary.json"});
  });
}

TEST_CASE("a summary that is not of the ledger, the results and the model beside it fails") {
  Spoiled run(kExample);
  const auto ledger = lines(run.run + "/ledger.jsonl");
  const std::string hash = hashes(run.run).front();
  const auto with = [](const std::string& key, const Json& value) {
    return [=](const fs::path& path) { edit_summary(path, key, value); };
  };
  run.check("summary.json is of round 9; rounds.jsonl has 4 rounds", with("rounds", 9));
  run.check("model.safetensors is of round 4; summary.json is of round 3", [](const fs::path& path) {
    forget(path, {"rounds.jsonl", "checkpoint"});
    edit_summary(path, "rounds", 3);
  });
  run.check("summary.json has the model " + hash + "; rounds.jsonl has ", with("model_hash", hash));
  run.check("summary.json has the model ", with("rounds", 3));
  run.check("was cut: it has 9 lines, the run remembers 10", with("ledger_lines", 10));
  run.check("is another one than the run remembers", with("ledger_lines", 8));
  run.check("is another one than the run remembers", with("ledger_head", "00"));
  for (const char* key : {"ledger_head", "ledger_lines"})
    run.check("does not tell 'ledger_head' and 'ledger_lines'", with(key, {}));
  for (const char* key : {"rounds", "model_hash"}) run.check("does not tell 'rounds' and 'model_hash'", with(key, {}));
  for (std::size_t line = 1; line < ledger.size(); ++line)  // as an earlier end of the ledger would have been
    run.check("summary.json is of round 4 and remembers " + counted(line, "line") + " of the ledger; round " +
                  std::to_string((line + 1) / 2) + " is not closed in these",
              [&](const fs::path& path) {
                edit_summary(path, "ledger_head", ledger[line - 1]["chain"]);
                edit_summary(path, "ledger_lines", line);
              });
}

TEST_CASE("a model or a checkpoint of another run, or with other weights, fails") {
  Spoiled run(kExample);
  start(private_settings(run.folder, "other", kExample, "seed = 8\n"));
  start(private_settings(run.folder, "longer", kExample, "rounds = 5\n"));
  const auto from = [&](const std::string& other, const char* name) {
    return [=, &run](const fs::path& path) {
      fs::copy_file(run.folder / (other + "/" + name), path / name, fs::copy_options::overwrite_existing);
    };
  };
  const std::string other = hashes(run.folder / "other").back();
  run.check("model.safetensors is the model " + other + "; summary.json has ", from("other", "model.safetensors"));
  run.check("model.safetensors is of round 5; summary.json is of round 4", from("longer", "model.safetensors"));
  run.check("model.safetensors is the model " + other + "; rounds.jsonl has ", [&](const fs::path& path) {
    from("other", "model.safetensors")(path);
    forget(path, {"summary.json"});
  });
  run.check("model.safetensors has weights with the hash ", [](const fs::path& path) {
    std::string bytes = read_file(path / "model.safetensors");
    bytes.back() ^= 1;
    write_file(path / "model.safetensors", bytes);
  });
  run.check("is another one than the run remembers", from("other", "checkpoint"));
  RunObserver observer;
  observer.round = [&](const RoundRecord& record) {
    if (record.round == 2) fs::copy_file(run.folder / "watched/checkpoint", run.folder / "second");
  };
  start(private_settings(run.folder, "watched", kExample), observer);
  fs::rename(run.folder / "second", run.folder / "watched/checkpoint");
  check_fails(run.folder / "watched",
              "rounds.jsonl has 4 rounds; the checkpoint is of round 2, and at most one round may be ahead of it");
  run.check("rounds.jsonl has 4 rounds; the checkpoint is of round 5", [&](const fs::path& path) {
    from("longer", "checkpoint")(path);
    from("longer", "ledger.jsonl")(path);
    forget(path, {"summary.json", "model.safetensors"});
  });
}

TEST_CASE("a run that is killed at any moment, or goes on meanwhile, passes; so it does when it was resumed") {
  for (const std::string& settings : {kExample, kClient}) {
    const TemporaryFolder folder;
    write_data(folder);
    run_with_copies(private_settings(folder, "out", settings, "rounds = 2\n"), folder / "out", folder / "first", false);
    CHECK(check_all_pass(folder / "first") == 1 + 2 * 2 + 1);
    // From each of these states on, with a summary of an earlier round beside it once there is one.
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

TEST_CASE("a run that was killed while it wrote a line or its results passes") {
  Spoiled run(kExample);
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

TEST_CASE("a ledger alone passes, and the audit says what it was not compared with") {
  Spoiled run(kExample);
  const fs::path path = run.copy();
  forget(path, {"summary.json", "checkpoint", "model.safetensors", "rounds.jsonl", "config.toml"});
  check_passes(path);
  const Audit audit = audit_of(path);
  REQUIRE(audit.notes.size() == 2);
  CHECK(audit.notes[1] ==
        "not there, and not compared with the ledger: summary.json, model.safetensors, checkpoint, rounds.jsonl");
}

}  // namespace fedstride::test::run_records_test
