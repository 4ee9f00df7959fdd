// What a coordinator and its clients log, as an operator or a log's reader sees it.
#include <regex>

#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_log_test {
namespace {

const std::string kTime = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d)";

struct Line {
  std::string level, message;
};

/// The lines of a JSON log; each is checked.
std::vector<Line> json_lines(const std::string& text) {
  std::vector<Line> lines;
  for (const auto line : split(trimmed(text), '\n')) {
    CAPTURE(line);
    const auto json = Json::parse(std::string(line));
    CHECK(json.size() == 3);
    CHECK(std::regex_match(json["time"].get<std::string>(), std::regex(kTime)));
    lines.push_back({json["level"].get<std::string>(), json["message"].get<std::string>()});
  }
  return lines;
}

std::size_t count(const std::vector<Line>& lines, const std::string& level, const std::string& part) {
  return static_cast<std::size_t>(std::ranges::count_if(
      lines, [&](const Line& line) { return line.level == level && line.message.find(part) != line.message.npos; }));
}

}  // namespace

TEST_CASE("with --log json every line is an object, nothing else is printed, and rounds have few lines") {
  const Federation federation{{"--optimizer", "sgd", "--rounds", "100"}};
  const auto begun = std::chrono::steady_clock::now();
  const Party coordinator = federation.serve({"--log", "json"});
  const Party clients[] = {federation.join_with(0, {"--log", "json"}), federation.join_with(1, {"--log", "json"}),
                           federation.join_with(2, {"--log", "json", "--log-level", "warning"})};
  CHECK(coordinator.wait() == 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const auto lines = json_lines(coordinator.err());
  CHECK(coordinator.out().empty());
  CHECK(count(lines, "info", "joined") == 3);
  CHECK(count(lines, "warning", "--max-update-norm") == 1);
  CHECK(count(lines, "info", "round 1/100 ") == 1);
  CHECK(count(lines, "info", "round 100/100 ") == 1);
  CHECK(count(lines, "info", "finished after round 100") == 1);
  CHECK(static_cast<double>(count(lines, "info", "/100 ")) <= 2 + seconds / 5);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  CHECK(clients[0].out().empty());
  CHECK(count(json_lines(clients[0].err()), "info", "finished after round 100") == 1);
  CHECK(trimmed(clients[2].err()).find("\"info\"") == std::string::npos);
}

TEST_CASE("lines of text have a date with its offset, and a level below which --log-level leaves them out") {
  const Federation federation{{"--optimizer", "sgd", "--rounds", "2"}};
  const Party coordinator = federation.serve();
  const auto clients = federation.join_all();
  CHECK(coordinator.wait() == 0);
  const std::string all = coordinator.err();
  for (const auto line : split(trimmed(all), '\n'))
    CHECK_MESSAGE(std::regex_match(std::string(line), std::regex(kTime + " (info|warning): .+")), line);
  CHECK(coordinator.has_said("info: round 2/2"));
  CHECK(coordinator.has_said("warning: ", "--max-update-norm"));
  CHECK(coordinator.out().find("finished after round 2") != std::string::npos);
  for (const Party& client : clients) CHECK(client.wait() == 0);

  const Party again(federation.serve_words({"--log-level", "warning", "--rounds", "2"}));
  CHECK(again.wait() == 0);
  CHECK(again.err().find(" info: ") == std::string::npos);
  CHECK(again.has_said("warning: ", "--max-update-norm"));
  const Party mute(federation.serve_words({"--log-level", "error"}));
  CHECK(mute.wait() == 0);
  CHECK(mute.err().empty());
}

TEST_CASE("an error is the last line of a JSON log and keeps its exit code; a level without a log is refused") {
  const Federation federation{{"--optimizer", "sgd", "--rounds", "2"}};
  const Party coordinator = federation.serve();
  const Party unknown = federation.join_with(9, {"--log", "json"});
  CHECK(unknown.wait() == 3);
  const auto lines = json_lines(unknown.err());
  REQUIRE(!lines.empty());
  CHECK(lines.back().level == "error");
  CHECK(lines.back().message.find("client 9 is unknown") != std::string::npos);

  Words words = federation.join_words(0);
  words.insert(words.end(), {"--quiet", "--log-level", "info"});
  const Outcome refused = run_program(words);
  CHECK(refused.code == 2);
  CHECK_MESSAGE(names(refused.err, {"log-level", "'info'", "--quiet"}), refused.err);
}

}  // namespace fedstride::test::network_log_test
