#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "dp/ledger/statement.hpp"
#include "nn/safetensors.hpp"
#include "sim/prepare/privacy_setup.hpp"
#include "sim/prepare/setup.hpp"
#include "tests/data/npz_files.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/bounds.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::publishable_test {

namespace fs = std::filesystem;

namespace {

const std::string kCommon = "optimizer = 'adadp'\npartition = 'iid'\nbatch = 6\nrounds = 2\n";
const std::string kSecret = kCommon + "publishable = true\nrandomness = 'secret'\n";
const std::map<std::string, std::string> kLevels{
    {"example", "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nmetrics = true\n"},
    {"client", "dp = 'client'\nnoise-multiplier = 1.5\nclip = 0.2\n"},
    {"both",
     "dp = 'both'\nnoise-multiplier = 2\nclient-noise-multiplier = 3\nclient-clip = 0.3\ncohort = 'poisson'\ncohort-rate = "
     "0.5\n"},
    {"moments",
     "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nnormalize = 'private'\nnormalize-noise = 3\nrange = '-3,5'\nmean = ''\n"
     "deviation = ''\npublic-test = false\nevaluate = 'private'\nevaluate-noise = 2\n"},
    {"numbers", "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\ntargets = 'values'\nclasses = 0\nmetrics = true\n"},
    {"tokens",
     "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nvocabulary = 9\nclasses = 9\nmean = "
     "''\n"
     "deviation = ''\ntargets = 'positions'\nmodel = 'embedding 4 | lstm 4 | dense classes'\n"},
    {"words",
     "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\ncategories = 'city=Rome,Oslo'\n"
     "classes = 0\nclass-names = '0,1,2'\n"
     "missing = 'indicator'\npublic-test = false\n"},
    {"halts", "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nepsilon = 2\nrounds = 50\n"}};

using Fields = std::map<std::string, std::string>;  // "rounds.jsonl clients.rows" -> its values, or why it may be published

// The tables of docs/privacy.md, between its headings: "| `file` | `field` | kind | ..." of what is published, "| `file` | ..." of
// what stays with the owner.
Fields documented(std::set<std::string>& stay) {
  Fields published;
  const std::string text = read_file(fs::path(FEDSTRIDE_SOURCE_DIR) / "docs/privacy.md");
  const auto begin = text.find("## What `--publishable` writes");
  REQUIRE(begin != std::string::npos);
  const std::string section = text.substr(begin, text.find("\n## ", begin + 1) - begin);
  for (const auto line : split(section, '\n')) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    for (const auto cell : split(line, '|')) cells.emplace_back(trimmed(cell));
    const auto plain = [](std::string cell) {
      std::erase(cell, '`');
      return cell;
    };
    REQUIRE(cells.size() >= 4);
    if (cells[3] == "public" || cells[3] == "released" || cells[3] == "keyed") {
      const std::string names = plain(cells[2]);
      for (const auto field : split(names, ',')) published.emplace(plain(cells[1]) + " " + std::string(trimmed(field)), cells[3]);
    } else {
      stay.insert(plain(cells[1]));
    }
  }
  return published;
}

void add_fields(Fields& fields, const std::string& file, const Json& json) {
  for (const auto& [name, value] : json.items()) {
    if (name != "clients") {
      fields[file + " " + name] += value.dump() + "\n";
      continue;
    }
    for (const Json& client : value)
      for (const auto& [of_client, one] : client.items()) fields[file + " clients." + of_client] += one.dump() + "\n";
  }
}

// Every field of every file that a run has left, but for those that stay with the owner.
Fields fields_of(const fs::path& run, const std::set<std::string>& stay) {
  Fields fields;
  for (const auto& entry : fs::directory_iterator(run)) {
    const std::string name = entry.path().filename();
    if (stay.contains(name)) continue;
    if (name == "config.toml") {
      fields[name + " all"] = read_file(entry.path());
    } else if (name == "rounds.jsonl") {
      for (const Json& line : test::lines(entry.path())) add_fields(fields, name, line);
    } else if (name == "summary.json" || name == "schema.json") {
      add_fields(fields, name, Json::parse(read_file(entry.path())));
    } else if (name == "model.safetensors") {
      const SafeTensors file = read_safetensors(entry.path());
      for (const auto& [key, value] : file.metadata) fields[name + " " + key] = value;
      fields[name + " tensors"] = read_file(entry.path());
    } else {
      fields[name + " ?"] = "";
    }
  }
  return fields;
}

