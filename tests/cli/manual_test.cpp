// Takes 30 s of processor time: every flag that takes a number is given a wrong one, by a start of the command line.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdio>
#include <regex>
#include <set>

#include "cli/manual/manual.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sim/settings/configuration.hpp"
#include "tests/cli/refusal.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::manual_test {
namespace {

using Texts = std::set<std::string>;

/// A command as its --help-all shows it.
struct HelpOf {
  Words words;  ///< without the program's name
  std::string help;
  Texts flags;     ///< "--help", "-h"
  Texts switches;  ///< flags without a value
  Words commands;

  std::string name(const std::string& separator) const {
    std::string text = "fedstride";
    for (const std::string& word : words) text += separator + word;
    return text;
  }
};

HelpOf help_of(const Words& words) {
  HelpOf result{.words = words, .help = {}, .flags = {}, .switches = {}, .commands = {}};
  Words arguments = words;
  arguments.push_back("--help-all");
  const Outcome outcome = run_copy(arguments);
  REQUIRE(outcome.code == 0);
  result.help = outcome.out;
  const std::regex flag("  ((-[a-z], )?(--[a-z0-9-]+))( [A-Z/:]+)?(  .*)?");
  const std::regex command("  ([a-z]+) .*");
  bool in_commands = false;
  for (const auto line : fedstride::split(result.help, '\n')) {
    std::match_results<std::string_view::const_iterator> match;
    if (line == "Commands:")
      in_commands = true;
    else if (line.empty())
      in_commands = false;
    else if (in_commands && std::regex_match(line.begin(), line.end(), match, command))
      result.commands.push_back(match[1]);
    else if (!in_commands && std::regex_match(line.begin(), line.end(), match, flag)) {
      result.flags.insert(match[3]);
      if (match[2].matched) result.flags.insert(match[2].str().substr(0, 2));
      if (!match[4].matched) result.switches.insert(match[3]);
    }
  }
  return result;
}

/// The program and all its commands, found by their help.
const std::vector<HelpOf>& all_commands() {
  static const std::vector<HelpOf> all = [] {
    std::vector<HelpOf> found{help_of({})};
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const std::string& name : Words(found[i].commands)) {
        Words words = found[i].words;
        words.push_back(name);
        found.push_back(help_of(words));
      }
    return found;
  }();
  return all;
}

