// Runs that compress, in one process and over connections: the same bits and the same bytes.
#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/files.hpp"
#include "server/broadcast.hpp"
#include "sim/net/frame_bytes.hpp"
#include "sim/net/messages.hpp"
#include "sim/run/wired_fleet.hpp"
#include "sim/settings/rules.hpp"
#include "tests/sim/parties/loopback.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::compression_test {
namespace {

const std::string kBase = "optimizer = 'sgd'\nlearning-rate = 0.1\nbatch = 5\nclients = 3\nrounds = 5\n";

/// Models and bytes of all rounds.
std::vector<std::string> rounds_of(const std::string& folder) {
  std::vector<std::string> rounds;
  for (const Json& line : lines(folder + "/rounds.jsonl"))
    rounds.push_back(std::string(line["model_hash"]) + " " + line["uplink_bytes"].dump() + " " + line["downlink_bytes"].dump());
  return rounds;
}
Json last_line(const std::string& folder) { return lines(folder + "/rounds.jsonl").back(); }

}  // namespace

TEST_CASE("frames have the bytes that are counted for them") {
  const std::string hash(64, 'a');
  UpdateMessage update{.round = 2, .model_hash = hash, .report = {}, .change = Vector(17)};
  update.report.releases.resize(3);
  CHECK(encode(update)->size() == update_frame_bytes(17 * 4, 3));
  update.change = {};
  update.code = "five!";
  CHECK(encode(update)->size() == update_frame_bytes(5, 3));
  CHECK(encode(ModelMessage{.round = 2, .model_hash = hash, .model = Vector(17)})->size() == model_frame_bytes(17 * 4));
  CHECK(encode(ModelMessage{.round = 2, .model_hash = hash, .base = 1, .changes = "five!"})->size() == model_frame_bytes(5));
  CHECK(encode(Train{2, hash, false, 0, {1, 2}, false})->size() == train_frame_bytes(2));
}

TEST_CASE("a run over connections has the bits of the run in one process, and its frames have the bytes that run counts") {
  const TemporaryFolder folder;
  write_data(folder);
  int number = 0;
  for (const std::string more :
       {"", "compress-up = 'top-k'\nup-keep = 0.1\nerror-feedback = 'ef'\n", "compress-up = 'stc'\ncompress-down = 'stc'\n",
        "compress-up = 'drive'\nlocal-objective = 'scaffold'\n",
        "compress-up = 'power-sgd'\nup-rank = 2\nerror-feedback = 'ef'\n",
        "compress-up = 'qsgd'\ncompress-down = 'rounding'\ndown-step = 0.001\ncohort = 'fixed'\ncohort-size = 2\nrounds = 8\n",
        "compress-down = 'top-k'\ndown-keep = 0.3\ncohort = 'fixed'\ncohort-size = 1\nrounds = 9\n",
        "compress-up = 'random-k'\nup-keep = 0.5\ndp = 'client'\nclip = 1.0\nnoise-multiplier = 1.0\nrandomness = 'seeded'\n"}) {
    CAPTURE(more);
    const std::string at = std::to_string(++number);
    std::string all = kBase + more;
    if (const auto second = more.find("rounds"); second != more.npos) all.erase(all.find("rounds = 5\n"), 11);
    start(settings_for(folder, "local" + at, all));
    over_loopback(folder, "network" + at, all);
    CHECK(rounds_of(folder / ("network" + at)) == rounds_of(folder / ("local" + at)));
  }
}

