#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <span>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/ledger/ledger_file.hpp"
#include "sim/settings/configuration.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sanitized.hpp"

namespace fedstride::test::audit_test {
namespace {

using Lines = std::vector<std::string>;

void replace(std::string& text, const std::string& old, const std::string& by) {
  const auto at = text.find(old);
  INFO("'" << old << "' is not in '" << text << "'");
  REQUIRE(at != std::string::npos);
  text.replace(at, old.size(), by);
}

/// A finished run of two rounds with both levels of privacy, and copies of it to spoil.
struct Runs {
  TemporaryFolder folder;
  std::string original = folder / "out";

  Runs() {
    write_table(folder.path() / "data");
    const Outcome outcome = run_program(
        federation(folder, {"--dp", "both", "--clip", "1", "--noise-multiplier", "2", "--batch", "10", "--client-clip", "0.5",
                            "--client-noise-multiplier", "20", "--accountant", "rdp", "--client-accountant", "zcdp"}));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
  }

  std::string copy(const std::string& name) const {
    std::filesystem::copy(original, folder / name, std::filesystem::copy_options::recursive);
    return folder / name;
  }
};

Lines lines_of(const std::string& run) {
  Lines lines;
  const std::string text = read_file(run + "/ledger.jsonl");
  for (const auto line : split(text, '\n')) lines.emplace_back(line);
  lines.pop_back();
  return lines;
}

void write(const std::string& run, const Lines& lines) {
  std::ofstream file(run + "/ledger.jsonl", std::ios::trunc);
  for (const auto& line : lines) file << line << '\n';
}

/// The lines with their chain made anew, as a forger would, and what the run remembers of it adapted or taken away.
void forge(const std::string& run, const Lines& lines) {
  std::ofstream file(run + "/ledger.jsonl", std::ios::trunc);
  std::string value;
  for (const auto& line : lines) {
    const std::string text = line.substr(0, line.rfind(",\"chain\":\"")) + "}";
    value = chain_value(value, text, "");
    file << chained(text, value) << '\n';
  }
  auto summary = Json::parse(read_file(run + "/summary.json"));
  summary["ledger_head"] = value;
  summary["ledger_lines"] = lines.size();
  std::ofstream(run + "/summary.json") << summary.dump(2) << "\n";
  std::filesystem::remove(run + "/checkpoint");
}

void check_fails(const std::string& run, const Words& parts) {
  const Outcome outcome = run_program({"privacy", "audit", run});
  CHECK(outcome.code == 1);
  CHECK_MESSAGE(names(outcome.err, parts), joined(parts) << " in " << outcome.err);
}

TEST_CASE("the audit of a run in order recomputes what its summary says, and the audit of a spoilt one fails") {
  const Runs runs;

  const Outcome text = run_program({"privacy", "audit", runs.original, "--clients"});
  CHECK(text.code == 0);
  CHECK(text.err.empty());
  CHECK(text.out.find("client 2") != std::string::npos);
  CHECK(text.out.find("secret") != std::string::npos);
  CHECK(text.out.find("config.toml") != std::string::npos);

  const Outcome outcome = run_program({"privacy", "audit", runs.original, "--json"});
  REQUIRE(outcome.code == 0);
  const auto audit = Json::parse(outcome.out);
  const auto summary = Json::parse(read_file(runs.original + "/summary.json"));
  REQUIRE(audit["statements"].size() == 2);
  REQUIRE(summary["privacy"].size() == 2);
  CHECK(audit["failures"].empty());
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(audit["statements"][i]["level"] == summary["privacy"][i]["level"]);
    CHECK(audit["statements"][i]["epsilon"] == summary["privacy"][i]["epsilon"]);
    CHECK(audit["statements"][i]["second_accountant"] == "tight");
    CHECK(audit["statements"][i]["second_epsilon"] < audit["statements"][i]["epsilon"]);
    CHECK(audit["statements"][i]["second_epsilon"] > 0);
  }

