#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/terminal/host.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/program_name.hpp"
#include "core/text.hpp"
#include "sim/run/replay.hpp"

namespace fedstride {
namespace {

struct ReplayFlags {
  std::string run;
  int from = 1;
  std::string without;
  std::vector<std::string> set;
  std::optional<int> each_client_of_round;
  Settings here;
  bool json = false;
};

std::vector<ClientId> clients_in(const std::string& text) {
  std::vector<ClientId> clients;
  for (const LeaveOut::Client& one : LeaveOut::read(text).clients) {
    if (one.from != 1)
      throw usage_error("--without is '" + text + "'; the round is given by --from, as in --from 5 --without 3,7");
    clients.push_back(one.client);
  }
  return clients;
}

Settings settings_in(const std::vector<std::string>& pairs) {
  Settings settings;
  for (const std::string& pair : pairs) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      throw usage_error("--set is '" + pair + "'; it must be KEY=VALUE, such as learning-rate=0.05");
    const std::string key = pair.substr(0, equals);
    if (find_key(key) == nullptr) throw unknown_key(key);
    settings[key] = {pair.substr(equals + 1), true};
  }
  return settings;
}

Json json_of(const Evaluation& test, double other_loss) {
  return {{"test_" + std::string(metric_key(test.metric)), number_or_null(test.accuracy)},
          {"test_loss", number_or_null(test.loss)},
          {"test_loss_change", number_or_null(test.loss - other_loss)}};
}

void list_absences(const ReplayFlags& arguments) {
  if (!arguments.without.empty() || !arguments.set.empty() || arguments.from != 1 || arguments.here.contains("out"))
    throw usage_error(
        "--each-client-of-round leaves each client out by itself, and writes no folder; give it without --from, "
        "--without, --set and --out");
  const Absences found =
      absences(arguments.run, static_cast<std::uint32_t>(*arguments.each_client_of_round), arguments.here, stop_on_signals());
  if (arguments.json) {
    Json clients = Json::array();
    for (const Absence& one : found.clients) {
      Json json{{"client", one.client}, {"rows", one.rows}, {"distance", one.distance}, {"share", one.share}};
      json.update(json_of(one.test, found.test.loss));
      clients.push_back(json);
    }
    Json all = json_of(found.test, found.test.loss);
    all.erase("test_loss_change");
    all["round"] = found.round;
    all["clients"] = clients;
    return print_json(all);
  }
  std::printf("round %u, with all: test %s %.4f, loss %.5g\n", found.round, std::string(found.test.metric).c_str(),
              found.test.accuracy, found.test.loss);
  std::printf("%8s %8s %10s %12s %10s %12s\n", "without", "rows", "moves by", "of the step", "test loss", "change");
  for (const Absence& one : found.clients)
    std::printf("%8u %8llu %10.4g %11.1f%% %10.5g %+12.3g\n", one.client, static_cast<unsigned long long>(one.rows), one.distance,
                100 * one.share, one.test.loss, one.test.loss - found.test.loss);
}

void replay_run(const ReplayFlags& arguments) {
  if (arguments.each_client_of_round) return list_absences(arguments);
  const Replay request{.run = arguments.run,
                       .from = static_cast<std::uint32_t>(arguments.from),
                       .without = clients_in(arguments.without),
                       .set = settings_in(arguments.set),
                       .here = arguments.here};
  ProgressBar progress(arguments.json);
  const Replayed replayed = replay(request, progress.observer(stop_on_signals()));
  progress.end(replayed.summary, arguments.json, program_name() + " run --resume " + replayed.summary.folder);
  if (arguments.json || arguments.here.contains("quiet")) return;
  if (replayed.parted == 0)
    std::printf("the same models as '%s' in all %s\n", arguments.run.c_str(), counted(replayed.compared, "round").c_str());
  else
    std::printf("other models than '%s' from round %u on; both curves: %s report %s\n", arguments.run.c_str(), replayed.parted,
                program_name().c_str(), replayed.summary.folder.c_str());
}

}  // namespace

void add_replay_command(CLI::App& app) {
  const auto [command, flags] = add_command<ReplayFlags>(
      app, "replay", "Repeat a run with one thing changed and everything else the same.",
      "Partition, clients' numbers, cohorts and draws stay as they are. Without a change the models are the run's, to the bit;\n"
      "without a client they are those of a federation that never had its updates (docs/re-execution.md).\n"
      "Example: fedstride replay runs/cifar --from 5 --without 3 --out runs/without-3",
      replay_run);
  add_flag(command, "RUN", flags.run, Place::folder, "the run's folder", Needed::yes);
  add_number_flag(command, "--from", flags.from, {.low = 1, .high = 2e9}, "first round that the change reaches", "ROUND");
  add_flag(command, "--without", flags.without, {.word = "CLIENTS"}, "clients that are no longer asked, such as 3,7");
  add_flag(command, "--set", flags.set, {.word = "KEY=VALUE"}, "a setting with another value");
  add_number_flag(command, "--each-client-of-round", flags.each_client_of_round, {.low = 1, .high = 2e9},
                  "list how far each client's absence from this round would have moved its result, and write nothing", "ROUND");
  add_settings_flags(command, flags.here, [](const KeyInfo& key) {
    return key.name == "out" || key.name == "threads" || key.name == "data" || key.name == "data-dir" || key.name == "quiet" ||
           key.name == "keep-checkpoints";
  });
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