TEST_CASE("bytes are added up, resumed or not, and less than without compression") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "plain", kBase));
  const std::string more = kBase + "compress-up = 'sign'\nerror-feedback = 'ef'\ncompress-down = 'bfloat16'\n";
  start(settings_for(folder, "small", more));
  std::atomic<bool> stop{false};
  RunObserver observer;
  observer.stop = &stop;
  observer.round = [&](const RoundRecord& record) { stop = record.round == 2; };
  REQUIRE(start(settings_for(folder, "broken", more), observer).interrupted);
  resume(folder / "broken", {{"threads", {"1", true}}});
  CHECK(rounds_of(folder / "broken") == rounds_of(folder / "small"));
  const auto summed = [&](const std::string& name, const char* key) {
    std::uint64_t sum = 0;
    for (const Json& line : lines(folder / (name + "/rounds.jsonl"))) sum += line[key].get<std::uint64_t>();
    return sum;
  };
  for (const char* key : {"uplink_bytes", "downlink_bytes"})
    for (const std::string name : {"plain", "small", "broken"}) {
      const Json summary = parse_json(read_file(folder / (name + "/summary.json")));
      CHECK(summary[key].get<std::uint64_t>() == summed(name, key));
    }
  CHECK(summed("small", "uplink_bytes") < summed("plain", "uplink_bytes"));
  CHECK(summed("small", "downlink_bytes") < summed("plain", "downlink_bytes"));
  const Setup setup = prepare(resolve(settings_for(folder, "x", more)));
  CHECK(last_line(folder / "small")["uplink_bytes"].get<std::uint64_t>() == 3 * transfer_bytes(setup).up);
  CHECK(last_line(folder / "plain")["downlink_bytes"].get<std::uint64_t>() == 3 * transfer_bytes(setup).down);
}

TEST_CASE("compression at full width is none, bit for bit") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto model = [&](const std::string& name, const std::string& more) {
    start(settings_for(folder, name, kBase + more));
    return std::string(last_line(folder / name)["model_hash"]);
  };
  const std::string plain = model("plain", "");
  CHECK(model("top", "compress-up = 'top-k'\nup-keep = 1e9\n") == plain);
  CHECK(model("random", "compress-up = 'random-k'\nup-keep = 1e9\n") == plain);
  CHECK(model("some", "compress-up = 'top-k'\nup-keep = 0.1\n") != plain);
  CHECK(model("fed-back", "compress-up = 'top-k'\nup-keep = 0.1\nerror-feedback = 'ef'\n") !=
        model("some-again", "compress-up = 'top-k'\nup-keep = 0.1\n"));
}

TEST_CASE("a client is sent the changes since the model it holds, or the model where that is shorter") {
  std::vector<ModelChange> changes;
  for (std::uint32_t round = 4; round <= 6; ++round) changes.push_back({round, std::string(10, 'c')});
  CHECK(changes_since(changes, 5, 6, 1000).size() == 1);
  CHECK(changes_since(changes, 3, 6, 1000).size() == 3);
  CHECK(changes_since(changes, 3, 6, 54).empty());  // three of 18 bytes
  CHECK(changes_since(changes, 3, 6, 55).size() == 3);
  for (const std::uint32_t from : {0U, 2U, 6U, 7U}) CHECK(changes_since(changes, from, 6, 1000).empty());
  CHECK(changes_since({}, 5, 6, 1000).empty());
}

TEST_CASE("what does not go together is refused in a line, and so are impossible settings") {
  const auto refused = [](const std::string& more) {
    return error_of_kind(Error::Kind::usage, [&] { resolve(parse_settings(more, "x")); });
  };
  CHECK(refused("error-feedback = 'ef'\n").find("compress-up 'none'") != std::string::npos);
  CHECK(refused("compress-up = 'random-k'\nerror-feedback = 'ef'\n").find("would grow") != std::string::npos);
  CHECK(refused("compress-down = 'qsgd'\ndown-levels = 2\n").find("would drift") != std::string::npos);
  CHECK(refused("compress-down = 'stc'\nlocal-objective = 'scaffold'\n").find("second vector") != std::string::npos);
  CHECK(refused("compress-up = 'sign'\nattack = 'alie'\naggregation = 'median'\n").find("what a code decodes to") !=
        std::string::npos);
  CHECK(refused("compress-up = 'top-k'\nup-keep = 0\n").find("up-keep is 0; it must be") != std::string::npos);
  CHECK(refused("compress-up = 'qsgd'\nup-levels = 0\n").find("up-levels is 0") != std::string::npos);
  CHECK(refused("compress-up = 'rounding'\nup-step = -1\n").find("up-step is -1") != std::string::npos);
  CHECK(refused("compress-down = 'random-k'\n").find("valid: none, float16") != std::string::npos);
  const auto ef21 = resolve(parse_settings("compress-up = 'sign'\nerror-feedback = 'ef21'\nout = 'y'\n", "x"));
  CHECK(refusal(ef21, RuleScope::network)->text().find("would have to keep") != std::string::npos);
  CHECK(refused("compress-up = 'topk'\n").find("did you mean 'top-k'") != std::string::npos);
}

}  // namespace fedstride::test::compression_test