  int copies = 0;
  const auto spoil = [&](const Words& parts, const std::function<void(const std::string&)>& how) {
    const std::string run = runs.copy("copy" + std::to_string(copies++));
    how(run);
    check_fails(run, parts);
  };
  const Lines lines = lines_of(runs.original);
  REQUIRE(lines.size() == 5);  // header, and two rounds reserved and closed
  spoil({"ledger.jsonl", "4", "5"}, [&](const std::string& run) { write(run, Lines(lines.begin(), lines.end() - 1)); });
  spoil({"ledger.jsonl", "line 2"}, [&](const std::string& run) {
    Lines edited = lines;
    replace(edited[1], "[2.0,", "[9.0,");
    write(run, edited);
  });
  spoil({"ledger.jsonl", "line 3"}, [&](const std::string& run) {
    Lines dropped = lines;
    dropped.erase(dropped.begin() + 2);
    write(run, dropped);
  });
  spoil({"ledger.jsonl"}, [&](const std::string& run) {
    const std::string remembered = read_file(run + "/summary.json");
    forge(run, lines);
    Lines other = lines;
    replace(other[1], "[2.0,", "[9.0,");
    forge(run, other);
    std::ofstream(run + "/summary.json") << remembered;
  });
  spoil({"digest"}, [&](const std::string& run) {
    Lines twice = lines;
    twice.push_back(lines[1]);
    const std::string digest = "\"digest\":\"";
    twice.back().replace(twice.back().find(digest) + digest.size(), 4, "ffff");
    forge(run, twice);
  });
  spoil({"reserved"}, [&](const std::string& run) {
    Lines more = lines;
    // The releases that the round reserved, executed with one more.
    std::string groups = lines[1].substr(lines[1].find("\"groups\":") + 9);
    groups = groups.substr(0, groups.rfind(",\"chain\""));
    const auto end = groups.find("]]");
    const auto comma = groups.rfind(',', end);
    const int count = std::stoi(groups.substr(comma + 1, end - comma - 1));
    groups.replace(comma + 1, end - comma - 1, std::to_string(count + 1));
    more[2] = "{\"kind\":\"close\",\"round\":1,\"executed\":" + groups + ",\"chain\":\"\"}";
    forge(run, more);
  });
  spoil({"accountant", "zcdp"}, [&](const std::string& run) {
    Lines other = lines;
    replace(other[0], "\"accountant\":\"rdp\"", "\"accountant\":\"zcdp\"");
    forge(run, other);
  });
  spoil({"'rpd'", "'rdp'"}, [&](const std::string& run) {
    Lines other = lines;
    replace(other[0], "\"accountant\":\"rdp\"", "\"accountant\":\"rpd\"");
    forge(run, other);
  });
  spoil({"weight", "sensitivity"}, [&](const std::string& run) {
    Lines other = lines;
    replace(other[0], "\"bound\":", "\"largest_weight\":0.5,\"bound\":");
    forge(run, other);
  });
  spoil({"0.01"}, [&](const std::string& run) {
    Lines other = lines;
    replace(other[0], "\"accountant\":", "\"epsilon\":0.01,\"accountant\":");
    forge(run, other);
  });
  // The settings beside it are somebody's to edit, too.
  const auto edit = [&](const std::string& old, const std::string& by) {
    return [=](const std::string& run) {
      std::string settings = read_file(run + "/config.toml");
      replace(settings, old, by);
      std::ofstream(run + "/config.toml") << settings;
    };
  };
  spoil({"client-clip", "0.25", "config.toml", "0.5"}, edit("client-clip = 0.5", "client-clip = 0.25"));
  spoil({"clip", "9", "config.toml"}, edit("\nclip = 1.0\n", "\nclip = 9.0\n"));
  spoil({"noise-multiplier", "3", "config.toml", "2"}, edit("\nnoise-multiplier = 2.0\n", "\nnoise-multiplier = 3.0\n"));
  spoil({"randomness", "secret", "config.toml", "seeded"}, edit("'seeded'", "'secret'"));
  spoil({"accountant", "zcdp", "config.toml", "rdp"}, edit("\naccountant = 'rdp'", "\naccountant = 'zcdp'"));
  spoil({"0 lines"}, [&](const std::string& run) { write(run, {}); });
  // And so is what it says of itself.
  spoil({"rounds.jsonl", "1 round", "checkpoint", "round 2"}, [](const std::string& run) {
    const std::string results = read_file(run + "/rounds.jsonl");
    std::ofstream(run + "/rounds.jsonl", std::ios::trunc) << results.substr(0, results.find('\n') + 1);
  });
  spoil({"ledger", "round 2", "rounds.jsonl"}, [&](const std::string& run) {
    write(run, Lines(lines.begin(), lines.begin() + 3));
    for (const char* name : {"/summary.json", "/checkpoint"}) std::filesystem::remove(run + name);
  });
}

// What a file says that is no claim on results or privacy: of the machine, the session (it may have been resumed since) and the build; counts of rows, which are facts of
// the data; notes. An audit cannot compute it again without the data.
const std::set<std::string> kClaimsNothing{"seconds",
                                           "evaluation_seconds",
                                           "examples_per_second",
                                           "peak_memory_bytes",
                                           "pieces_helped_this_session",
                                           "failed_updates_this_session",
                                           "idle_rounds",
                                           "numerics_version",
                                           "version",
                                           "commit",
                                           "compiler",
                                           "instruction_set",
                                           "notes",
                                           "training_rows",
                                           "finished",
                                           "test_rows",
                                           "evaluated_rows"};

/// Every value in the JSON changed, one after the other, and every member of the object taken away: its name, and the text.
std::vector<std::pair<std::string, std::string>> edits(const Json& json, int indent = 2) {
  std::vector<std::pair<std::string, std::string>> all;
  const std::function<void(const Json&, const std::string&, const std::function<void(const Json&)>&)> visit =
      [&](const Json& value, const std::string& name, const std::function<void(const Json&)>& put) {
        if (value.is_object() || value.is_array()) {
          for (const auto& [key, part] : value.items()) {
            Json without = value;
            if (value.is_object())
              without.erase(key);
            else
              without.erase(without.begin() + std::stoi(key));
            put(without);
            visit(part, name.empty() ? key : name, [&, key = key](const Json& changed) {
              Json whole = value;
              if (value.is_object())
                whole[key] = changed;
              else
                whole[static_cast<std::size_t>(std::stoi(key))] = changed;
              put(whole);
            });
          }
        } else if (value.is_boolean()) {
          put(!value.get<bool>());
        } else if (value.is_number_unsigned()) {
          put(value.get<std::uint64_t>() + 1);
        } else if (value.is_number()) {
          put(value.get<double>() * 0.99);
        } else {
          put(value.is_string() ? Json(value.get<std::string>() + " not") : Json(0.5));
        }
      };
  for (const auto& [key, value] : json.items()) {
    Json without = json;
    without.erase(key);
    all.emplace_back(key, without.dump(indent) + "\n");
    visit(value, key, [&, key = key](const Json& changed) {
      Json whole = json;
      whole[key] = changed;
      all.emplace_back(key, whole.dump(indent) + "\n");
    });
  }
  return all;
}

// 4 s of processor time for each run, as each edit is audited by the program. Under ./run-tests --all a publishable one as well.
TEST_CASE("every edited field of a run's files changes nothing that is claimed, or fails the audit") {
  const TemporaryFolder folder;
  write_table(folder.path() / "data");
  const Words levels[] = {
      {"--dp", "both", "--clip", "1", "--noise-multiplier", "2", "--batch", "10", "--client-clip", "0.5",
       "--client-noise-multiplier", "20", "--epsilon", "3", "--accountant", "rdp", "--client-accountant", "zcdp"},
      {"--dp", "example", "--clip", "1", "--noise-multiplier", "2", "--batch", "10", "--publishable", "--randomness", "secret"}};
  for (const Words& level : std::span(levels).first(every_check() ? 2 : 1)) {
    CAPTURE(level.back());
    std::filesystem::remove_all(folder.path() / "out");
    const Outcome outcome = run_program(federation(folder, level));
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const std::string run = folder / "out";
    const auto audit = [&] { return run_program({"privacy", "audit", run}); };
    REQUIRE_MESSAGE(audit().code == 0, audit().err);
    std::size_t failed = 0;
    const auto with = [&](const std::string& file, const std::string& text, const std::string& what, bool may_pass) {
      const std::string before = read_file(run + "/" + file);
      std::ofstream(run + "/" + file, std::ios::trunc) << text;
      const Outcome found = audit();
      CHECK_MESSAGE((found.code != 0 || may_pass), file << ": " << what << " was edited, and the audit passes");
      if (found.code != 0) CHECK_MESSAGE((line_count(found.err) == 1 && found.err.size() < 600), found.err);
      failed += found.code != 0 ? 1 : 0;
      std::ofstream(run + "/" + file, std::ios::trunc) << before;
    };
    for (const auto& [name, text] : edits(Json::parse(read_file(run + "/summary.json"))))
      with("summary.json", text, name, kClaimsNothing.contains(name));
    CHECK(failed > 30);

    const std::string settings = read_file(run + "/config.toml");
    for (const auto line : split(settings, '\n')) {
      const std::size_t at = line.find(" = ");
      if (at == std::string_view::npos) continue;
      const std::string key(line.substr(0, at)), value(line.substr(at + 3));
      const KeyInfo* info = find_key(key);
      REQUIRE_MESSAGE(info != nullptr, key);
      const std::string other = value == "true"    ? "false"
                                : value == "false" ? "true"
                                : value[0] == '\'' ? value.substr(0, value.size() - 1) + "x'"
                                : value[0] == '"'  ? value.substr(0, value.size() - 1) + "x\""
                                                   : "1" + value;
      std::string edited = settings;
      replace(edited, std::string(line) + "\n", key + " = " + other + "\n");
      // A setting may pass that has no effect under the others, or that may change in a run; and the seed, which no ledger shows.
      const auto lasting = [](const std::string& text) -> std::optional<std::string> {
        try {
          Configuration configuration = determining(resolve_unchecked(parse_settings(text, "test")));
          configuration.seed = 1;
          return identity_settings(configuration);
        } catch (const Error&) {
          return std::nullopt;
        }
      };
      with("config.toml", edited, key, may_change(info->shapes) || lasting(edited) == lasting(settings));
    }

    const std::string rounds = read_file(run + "/rounds.jsonl");
    for (std::size_t i = 0; i < rounds.size(); i += 1 + rounds.size() / 15) {
      std::string edited = rounds;
      edited[i] = edited[i] == '1' ? '2' : '1';
      if (edited != rounds) with("rounds.jsonl", edited, "byte " + std::to_string(i), false);
    }
    const std::string ledger = read_file(run + "/ledger.jsonl");
    for (std::size_t i = 0; i < ledger.size(); i += 1 + ledger.size() / 15) {
      std::string edited = ledger;
      edited[i] = edited[i] == '1' ? '2' : '1';
      if (edited != ledger) with("ledger.jsonl", edited, "byte " + std::to_string(i), false);
    }
    for (const char* const file : {"checkpoint", "model.safetensors"}) {
      const std::string bytes = read_file(run + "/" + file);
      for (std::size_t i = bytes.size() / 2; i < bytes.size(); i += 1 + bytes.size() / 20) {
        std::string edited = bytes;
        edited[i] = static_cast<char>(edited[i] ^ 4);
        with(file, edited, "byte " + std::to_string(i), false);
      }
    }
    CHECK(audit().code == 0);
  }
}

TEST_CASE("without a checkpoint, what is edited fails the audit or is listed as not checked; the card is of the ledger") {
  const Runs runs;
  const std::string run = runs.copy("owner-keeps-checkpoint");
  std::filesystem::remove(run + "/checkpoint");
  const auto audit = [&] { return run_program({"privacy", "audit", run, "--json"}); };
  const Outcome whole = run_program({"privacy", "audit", run});
  CHECK_MESSAGE(whole.out.starts_with("PASSED\n"), whole.out << whole.err);
  for (const char* name : {"audit.html", "audit.md"}) {
    const std::string page = runs.folder / name;
    const Outcome paged = run_program({"privacy", "audit", run, "--out", page});
    REQUIRE_MESSAGE(paged.code == 0, paged.err);
    const std::string text = read_file(page);
    for (const char* part : {": PASSED", "The noise follows from the seed", "Not checked", "peak", "zcdp", "whoever has it can"})
      CHECK_MESSAGE(text.find(part) != text.npos, name << ": " << part);
  }
  CHECK(run_program({"privacy", "audit", run, "--out", runs.folder / "audit.txt"}).code == 2);
  const auto has = [](const std::string& text, const Words& parts) {
    return std::ranges::all_of(parts, [&](const std::string& part) { return text.find(part) != text.npos; });
  };
  CHECK(has(whole.out,
            {"The noise follows from the seed", "one row", "everything that one client did", "not checked: summary.json"}));
  std::size_t failed = 0, listed = 0;
  const auto edited = [&](const std::string& file, const std::string& text, const std::string& key) {
    const std::string before = read_file(run + "/" + file);
    std::ofstream(run + "/" + file, std::ios::trunc) << text;
    const Outcome found = audit();
    failed += found.code != 0 ? 1 : 0;
    const auto is_listed = [&] {
      const Json told = Json::parse(found.out);
      for (const Json& one : told["not_checked"])
        if (const auto line = one.get<std::string>(); line.starts_with(file) && line.find(key) != line.npos) return true;
      return false;
    };
    if (found.code == 0) CHECK_MESSAGE((++listed, is_listed()), file << ": " << key << " was edited, and the audit is silent");
    std::ofstream(run + "/" + file, std::ios::trunc) << before;
  };
  const std::string rounds = read_file(run + "/rounds.jsonl");
  const std::size_t end = rounds.find('\n') + 1;
  for (const auto& [key, text] : edits(Json::parse(rounds.substr(end)), -1))
    edited("rounds.jsonl", rounds.substr(0, end) + text, key);
  CHECK(failed >= 12);  // round, hash, and epsilon and delta of two levels, changed and taken away
  const Json summary = Json::parse(read_file(run + "/summary.json"));
  for (const char* added : {"privacy_verdict", "audited"}) {
    Json more = summary;
    more[added] = "epsilon 0.01";
    edited("summary.json", more.dump(2) + "\n", added);
  }
  for (const auto& [key, text] : edits(summary)) edited("summary.json", text, key);
  CHECK(listed > 10);

  const auto fails = [&](const std::string& name, const std::function<void(const std::string& run)>& spoil, const Words& parts) {
    const std::string copy = runs.copy(name);
    std::filesystem::remove(copy + "/checkpoint");
    spoil(copy);
    check_fails(copy, parts);
  };
  const auto change = [](const std::string& path, const std::string& old, const std::string& by) {
    std::string text = read_file(path);
    replace(text, old, by);
    std::ofstream(path, std::ios::trunc) << text;
  };
  fails("twice", [&](const std::string& at) { change(at + "/summary.json", "{", "{\n  \"privacy\": [],"); },
        {"summary.json", "form"});
  fails("schema",
        [&](const std::string& at) {
          change(at + "/schema.json", "\"normalized_by\":\"", "\"normalized_by\":\"N");
          change(at + "/model.safetensors", "\\\"normalized_by\\\":\\\"n", "\\\"normalized_by\\\":\\\"N");
        },
        {"schema"});
  fails("no-schema", [&](const std::string& at) { std::filesystem::remove(at + "/schema.json"); }, {"schema.json", "missing"});
  fails("rounds", [&](const std::string& at) { change(at + "/config.toml", "rounds = 2", "rounds = 1"); },
        {"rounds", "config.toml"});
  fails("metadata", [&](const std::string& at) { change(at + "/model.safetensors", "\"rounds\"", "\"claims\""); },
        {"model.safetensors"});

  // Every byte of the model's header, and weights here and there.
  const std::string model = read_file(run + "/model.safetensors");
  const std::size_t header = 8 + static_cast<unsigned char>(model[0]) + 256 * std::size_t{static_cast<unsigned char>(model[1])};
  for (std::size_t i = 8; i < model.size(); i += i < header ? 11 : (model.size() - header) / 20) {
    std::string other = model;
    other[i] = static_cast<char>(other[i] ^ 1);
    edited("model.safetensors", other, "byte " + std::to_string(i));
  }

  // Another version's folder: its words may differ, and what it knows more is listed; its numbers are those of the ledger.
  const auto of_another_version = [&](const std::string& old, const std::string& by) {
    std::string text = summary.dump(2) + "\n";
    replace(text, summary["version"], "0.3.9");
    replace(text, old, by);
    std::ofstream(run + "/summary.json", std::ios::trunc) << text;
    const Outcome found = audit();
    std::ofstream(run + "/summary.json", std::ios::trunc) << summary.dump(2) + "\n";
    return found;
  };
  CHECK(of_another_version("the protected record is", "what is protected is").out.find("the wording of 'privacy'") !=
        std::string::npos);
  CHECK(of_another_version("{\n  \"", "{\n  \"what_only_it_writes\": 1,\n  \"").out.find("what_only_it_writes") !=
        std::string::npos);
  CHECK(of_another_version("\"epsilon\": ", "\"epsilon\": 1").code != 0);

  // An edited summary does not reach the card.
  const std::string card = runs.copy("card");
  const Outcome honest = run_program({"explain", card});
  change(card + "/summary.json", "\"epsilon\": ", "\"epsilon\": 0.01, \"told\": ");
  const Outcome told = run_program({"explain", card});
  CHECK(told.out == honest.out);
  CHECK(has(honest.out, {"The noise follows from the seed", "even odds"}));
  std::filesystem::remove(card + "/ledger.jsonl");
  CHECK(has(run_program({"explain", card}).out, {"claimed by summary.json", "ledger.jsonl"}));
}

TEST_CASE("what is no run with privacy is refused in one line") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "empty");
  check_fails(folder / "empty", {folder / "empty"});
  const Outcome nowhere = run_program({"privacy", "audit", folder / "none"});
  CHECK(nowhere.code == 2);
  CHECK(names(nowhere.err, {folder / "none"}));
  CHECK(run_program({"privacy", "audit"}).code == 2);
}