// Settings of several texts; a later one's value replaces an earlier one's.
Settings settings_of(const test::TemporaryFolder& folder, const std::string& out, const std::vector<std::string>& texts) {
  Settings settings = settings_for(folder, out);
  for (const auto& text : texts)
    for (const auto& [key, setting] : parse_settings(text, "test")) settings[key] = setting;
  settings["out"] = {folder / out, true};  // named on the command line, and so in no file
  return settings;
}

// 60 lines of four tokens, each followed by the next number, and a public test part of 15; of them the first has `token` in its place.
void write_tokens(const test::TemporaryFolder& folder, std::int64_t token) {
  const auto lines_of = [](std::int64_t count, std::int64_t shift) {
    std::vector<std::int64_t> tokens;
    for (std::int64_t i = 0; i < 4 * count; ++i) tokens.push_back((i / 4 + i + shift) % 9);
    return tokens;
  };
  std::vector<std::int64_t> x = lines_of(60, 0);
  x.front() = token;
  write_file(folder / "tokens.npz", npz_bytes({{"x", npy_bytes("<i8", "(60, 4)", bytes_of(x))},
                                               {"y", npy_bytes("<i8", "(60, 4)", bytes_of(lines_of(60, 1)))},
                                               {"x_test", npy_bytes("<i8", "(15, 4)", bytes_of(lines_of(15, 0)))},
                                               {"y_test", npy_bytes("<i8", "(15, 4)", bytes_of(lines_of(15, 1)))}}));
}

// Sixty rows of a word, a number with gaps and a label; the first begins as given.
void write_words(const test::TemporaryFolder& folder, const std::string& first) {
  std::string text = "city,x,label\n" + first + ",0\n";
  for (int i = 1; i < 60; ++i)
    text += std::string(i % 2 == 0 ? "Rome" : "Oslo") + "," + (i % 9 == 0 ? "NA" : std::to_string(i % 7)) + "," +
            std::to_string(i % 3) + "\n";
  write_file(folder / "words.csv", text);
}

// Another record in the place of the first.
void change_one_record(const test::TemporaryFolder& folder) {
  write_words(folder, "Lund,?");
  write_tokens(folder, 77);
  std::string table = read_file(folder / "train.csv");
  table.replace(0, table.find('\n'), "9,-9,9,2");
  write_file(folder / "train.csv", table);
}

std::vector<std::uint32_t> draws(const RandomSource& source) {
  RandomStream stream = source.at({Purpose::noise, 1, 0, 0});
  return {stream(), stream(), stream()};
}

}  // namespace

TEST_CASE(
    "what is published is in the table of docs/privacy.md, and one other record changes only what the table calls released") {
  const test::TemporaryFolder folder;
  std::set<std::string> stay;
  const Fields table = documented(stay);
  REQUIRE(table.size() > 20);
  std::set<std::string> seen;
  std::set<std::string> differ;
  std::set<std::string> left;
  std::map<std::string, std::string> levels = kLevels;
  for (const std::string& rule : bounds_on_lots())
    levels[rule + "-lots"] = kLevels.at("example") + "clip-rule = '" + rule + "'\noptimizer = 'sgd'\nlearning-rate = 0.1\n";
  for (const std::string& rule : bounds_on_updates()) levels[rule] = kLevels.at("client") + "clip-rule = '" + rule + "'\n";
  for (const auto& [name, level] : levels) {
    CAPTURE(name);
    write_data(folder);
    write_tokens(folder, 0);
    write_words(folder, "Rome,1");
    Settings settings = settings_of(folder, name, {kSecret, level});
    if (name == "tokens") settings["data"] = {folder / "tokens.npz", true};
    if (name == "tokens") settings.erase("header");
    if (name == "words") settings["data"] = {folder / "words.csv", true};
    if (name == "words") settings["header"] = {"yes", true};
    start(settings);
    change_one_record(folder);
    settings["out"] = {folder / (name + "-other"), true};
    start(settings);
    const Fields one = fields_of(folder / name, stay);
    const Fields other = fields_of(folder / (name + "-other"), stay);
    for (const auto& [field, value] : one) {
      CHECK_MESSAGE(table.contains(field), field << " is published and not in the table");
      seen.insert(field);
      REQUIRE_MESSAGE(other.contains(field), field);
      if (other.at(field) == value) continue;
      differ.insert(field);
      CHECK_MESSAGE((table.contains(field) && table.at(field) != "public"), field << " depends on a record");
    }
    CHECK(one.size() == other.size());
    for (const auto& entry : fs::directory_iterator(folder / name))
      if (stay.contains(entry.path().filename())) left.insert(entry.path().filename());
  }
  for (const auto& [field, kind] : table) {
    CHECK_MESSAGE(seen.contains(field), field << " is in the table and not published");
    const bool of_client = field.find(" clients.") != std::string::npos;  // in two rounds rates go the same few ways
    if (kind != "public" && !of_client)
      CHECK_MESSAGE(differ.contains(field), field << " is called " << kind << " and follows from no record");
  }
  CHECK(left == std::set<std::string>{"checkpoint", "ledger.jsonl", "secret.key", "states"});
}

