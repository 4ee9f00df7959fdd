#include <doctest/doctest.h>
#include <sys/file.h>

#include <cmath>
#include <set>

#include "core/descriptor.hpp"
#include "core/event_file.hpp"
#include "core/files.hpp"
#include "sim/run/live_board.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/events.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::live_board_test {
namespace {

namespace fs = std::filesystem;

struct Scene {
  TemporaryFolder folder;
  Scene() { write_data(folder); }

  Settings settings(const std::string& out, const std::string& more = "") const {
    return settings_for(folder, out, "rounds = 3\ntensorboard = '" + (folder / "board") + "'\n" + more);
  }
  fs::path file(const std::string& run) const { return folder.path() / "board" / run / kEventFile; }
  std::vector<ReadEvent> events(const std::string& run) const { return EventReader::read(read_file(file(run))); }
};

Settings longer(std::int64_t rounds) { return {{"rounds", {rounds}}}; }

std::vector<std::uint64_t> steps(const std::vector<ReadEvent>& events) {
  std::vector<std::uint64_t> all;
  for (const ReadEvent& event : events) all.push_back(event.step);
  return all;
}

using Steps = std::vector<std::uint64_t>;

std::set<std::string> tags_of(const std::vector<ReadEvent>& events) {
  std::set<std::string> tags;
  for (const auto& [tag, value] : events.back().scalars) tags.insert(tag);
  return tags;
}

}  // namespace

TEST_CASE("each round is in the file when it is done, with the numbers of its line") {
  const Scene scene;
  std::uint32_t rounds = 0;
  RunObserver observer;
  observer.round = [&](const RoundRecord& record) {
    const auto events = scene.events("run");
    CHECK(events.front().file_version == "brain.Event:2");
    CHECK(events.back().step == record.round);
    CHECK(events.back().scalars.at("accuracy/test") == static_cast<float>(record.test->accuracy));
    CHECK(events.back().wall_time >= events.front().wall_time);
    ++rounds;
  };
  for (const char* more : {"", "client-reports = 'none'\n", "client-reports = '2'\noptimizer = 'sgd'\n"}) {
    fs::remove_all(scene.folder / "run");
    start(scene.settings("run", more), observer);  // the folder's name again: the file begins anew
    const auto live = scene.events("run");
    const auto lines_of_run = lines(scene.folder / "run/rounds.jsonl");
    REQUIRE(live.size() == 4);
    for (std::size_t i = 1; i < live.size(); ++i) {
      CHECK(live[i].step == i);
      CHECK(live[i].scalars.at("loss/train") == static_cast<float>(lines_of_run[i - 1]["train_loss"].get<double>()));
    }
  }
  CHECK(rounds == 9);
}

TEST_CASE("a run that goes on adds to its file, whatever its last session left of it") {
  const Scene scene;
  start(scene.settings("run"));
  const std::string whole = read_file(scene.file("run"));
  const std::vector<Scalar> foreign{{"accuracy/test", 0.5}};
  const std::string next = scalar_event(1, 4, foreign);
  std::int64_t rounds = 3;
  const auto goes_on = [&](const std::string& left) {
    write_file(scene.file("run"), left);
    resume(scene.folder / "run", longer(++rounds));  // the folder knows of the board
    const std::string now = read_file(scene.file("run"));
    const auto events = EventReader::read(now);
    Steps expected(static_cast<std::size_t>(rounds) + 1);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = i;
    CHECK(steps(events) == expected);
    const auto lines_of_run = lines(scene.folder / "run/rounds.jsonl");
    for (std::size_t i = 1; i < events.size(); ++i)
      CHECK(events[i].scalars.at("accuracy/test") == static_cast<float>(lines_of_run[i - 1]["test_accuracy"].get<double>()));
    return now;
  };
  CHECK(goes_on(whole).starts_with(whole));
  const std::string longer_file = read_file(scene.file("run"));
  // Killed between the file and the checkpoint, in the middle of a record, or with a bit changed; another's file; none.
  CHECK(goes_on(longer_file + scalar_event(1, 5, foreign)).starts_with(longer_file));
  CHECK(goes_on(longer_file + next.substr(0, next.size() - 3)).starts_with(longer_file));
  std::string changed = longer_file;
  changed[whole.size() + 20] ^= 1;
  CHECK(goes_on(changed).starts_with(whole));
  goes_on("not an event");
  goes_on("");
  fs::remove_all(scene.folder / "board");
  fs::create_directories(scene.file("run").parent_path());
  goes_on(whole + scalar_event(1, 5, foreign));
  // Another run of this name, in another folder: what it wrote in place of this one's rounds is not this one's.
  Settings other = scene.settings("run", "seed = 5\n");
  other["rounds"] = {std::int64_t{2}};
  other["out"] = {(scene.folder.path() / "others/run").string(), true};
  start(other);
  CHECK(scene.events("run").size() == 3);
  goes_on(read_file(scene.file("run")));
  goes_on(whole + scalar_event(1, 4, foreign));
}

