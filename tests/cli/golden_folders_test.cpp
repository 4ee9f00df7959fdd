// Folders that another build has written: tests/golden/folders-VERSION.tar.xz has a run and a federation after two rounds, made with
// the settings below by the program of that version. If this fails, a format has changed: give it a new number, a line in
// docs/results.md and folders of its own, and keep reading, or refuse by its number, what there was.
#include <doctest/doctest.h>

#include "core/text.hpp"
#include "tests/cli/network/federation.hpp"

namespace fedstride::test::golden_folders_test {
namespace {

namespace fs = std::filesystem;

struct Golden {
  TemporaryFolder folder;
  Golden() {
    const TemporaryFolder output;
    const Process tar(Process::Command{{"/usr/bin/env", "tar", "--no-same-owner", "-xf",
                                        FEDSTRIDE_SOURCE_DIR "/tests/golden/folders-0.4.0.tar.xz", "-C", folder.path().string()}},
                      output);
    REQUIRE_MESSAGE(tar.wait() == 0, tar.err());
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string bytes = read_file(folder / file);
    REQUIRE(bytes.find(from) != bytes.npos);
    for (auto at = bytes.find(from); at != bytes.npos; at = bytes.find(from, at + to.size())) bytes.replace(at, from.size(), to);
    write_file(folder / file, bytes);
  }
};

const Words kSettings{"--dataset",          "synthetic", "--clients",      "2",
                      "--limit-per-client", "20",        "--model",        "maxpool 8 8 | dense classes",
                      "--optimizer",        "adam",      "--client-state", "keep",
                      "--local-steps",      "2",         "--dp",           "example",
                      "--noise-multiplier", "1",         "--clip",         "1",
                      "--randomness",       "seeded"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), kSettings.begin(), kSettings.end());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("a run's folder of 0.4.0 is resumed and audited, and gives what a run from the start gives") {
  const Golden golden;
  const Outcome resumed = run_program({"run", "--resume", golden.folder / "run", "--rounds", "4", "--quiet"});
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  const Outcome audit = run_program({"privacy", "audit", golden.folder / "run"});
  CHECK_MESSAGE(audit.code == 0, audit.err);
  REQUIRE(run_program(with({"run"}, {"--rounds", "4", "--quiet", "--out", golden.folder / "whole"})).code == 0);
  CHECK(rounds_of(golden.folder / "run").size() == 4);
  CHECK(rounds_of(golden.folder / "run") == rounds_of(golden.folder / "whole"));
}

TEST_CASE("a federation's folders of 0.4.0, the coordinator's and its clients', go on, and the run is audited") {
  const Golden golden;
  const std::string port = std::to_string(quiet_port());
  const Party coordinator(with({"serve"}, {"--rounds", "4", "--listen", "127.0.0.1:" + port, "--insecure-loopback", "--heartbeat",
                                           "0.5", "--out", golden.folder / "federation/out"}));
  std::vector<Party> clients;
  for (const char* client : {"0", "1"})
    clients.emplace_back(Words{"join", "--connect", "127.0.0.1:" + port, "--insecure-loopback", "--client", client, "--out",
                               golden.folder / "federation/client-" + client});
  CHECK_MESSAGE(coordinator.wait() == 0, coordinator.err());
  for (const Party& client : clients) CHECK_MESSAGE(client.wait() == 0, client.err());
  CHECK(rounds_of(golden.folder / "federation/out").size() == 4);
  for (const char* one : {"out", "client-0", "client-1"}) {
    const Outcome audit = run_program({"privacy", "audit", golden.folder / (std::string("federation/") + one)});
    CHECK_MESSAGE(audit.code == 0, audit.err);
  }
}

TEST_CASE("a file of another format is refused for good, with its number, this version's and where the table is, which is true") {
  struct Kind {
    std::string file, name, format;
  };
  const std::string table = read_file(FEDSTRIDE_SOURCE_DIR "/docs/results.md");
  for (const Kind& one : {Kind{"run/checkpoint", "checkpoint", "8"}, Kind{"run/states/1-of-1", "states", "2"}}) {
    CAPTURE(one.file);
    CHECK(table.find("| `" + one.name + "` | " + one.format + " | 0.4.0 |") != table.npos);
    const Golden golden;
    golden.replace(one.file, "fedstride " + one.name + " " + one.format + "\n", "fedstride " + one.name + " 1\n");
    const Outcome refused = run_program({"run", "--resume", golden.folder / "run", "--rounds", "4", "--quiet"});
    CHECK(refused.code == 3);
    CHECK_MESSAGE(names(refused.err, {"fedstride: ", one.name, "format 1", "format " + one.format, "docs/results.md"}),
                  refused.err);
    CHECK(line_count(refused.err) == 1);
  }
}

}  // namespace fedstride::test::golden_folders_test