TEST_CASE("under privacy a run publishes no hash of the data or the partition, and with the secret source stores none") {
  const test::TemporaryFolder folder;
  write_data(folder);
  for (const std::string randomness : {"seeded", "secret"}) {
    CAPTURE(randomness);
    const Settings settings =
        settings_of(folder, randomness, {kCommon, kLevels.at("example"), "randomness = '" + randomness + "'\n"});
    const Setup setup = prepare(resolve(settings));
    start(settings);
    const std::set<std::string> published{"config.toml", "rounds.jsonl", "summary.json", "model.safetensors"};
    for (const auto& entry : fs::recursive_directory_iterator(folder / randomness)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().filename();
      if (randomness == "seeded" && !published.contains(name)) continue;
      const std::string bytes = read_file(entry.path());
      CHECK_MESSAGE(bytes.find(setup.data.hash) == std::string::npos, name);
      if (name != "partition.json") CHECK_MESSAGE(bytes.find(setup.clients.partition_hash) == std::string::npos, name);
      CHECK_MESSAGE(bytes.find(identity(setup)) == std::string::npos, name);
      CHECK_MESSAGE(bytes.find(releases_identity(setup)) == std::string::npos, name);
    }
  }
}

TEST_CASE("with the same key or seed, a run draws other noise if a record, a setting or the noise differs") {
  const test::TemporaryFolder folder;
  write_data(folder);
  SecretKey key{};
  key[5] = 1;
  const auto prepared = [&](const std::string& more) {
    return prepare(resolve(settings_of(folder, "a", {kCommon, kLevels.at("example"), more})));
  };
  const Setup before = prepared("");
  const Setup again = prepared("");
  const Setup more_rounds = prepared("rounds = 9\nthreads = 1\n");
  const Setup other_clip = prepared("clip = 0.25\n");
  change_one_record(folder);
  const Setup other_record = prepared("");
  for (const auto& secret : {std::optional<SecretKey>(), std::optional(key)}) {
    CAPTURE(secret.has_value());
    const auto expected = draws(private_source(before, secret));
    CHECK(draws(private_source(again, secret)) == expected);
    CHECK(draws(private_source(more_rounds, secret)) == expected);  // a run may be resumed with these
    CHECK(draws(private_source(other_clip, secret)) != expected);
    CHECK(draws(private_source(other_record, secret)) != expected);
    CHECK(run_identity(other_record, secret) != run_identity(before, secret));
  }
  CHECK(draws(private_source(before, key)) != draws(private_source(before, std::nullopt)));
}

TEST_CASE("a ledger with a reservation is never overwritten, and a run that has lost its checkpoint is refused") {
  const test::TemporaryFolder folder;
  write_data(folder);
  for (const std::string randomness : {"seeded", "secret"}) {
    const fs::path run = folder / randomness;
    start(settings_of(folder, randomness, {kCommon, kLevels.at("client"), "randomness = '" + randomness + "'\n"}));
    const std::string ledger = read_file(run / "ledger.jsonl");
    const std::string settings = read_file(run / "config.toml");
    const std::string key = randomness == "secret" ? read_file(run / "secret.key") : "";
    fs::remove(run / "checkpoint");
    fs::remove(run / "rounds.jsonl");
    const auto check_refused = [&](const std::string& how) {
      CAPTURE(randomness);
      CAPTURE(how);
      CHECK_FAILURE(resume(run.string(), {}), (run / "ledger.jsonl").string());
      CHECK(read_file(run / "ledger.jsonl") == ledger);
      if (!key.empty()) CHECK(read_file(run / "secret.key") == key);
      CHECK_FALSE(fs::exists(run / "checkpoint"));
    };
    check_refused("as it was");
    std::string edited = settings;
    edited.replace(edited.find("clip = 0.2"), 10, "clip = 0.1");
    write_file(run / "config.toml", edited);
    check_refused("clip edited");
    write_file(run / "config.toml", settings);
    change_one_record(folder);
    check_refused("a record changed");
    write_data(folder);
  }
}