TEST_CASE("the schedule command prints the numbers of steps and the noise, and says what its inputs must be") {
  const Words question{"privacy", "schedule", "--kappa", "100", "--smoothness", "1",     "--dimension", "1000",
                       "--gap",   "1",        "--clip",  "1",   "--examples",   "10000", "--budget",    "0.5"};
  const Outcome text = run_program(question);
  CHECK(text.code == 0);
  Words json_question = question;
  json_question.insert(json_question.end(), {"--steps", "100", "--json"});
  const Outcome outcome = run_program(json_question);
  REQUIRE(outcome.code == 0);
  const auto json = Json::parse(outcome.out);
  // kappa 100: gamma 0.99; the reference case of T 100 at R 0.5.
  REQUIRE(json["sigmas"].size() == 100);
  CHECK(json["sigmas"][0].get<double>() == doctest::Approx(16.099382789407485).epsilon(1e-9));
  CHECK(json["sigmas"][99].get<double>() == doctest::Approx(12.553947058944846).epsilon(1e-9));
  CHECK(json["alpha"].get<double>() == doctest::Approx(1e-5).epsilon(1e-12));  // 1000 / (2 * 0.5) * 1e-8
  for (const Words& bad : {Words{"--kappa", "0.5"}, Words{"--gap", "0"}, Words{"--momentum", "1"}, Words{"--steps", "-1"}}) {
    Words refused{"privacy", "schedule"};
    refused.insert(refused.end(), bad.begin(), bad.end());
    const Outcome answer = run_program(refused);
    CHECK(answer.code == 2);
    CHECK(line_count(answer.err) == 1);
  }
}

}  // namespace
}  // namespace fedstride::test::audit_test