/// The output of a shell's command line, and its exit code.
Outcome run_shell(const std::string& line) {
  FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome;
  char buffer[4096];
  for (std::size_t size = 0; (size = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.out.append(buffer, size);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

bool is_installed(const std::string& program) { return run_shell("command -v " + program).code == 0; }

std::string script_for(const std::string& shell) {
  const Outcome outcome = run_copy({"completion", shell});
  REQUIRE(outcome.code == 0);
  return outcome.out;
}

/// The part of `text` from the line `begin` to the next line `end`.
std::string stretch(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin);
  if (from == std::string::npos) return {};
  return text.substr(from, text.find(end, from + begin.size()) - from);
}

}  // namespace

TEST_CASE("help COMMAND says what COMMAND --help says, unless the word is a subject") {
  CHECK(all_commands().size() >= 25);
  const Words subjects = subject_names();
  for (const HelpOf& command : all_commands()) {
    CAPTURE(command.name(" "));
    CHECK(!command.flags.empty());
    if (command.words.size() == 1 && std::ranges::find(subjects, command.words[0]) != subjects.end()) continue;
    Words words = command.words;
    words.push_back("--help");
    const std::string help = run_copy(words).out;
    words = command.words;
    words.insert(words.begin(), "help");
    const Outcome outcome = run_copy(words);
    CHECK(outcome.code == 0);
    CHECK(outcome.err == "");
    CHECK(outcome.out == help);
  }
}

TEST_CASE("run --help shows thirty-one settings by question, the eight most used first; --help-all shows every one") {
  const auto flags_of = [](const std::string& help) {
    Words flags;
    for (const auto line : fedstride::split(help, '\n'))
      if (line.starts_with("  --")) flags.emplace_back(line.substr(4, line.find(' ', 4) - 4));
    return flags;
  };
  const std::string usual = run_copy({"run", "--help"}).out, all = run_copy({"run", "--help-all"}).out;
  Words shown, hidden, first;
  for (const KeyInfo& key : all_keys()) {
    (key.shown == Shown::seldom ? hidden : shown).push_back(key.name);
    if (key.shown == Shown::first) first.push_back(key.name);
  }
  CHECK(first.size() == 8);
  CHECK(shown.size() == 31);
  const Words in_usual = flags_of(usual), in_all = flags_of(all);
  for (const std::string& name : shown) CHECK_MESSAGE(std::ranges::count(in_usual, name) == 1, name);
  for (const std::string& name : hidden) CHECK_MESSAGE(std::ranges::count(in_usual, name) == 0, name);
  for (const KeyInfo& key : all_keys()) CHECK_MESSAGE(std::ranges::count(in_all, key.name) == 1, key.name);
  for (std::size_t i = 0; i < first.size(); ++i) CHECK_MESSAGE(std::ranges::find(first, in_usual[i]) != first.end(), in_usual[i]);
  std::size_t at = 0;
  for (const char* heading : {"Most used", "Data", "Clients", "Training", "Federation", "Privacy", "Run and output"}) {
    const auto found = usual.find("\n" + std::string(heading) + ":\n");
    REQUIRE_MESSAGE(found != usual.npos, heading);
    CHECK(found >= at);
    at = found;
  }
}

TEST_CASE("a help page fits the terminal, and a narrow one has its texts below the flags") {
  const CommandInfo command{.name = "train",
                            .full_name = "fedstride train",
                            .description = "Words that go on until they reach the other end of a terminal that is not very wide.",
                            .footer = "Notes that are wrapped as well, wherever the line breaks were.\nExample: fedstride train",
                            .flags = {{.names = {"--rate"},
                                       .help = "how far a step goes; a number above 0 and up to 1000",
                                       .group = "Options",
                                       .value = {.word = "NUMBER"}}},
                            .arguments = {},
                            .commands = {}};
  for (const std::size_t columns : {40, 60, 80, 200}) {
    const std::string page = help_page(command, Extent::usual, columns);
    for (const auto line : fedstride::split(page, '\n')) CHECK(line.size() <= columns);
    CHECK((page.find("--rate NUMBER\n") != page.npos) == (columns < 70));
  }
}

TEST_CASE("exit codes are the same in the help, in docs/network.md and in the units") {
  const std::string page = std::regex_replace(run_copy({"help", "exit-codes"}).out, std::regex("\\s+"), " ");
  const std::string document = read_file(FEDSTRIDE_SOURCE_DIR "/docs/network.md");
  for (const ExitCode& one : kExitCodes) {
    CHECK(page.find(std::to_string(one.code) + " " + std::string(one.text)) != std::string::npos);
    CHECK(document.find("| " + std::to_string(one.code) + " | " + std::string(one.text) + " |") != std::string::npos);
  }
  for (const char* unit : {"fedstride-coordinator.service", "fedstride-client@.service"})
    CHECK(read_file(FEDSTRIDE_SOURCE_DIR "/examples/systemd/" + std::string(unit)).find("RestartPreventExitStatus=1 2 3") !=
          std::string::npos);
}

TEST_CASE("each subject has a page of one screen, with flags that exist and an example that runs") {
  const TemporaryFolder folder;
  std::filesystem::create_directory_symlink(FEDSTRIDE_SOURCE_DIR "/experiments", folder.path() / "experiments");
  const std::string all =
      run_copy({"run", "--help-all"}).out + run_copy({"serve", "--help-all"}).out + run_copy({"sweep", "--help-all"}).out;
  for (const std::string& subject : subject_names()) {
    CAPTURE(subject);
    const std::string page = run_copy({"help", subject}).out;
    CHECK(std::ranges::count(page, '\n') <= 48);
    int flags = 0;
    for (const auto line : fedstride::split(page, '\n'))
      if (line.starts_with("  --")) {
        ++flags;
        const std::string flag(line.substr(0, line.find(' ', 4)));
        CHECK_MESSAGE(all.find(flag + " ") != all.npos, flag);
      }
    CHECK((flags >= 1 || subject == "exit-codes"));
    const std::string example = subject_example(subject);
    CHECK(page.find("Example: " + example + "\n") != page.npos);
    REQUIRE(example.starts_with("fedstride "));
    const bool trains = example.starts_with("fedstride run") || example.starts_with("fedstride launch");
    const std::string shorter = std::regex_replace(example.substr(10), std::regex("--rounds [0-9]+"), "--rounds 1");
    const std::string command = "cd '" + folder.path().string() + "' && " FEDSTRIDE_PROGRAM " " + shorter +
                                (trains ? " --limit-per-client 20 --quiet" : "") + " >output.txt 2>&1";
    CHECK_MESSAGE(std::system(command.c_str()) == 0, read_file(folder.path() / "output.txt"));
  }
}

TEST_CASE("the page of settings has a line for each, with its range") {
  const std::string page = settings_page();
  CHECK(page.find("\n- `shards-per-client` [2]: shards per client (shards); from 1\n") != page.npos);
  CHECK(page.find("\n- `random-fraction` [0.33]: fraction of the rows assigned at random (interpolated); 0 to 1\n") != page.npos);
  for (const KeyInfo& key : all_keys()) CHECK_MESSAGE(page.find("\n- `" + key.name + "`") != page.npos, key.name);
}

TEST_CASE("every command that prints results prints them as JSON, by one name") {
  for (const HelpOf& command : all_commands()) {
    const std::string name = command.name(" ");
    const bool has_results =
        command.commands.empty() && name != "fedstride help" && name != "fedstride completion" && name != "fedstride manual";
    CAPTURE(name);
    CHECK(command.switches.contains("--json") == has_results);
    for (const std::string& flag : command.flags) CHECK((flag == "--json" || flag.find("json") == std::string::npos));
  }
}

TEST_CASE("an unknown command, shell or value of a switch is refused in one line that names the nearest") {
  const TemporaryFolder folder;
  const Refusal refusals[] = {{{"help", "rum"}, 2, {"command", "rum", "run"}},
                              {{"help", "privacy", "epsilom"}, 2, {"command", "epsilom", "epsilon"}},
                              {{"help", "run", "x"}, 2, {"fedstride run"}},
                              {{"help", "--x"}, 2, {"flag", "--x"}},
                              {{"completion"}, 2, {"SHELL"}},
                              {{"completion", "bsh"}, 2, {"shell", "bsh", "bash"}},
                              {{"manual"}, 2, {"--settings"}},
                              {{"manual", "--settings", ""}, 2, {"settings", "''"}}};
  for (const Refusal& refusal : refusals) check_refused(refusal, folder);
  for (const HelpOf& command : all_commands())
    for (const std::string& name : command.switches) {
      if (name.starts_with("--help") || name == "--version") continue;
      Words words = command.words;
      words.push_back(name + "=maybe");
      check_refused({words, 2, {name.substr(2), "'maybe'", "true", "false"}}, folder);
    }
}

TEST_CASE("a number that is none is refused by every command in one line that names the flag and what is valid") {
  const TemporaryFolder folder;
  std::size_t at = 0;
  for (const HelpOf& command : all_commands()) {
    if (command.words.empty()) continue;
    for (const std::string& name : command.flags) {
      if (command.help.find("  " + name + " NUMBER") == std::string::npos || at++ % kOneOf != 0) continue;
      CAPTURE(name);
      CAPTURE(command.name(" "));
      Words words = command.words;
      words.insert(words.end(), {name, "abc"});
      const Outcome outcome = run_copy(words);
      CHECK(outcome.code == 2);
      CHECK(line_count(outcome.err) == 1);
      // Or the command first wants something that is missing, and points to its help.
      CHECK_MESSAGE((names(outcome.err, {name.substr(2)}) || outcome.err.ends_with("--help'\n")), outcome.err);
    }
  }
}

TEST_CASE("every command has a dated manual page with every flag of its help, with which man finds nothing wrong") {
  if (!is_installed("help2man")) FEDSTRIDE_SKIP("help2man is not installed");
  const TemporaryFolder folder;
  const Outcome made = run_shell("SOURCE_DATE_EPOCH=86399 " FEDSTRIDE_SOURCE_DIR "/tools/manual-pages " + (folder / "man") +
                                 " " FEDSTRIDE_PROGRAM);
  REQUIRE_MESSAGE(made.code == 0, made.out);
  std::size_t pages = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder / "man")) ++pages;
  CHECK(pages == all_commands().size());
  for (const HelpOf& command : all_commands()) {
    CAPTURE(command.name(" "));
    const std::string file = folder / ("man/" + command.name("-") + ".1");
    REQUIRE(std::filesystem::exists(file));
    std::string page = fedstride::read_file(file);
    for (auto at = page.find("\\-"); at != std::string::npos; at = page.find("\\-", at)) page.replace(at, 2, "-");
    CHECK(page.find("January 1970") != std::string::npos);
    CHECK(page.find("\n" + command.name("-") + " - ") != std::string::npos);
    for (const std::string& flag : command.flags) CHECK_MESSAGE(page.find("\\fB" + flag + "\\fR") != std::string::npos, flag);
    for (const std::string& name : command.commands) CHECK(page.find(".TP\n" + name + "\n") != std::string::npos);
    if (is_installed("mandoc")) CHECK(run_shell("mandoc -Tlint -W error " + file).out == "");
    if (is_installed("man")) CHECK(run_shell("LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l " + file + " >/dev/null").out == "");
  }
}