TEST_CASE("a run is resumed only with its own secret key, which is never replaced") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_of(folder, "a", {kSecret, kLevels.at("example")}));
  const std::string key = read_file(folder / "a/secret.key");
  fs::remove(folder / "a/secret.key");
  Settings more;
  more["rounds"] = {std::int64_t{3}};
  CHECK_FAILURE(resume(folder / "a", more), folder / "a/secret.key");
  CHECK_FALSE(fs::exists(folder / "a/secret.key"));
  renew_key(folder / "a/secret.key");
  CHECK_FAILURE(resume(folder / "a", more), folder / "a", "secret.key");
  write_file(folder / "a/secret.key", key);
  fs::permissions(folder / "a/secret.key", fs::perms::owner_read | fs::perms::owner_write);
  CHECK(resume(folder / "a", more).rounds == 3);
}

TEST_CASE("a run killed before its first reservation starts again with another key") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_of(folder, "a", {kSecret, kLevels.at("client")}));
  const std::string key = read_file(folder / "a/secret.key");
  const std::string ledger = read_file(folder / "a/ledger.jsonl");
  const auto models = hashes(folder / "a");
  fs::remove(folder / "a/checkpoint");
  fs::remove(folder / "a/rounds.jsonl");
  write_file(folder / "a/ledger.jsonl", ledger.substr(0, ledger.find('\n') + 1));
  CHECK(resume(folder / "a", {}).rounds == 2);
  CHECK(read_file(folder / "a/secret.key") != key);
  CHECK(hashes(folder / "a") != models);
}

TEST_CASE("an interrupted release of private components is entered once, and never without a checkpoint") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string more =
      "clients = 1\npartition = 'iid'\ndp = 'example'\nnoise-multiplier = 2\nbatch = 18\nprivate-components = 2\n"
      "components-noise = 4\noptimizer = 'sgd'\nrounds = 1\n";
  start(settings_of(folder, "a", {more}));
  fs::remove(folder / "a/checkpoint");
  fs::remove(folder / "a/rounds.jsonl");
  const std::string ledger = read_file(folder / "a/ledger.jsonl");
  const auto reserved = ledger.find('\n', ledger.find('\n') + 1) + 1;  // up to the components' reservation
  write_file(folder / "a/ledger.jsonl", ledger.substr(0, reserved));
  CHECK_FAILURE(resume(folder / "a", {}), folder / "a/ledger.jsonl");
}

TEST_CASE("if clients are protected, none is named and the examples' epsilon does not depend on the cohorts") {
  const test::TemporaryFolder folder;
  write_data(folder);
  for (const std::string cohort : {"cohort = 'poisson'\ncohort-rate = 0.5\n", "cohort = 'fixed'\ncohort-size = 1\n"}) {
    std::set<std::string> spent;
    for (int i = 0; i < 4; ++i) {  // four keys draw four sequences of cohorts
      const std::string out = std::to_string(i) + cohort.substr(10, 5);
      Settings settings = settings_of(folder, out, {kSecret, kLevels.at("both"), "rounds = 4\n"});
      settings.erase("cohort-rate");
      for (const auto& [key, setting] : parse_settings(cohort, "test")) settings[key] = setting;
      const RunSummary summary = start(settings);
      std::string all;
      for (const auto& line : lines(folder / (out + "/rounds.jsonl"))) {
        all += line["example_privacy"].dump() + line["client_privacy"].dump();
        CHECK_FALSE(line.contains("clients"));
      }
      for (const auto& statement : summary.privacy) {
        all += statement_json(statement);
        for (const std::string name : {"client 0", "client 1", "client 2"})
          CHECK(statement_text(statement).find(name) == std::string::npos);
      }
      spent.insert(all);
      // 60 rows a client, lots of 6, two a step: five steps of ten releases a round, four rounds.
      const Spending by_hand{{.rate = 0.1, .noise_multiplier = 2, .count = 40}};
      CHECK(summary.privacy.at(0).epsilon ==
            doctest::Approx(epsilon_by(make_part<Accountant>("accountant", "tight"), by_hand, 1e-5).value));
    }
    CHECK(spent.size() == 1);
  }
}

TEST_CASE("runs that cannot be published are refused before anything is created") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const auto published = [&](const std::string& more) {
    return start(settings_of(folder, "a", {kCommon, "publishable = true\n", more}));
  };
  CHECK_USAGE_ERROR(published(kLevels.at("client")), "publishable", "true", "randomness 'seeded'", "randomness secret");
  CHECK_USAGE_ERROR(published(""), "publishable", "true", "dp 'none'");
  CHECK_FALSE(fs::exists(folder / "a"));
}

}  // namespace fedstride::test::publishable_test