TEST_CASE("under privacy the file has only what releases cover") {
  const Scene scene;
  const std::string level = "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\noptimizer = 'sgd'\npublic-test = ";
  const auto tags = [&](const std::string& run, const std::string& more) {
    start(scene.settings(run, level + more));
    const std::set<std::string> found = tags_of(scene.events(run));
    // Those of a file that is made of rounds.jsonl, which has more than is covered, are the same.
    fs::remove(scene.file(run));
    resume(scene.folder / run, longer(3));
    const std::set<std::string> again = tags_of(scene.events(run));
    CHECK(again == found);
    return found;
  };
  const auto is_of_privacy = [](const std::string& tag) { return tag.starts_with("privacy/"); };
  std::set<std::string> open = tags("open", "true\n"), closed = tags("closed", "false\n");
  CHECK(open.contains("accuracy/test"));
  CHECK(open.contains("loss/test"));
  CHECK(open.contains("privacy/epsilon"));
  CHECK(open.contains("clients/steps/0"));
  for (const char* tag : {"loss/train", "training/gradient_norm", "clients/loss/0", "clients/update_norm/1", "training/examples"})
    CHECK_MESSAGE(!open.contains(tag), tag);
  for (const std::string& tag : {std::string("accuracy/test"), std::string("loss/test")}) {
    CHECK(!closed.contains(tag));
    open.erase(tag);
  }
  CHECK(open == closed);
  const auto clients = [&] {
    start(
        scene.settings("clients", "dp = 'client'\nnoise-multiplier = 1.5\nclip = 0.2\noptimizer = 'sgd'\npublic-test = false\n"));
    return scene.events("clients").back().scalars;
  }();
  for (const auto& [tag, value] : clients) CHECK_MESSAGE(is_of_privacy(tag), tag);
  CHECK(clients.contains("privacy/client_epsilon"));
}

TEST_CASE("a run without room for its board does not begin; one that loses it goes on and says so once") {
  const Scene scene;
  start(settings_for(scene.folder, "plain", "rounds = 3\n"));
  const std::string hash = hashes(scene.folder / "plain").back();
  write_file(scene.folder / "board", "a file");
  CHECK_FAILURE(start(scene.settings("run")), "board");
  CHECK(!fs::exists(scene.folder / "run"));
  fs::remove(scene.folder / "board");
  fs::create_directories(scene.file("run"));  // a folder where the file should be
  const RunSummary summary = start(scene.settings("run"));
  CHECK(hashes(scene.folder / "run").back() == hash);
  CHECK(names(summary.board_failure, {scene.file("run").string(), "Is a directory"}));
  int said = 0;
  const Json notes = Json::parse(read_file(scene.folder / "run/summary.json"))["notes"];
  for (const Json& note : notes) said += note.get<std::string>().find("TensorBoard") != std::string::npos ? 1 : 0;
  CHECK(said == 1);
  // Another run of the same name is writing it.
  fs::create_directories(scene.file("held").parent_path());
  const Descriptor held = opened(scene.file("held"), O_RDWR | O_CREAT, 0644);
  REQUIRE(::flock(held.get(), LOCK_EX) == 0);
  CHECK(names(start(scene.settings("held")).board_failure, {scene.file("held").string(), "another run"}));
}

}  // namespace fedstride::test::live_board_test