TEST_CASE("bash completes every command's flags, the choices of a flag, files and folders") {
  if (!is_installed("bash")) FEDSTRIDE_SKIP("bash is not installed");
  const TemporaryFolder folder;
  std::ofstream(folder / "script") << script_for("bash");
  std::filesystem::create_directories(folder / "place/inner");
  std::ofstream(folder / "place/file.toml") << "\n";
  std::ofstream(folder / "ask") << R"(. "$1/script"
complete -p fedstride || exit 1
while read -r line; do
  words=($line)
  [[ $line != *' ' ]] || words+=('')
  COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMPREPLY=()
  _fedstride
  echo "$line => ${COMPREPLY[*]}"
done
)";
  std::string questions;
  for (const HelpOf& command : all_commands()) questions += command.name(" ") + " -\n";
  const std::string place = folder / "place";
  const std::pair<std::string, std::string> known[] = {
      {"fedstride ev", "evaluate"},
      {"fedstride run --opt", "--optimizer"},
      {"fedstride run --optimizer a", "auto adadp adam adambc"},
      {"fedstride run --seed 1 --optimizer = s", "sgd schedule-free"},
      {"fedstride run --optimizer=s", "--optimizer=sgd --optimizer=schedule-free"},
      {"fedstride run --clients 1", ""},
      {"fedstride sweep --dataset cifar1", "cifar10 cifar100"},
      {"fedstride launch --server-optimizer mo", "momentum"},
      {"fedstride evaluate --part t", "test train"},
      {"fedstride data verify cov", "covertype"},
      {"fedstride data get cs", ""},
      {"fedstride privacy epsilon --accountant rd", "rdp"},
      {"fedstride help privacy sch", "schedule"},
      {"fedstride completion b", "bash"},
      {"fedstride run --config " + place + "/f", place + "/file.toml"},
      {"fedstride run --out " + place + "/", place + "/inner"},
      {"fedstride sweep " + place + "/f", place + "/file.toml"},
      {"fedstride privacy audit " + place + "/", place + "/inner"},
  };
  for (const auto& [line, answer] : known) questions += line + "\n";
  std::ofstream(folder / "questions") << questions;
  const Outcome outcome = run_shell("bash " + (folder / "ask") + " " + folder.path().string() + " <" + (folder / "questions"));
  CHECK(outcome.code == 0);
  CHECK(outcome.out.starts_with("complete -F _fedstride fedstride\n"));
  for (const auto& [line, answer] : known) {
    CAPTURE(line);
    CHECK(stretch(outcome.out, "\n" + line + " => ", "\n") == "\n" + line + " => " + answer);
  }
  for (const HelpOf& command : all_commands()) {
    CAPTURE(command.name(" "));
    const std::string begin = "\n" + command.name(" ") + " - => ";
    const std::string answer = stretch(outcome.out, begin, "\n");
    REQUIRE(!answer.empty());
    Texts offered;
    for (const auto word : fedstride::split(std::string_view(answer).substr(begin.size()), ' ')) offered.emplace(word);
    for (const std::string& flag : command.flags) CHECK_MESSAGE(offered.contains(flag), flag);
  }
}

TEST_CASE("bash reads its script without complaint") {
  if (!is_installed("bash")) FEDSTRIDE_SKIP("bash is not installed");
  const TemporaryFolder folder;
  std::ofstream(folder / "script") << script_for("bash");
  const Outcome outcome = run_shell("bash -n " + (folder / "script"));
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "");
}

}  // namespace fedstride::test::manual_test
