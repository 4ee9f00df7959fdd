#include <future>
#include <map>

#include "tests/cli/network/federation.hpp"
#include "tests/support/json.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::network_python_client_test {
namespace {

const std::string kClient = FEDSTRIDE_SOURCE_DIR "/examples/client.py";

/// A Python with the modules that the example needs; empty if there is none.
std::string python() {
  for (const char* name : {"/usr/bin/python3", "python3"})
    if (std::system((std::string(name) + " -c 'import numpy, ssl, tomllib' >/dev/null 2>&1").c_str()) == 0) return name;
  return {};
}

Outcome shell(const std::string& command) {
  const TemporaryFolder folder;
  const int code = std::system(("timeout 300 " + command + " >'" + (folder / "out") + "' 2>'" + (folder / "err") + "'").c_str());
  return {WIFEXITED(code) ? WEXITSTATUS(code) : -1, read_file(folder / "out"), read_file(folder / "err")};
}

/// Three clients with their own rows; the last one is the example, with an uneven share: two columns determine the class, the
/// third is noise on another scale.
struct Scene {
  Federation federation;
  std::string interpreter = python();

  explicit Scene(const Words& more = {}) : federation(settings(more)) {
    federation.use_certificates();
    std::string tables[3], all;
    for (int row = 0; row < 180; ++row) {
      RandomStream random(19, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(row)});
      const int label = row % 5;
      std::string line;
      for (int column = 0; column < 3; ++column)
        line += std::to_string(column == 2 ? 100 * random.normal()
                                           : random.normal() * 0.3 + (column == 0 ? label % 3 : label / 3) * 2) +
                ",";
      line += std::to_string(label) + "\n";
      tables[row % 11 < 3 ? 0 : row % 11 < 6 ? 1 : 2] += line;
      all += line;
    }
    for (int client = 0; client < 3; ++client) {
      std::filesystem::create_directory(data(client));
      write_file(data(client) + "/train.csv", tables[client]);
    }
    write_file(federation / "data/train.csv", all);
    write_file(federation / "data/test.csv", all);
  }
  static Words settings(const Words& more) {
    return with_flags({"--optimizer", "sgd", "--learning-rate", "0.2", "--rounds", "6", "--partition", "own"}, more);
  }
  /// Writes the roster.
  void enlist() const {
    std::string roster = shell(program("roster")).out;
    for (int client = 0; client < 2; ++client)
      roster += run_program({"data", "roster", "file", "--client", std::to_string(client), "--data", data(client)}).out;
    write_file(federation / "roster.jsonl", roster);
    REQUIRE(run_program({"certificates", "--bundles", "--clients", "3", "--out", federation.certificates()}).code == 0);
  }
  std::string join(const std::string& before = "") const {
    return before + program("join") + " --connect 127.0.0.1:" + std::to_string(federation.port()) + " --folder '" +
           federation.client_folder(2) + "' --bundle '" + federation.certificates() + "/client-2.bundle.pem'";
  }
  std::string data(int client) const { return federation / ("own-" + std::to_string(client)); }
  std::string program(const std::string& what) const {
    return interpreter + " " + kClient + " " + what + " --client 2 --data '" + data(2) + "/train.csv'";
  }
};

}  // namespace

TEST_CASE("a Python client written from docs/reference/WIRE.md trains together with the program's own") {
  const Scene scene;
  if (scene.interpreter.empty()) FEDSTRIDE_SKIP("there is no Python 3.11 with numpy here (Debian: python3-numpy)");
  const Federation& federation = scene.federation;
  std::string roster;
  for (int client = 0; client < 2; ++client)
    roster += run_program({"data", "roster", "file", "--client", std::to_string(client), "--data", scene.data(client)}).out;
  const Outcome line = shell(scene.program("roster"));
  REQUIRE_MESSAGE(line.code == 0, line.err);
  write_file(federation / "roster.jsonl", roster + line.out);

  // It makes its own key and receives its certificate in a bundle.
  const std::string mine = federation / "mine";
  REQUIRE(run_program({"certificates", "--request", "--client", "2", "--out", mine}).code == 0);
  for (const char* file : {"client-2.pem", "client-2.key"}) std::filesystem::remove(federation.certificates() + "/" + file);
  REQUIRE(run_program({"certificates", "--sign", mine + "/client-2.csr", "--out", federation.certificates()}).code == 0);
  std::filesystem::copy(federation.certificates() + "/client-2.bundle.pem", mine);

  const Party coordinator = federation.serve({"--roster", federation / "roster.jsonl", "--accept-other-builds"});
  auto guest = std::async(std::launch::async, [&] {
    return shell(scene.program("join") + " --connect 127.0.0.1:" + std::to_string(federation.port()) + " --bundle '" + mine +
                 "/client-2.bundle.pem'");
  });
  const Party first = federation.join_with(0, {"--data", scene.data(0)});
  const Party second = federation.join_with(1, {"--data", scene.data(1)});
  CHECK(coordinator.wait() == 0);
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 0);
  const Outcome told = guest.get();
  CHECK_MESSAGE(told.code == 0, told.err);
  CHECK(coordinator.has_said("client 2", "build", "version"));

  // It answered every round; the loss it computes on its rows, with its own implementation of the model, decreases.
  const auto rounds = rounds_of(federation.out());
  REQUIRE(rounds.size() == 6);
  CHECK(told.out.find("round 6, model " + rounds.back().hash) != std::string::npos);
  std::map<int, double> losses;
  std::ifstream file(federation.out() + "/rounds.jsonl");
  double accuracy = 0;
  for (std::string text; std::getline(file, text);) {
    const auto json = Json::parse(text);
    REQUIRE(json["clients"].size() == 3);
    for (const auto& client : json["clients"]) CHECK(client.value("failure", "") == "");
    losses[json["round"]] = json["clients"][2]["loss"];
    accuracy = json["test_accuracy"];
  }
  MESSAGE("losses " << losses[1] << " to " << losses[6] << ", accuracy " << accuracy << "; it said: " << told.out);
  CHECK(losses[6] < 0.5 * losses[1]);
  CHECK(accuracy > 0.9);
}

TEST_CASE("the Python client takes part in secure aggregation, on the exact sum's ring and on a grid") {
  for (const Words& grid : {Words{}, Words{"--secure-grid", "8,2^-16,64", "--server-optimizer", "fedexp"}}) {
    Words settings{"--secure-aggregation", "real"};
    settings.insert(settings.end(), grid.begin(), grid.end());
    const Scene scene(settings);
    if (scene.interpreter.empty() || std::system((scene.interpreter + " -c 'import cryptography' >/dev/null 2>&1").c_str()) != 0)
      FEDSTRIDE_SKIP("there is no Python 3.11 with cryptography here (Debian: python3-cryptography)");
    const Federation& federation = scene.federation;
    scene.enlist();
    const Party coordinator = federation.serve({"--roster", federation / "roster.jsonl", "--accept-other-builds"});
    auto guest = std::async(std::launch::async, [&] { return shell(scene.join()); });
    const Party first = federation.join_with(0, {"--data", scene.data(0)});
    const Party second = federation.join_with(1, {"--data", scene.data(1)});
    const Outcome told = guest.get();
    CHECK_MESSAGE(told.code == 0, told.err);
    if (told.code != 0)  // nobody waits for it
      for (const Party* one : {&coordinator, &first, &second}) one->signal(SIGTERM);
    CHECK_MESSAGE(coordinator.wait() == 0, coordinator.err());
    CHECK_MESSAGE(first.wait() == 0, first.err());
    CHECK(second.wait() == 0);
    const auto rounds = rounds_of(federation.out());
    REQUIRE(rounds.size() == 6);
    CHECK(told.out.find("round 6, model " + rounds.back().hash) != std::string::npos);
    const std::string text = read_file(federation.out() + "/rounds.jsonl");
    const auto first_round = Json::parse(split(text, '\n')[0]), last = Json::parse(split(text, '\n')[5]);
    CHECK(last["participants"] == 3);
    CHECK(last["test_accuracy"] > 0.8);
    CHECK(last["train_loss"].get<double>() < 0.5 * first_round["train_loss"].get<double>());
  }
}

TEST_CASE("without python3-cryptography the Python client says so in one line") {
  const Scene scene({"--secure-aggregation", "real"});
  if (scene.interpreter.empty()) FEDSTRIDE_SKIP("there is no Python 3.11 with numpy here (Debian: python3-numpy)");
  scene.enlist();
  const Party coordinator = scene.federation.serve({"--roster", scene.federation / "roster.jsonl", "--accept-other-builds"});
  std::filesystem::create_directories(scene.federation / "without/cryptography");
  write_file(scene.federation / "without/cryptography/__init__.py", "raise ImportError('not here')\n");
  const Outcome told = shell(scene.join("env PYTHONPATH='" + (scene.federation / "without") + "' "));
  CHECK(told.code == 1);
  CHECK_MESSAGE(told.err == "client.py: the experiment uses secure aggregation, which needs python3-cryptography\n", told.err);
}

TEST_CASE("if other builds are not accepted, the Python client is informed and does not reconnect") {
  const Scene scene;
  if (scene.interpreter.empty()) FEDSTRIDE_SKIP("there is no Python 3.11 with numpy here (Debian: python3-numpy)");
  const Federation& federation = scene.federation;
  std::string roster = shell(scene.program("roster")).out;
  for (int client = 0; client < 2; ++client)
    roster += run_program({"data", "roster", "file", "--client", std::to_string(client), "--data", scene.data(client)}).out;
  write_file(federation / "roster.jsonl", roster);
  const Party coordinator = federation.serve({"--roster", federation / "roster.jsonl"});
  REQUIRE(run_program({"certificates", "--bundles", "--clients", "3", "--out", federation.certificates()}).code == 0);
  const Outcome told = shell(scene.program("join") + " --connect 127.0.0.1:" + std::to_string(federation.port()) + " --bundle '" +
                             federation.certificates() + "/client-2.bundle.pem'");
  CHECK(told.code == 1);
  CHECK_MESSAGE(told.err.find("--accept-other-builds") != std::string::npos, told.err);
}

}  // namespace fedstride::test::network_python_client_test
