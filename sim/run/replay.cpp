#include "sim/run/replay.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sim/fleet/dealt_states.hpp"
#include "sim/fleet/state_store.hpp"
#include "sim/run/rerun.hpp"
#include "sim/run/run_folder.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

/// The state after a round from which a replay can begin.
struct Beginning {
  fs::path folder;   ///< with `checkpoint` and, if clients keep states, `states`
  fs::path results;  ///< rounds.jsonl, at least up to that round
};

/// The settings of a run, with those for this machine; refuses runs that cannot be repeated here.
Settings settings_of_run(const std::string& run, const Settings& here) {
  RunFolder::require(run);
  Settings settings = read_settings((fs::path(run) / "config.toml").string());
  for (const auto& [key, setting] : here) {
    if (key != "out" && !(may_change(shapes_of(key)) && !shapes_rounds(shapes_of(key))))
      throw usage_error(key + " is part of the run; a replay changes it by --set " + key + "=VALUE");
    settings[key] = setting;
  }
  return settings;
}

/// Two models with the same noise differ by their inputs alone, so what a replay shows would be exact.
void refuse_privacy(const Configuration& configuration, const std::string& run) {
  if (!is_private(configuration)) return;
  throw usage_error(
      "dp is '" + std::string(configuration.privacy.name()) + "' in '" + run +
      "'; a replay with its noise would differ by the changed rows themselves, and one with other noise is a run of its own, " +
      "charged to the rows: begin that (run --config '" + run + "/config.toml' --leave-out ...)");
}

/// Makes `name`, or a free name under runs/, the folder of a run with these settings that has reached `from`, and returns it. Its
/// states and checkpoint get the identity of the new settings; everything else in them stays.
std::string begin_from(const Beginning& from, const Settings& settings, const std::string& name) {
  const Configuration configuration = resolve(settings);
  Checkpoint checkpoint = load_checkpoint(from.folder / "checkpoint");
  const Setup setup = prepare(configuration, FirstWeights::continued);
  if (checkpoint.model.size() != setup.initial.size())
    throw usage_error("the change gives the model another size, so it cannot begin in round " +
                      std::to_string(checkpoint.round + 1) + "; valid: --from 1");
  RunFolder folder = RunFolder::create(name, configuration);
  const std::string before = std::exchange(checkpoint.configuration, run_identity(setup, {}));
  std::error_code error;
  if (fs::exists(from.folder / "states", error)) {
    deal_out_states(folder.path(), checkpoint.configuration, 0, {}, 1);
    StateStore states(state_store_path(folder.path(), 0, 1), checkpoint.configuration, 0);
    for_each_state(
        from.folder, before, checkpoint.round, [](ClientId) { return true; },
        [&](ClientId client, std::string_view state) { states.write(client, state); });
    states.end_round(checkpoint.round);
    states.checkpointed(checkpoint.round);
  }
  folder.write_partition(setup);
  folder.write_schema(setup);
  const std::string results = read_file(from.results, size_of_file(from.results));
  write_file(folder.path() / "rounds.jsonl", std::string_view(results).substr(0, checkpoint.results_bytes));
  folder.cut_results(checkpoint);
  folder.save(checkpoint);
  folder.write_configuration(write_settings(with_absolute_paths(configuration), settings));
  return folder.name();
}

/// Refuses a change after which the federation is another one.
void require_same_federation(const Settings& before, const Settings& after, const Settings& set) {
  const Setup was = prepare(resolve(before)), is = prepare(resolve(after));
  const auto refuse = [&](const std::string& what) {
    std::vector<std::string> keys;
    for (const auto& [key, setting] : set) keys.push_back(key);
    throw usage_error("--set " + joined(keys) + " changes " + what +
                      ", which a replay leaves as it is; begin another run instead");
  };
  if (was.configuration.seed != is.configuration.seed) refuse("all draws");
  if (was.data.hash != is.data.hash) refuse("the data");
  if (was.clients.partition_hash != is.clients.partition_hash) refuse("who holds which rows");
  if (was.model.line() != is.model.line()) refuse("the model");
}

Json description(const Replay& request) {
  Json json{{"of", fs::absolute(request.run).string()}, {"from", request.from}};
  if (!request.without.empty()) json["without"] = request.without;
  Json& set = json["set"] = Json::object();
  for (const auto& [key, setting] : request.set) set[key] = value_text(setting.value);
  if (set.empty()) json.erase("set");
  return json;
}

/// The run's settings with the change, as far as settings can tell it.
Settings changed(const Replay& request, Settings settings) {
  LeaveOut left = LeaveOut::read(setting_text(settings, "leave-out"));
  for (const ClientId client : request.without) {
    std::erase_if(left.clients, [&](const LeaveOut::Client& one) { return one.client == client && one.from >= request.from; });
    if (left.has(client, request.from))
      throw usage_error("client " + std::to_string(client) + " is already left out of '" + request.run + "' in round " +
                        std::to_string(request.from));
    left.clients.push_back({client, request.from});
  }
  if (!request.without.empty()) settings["leave-out"] = {left.text()};
  for (const auto& [key, setting] : request.set) {
    if (shapes_output(shapes_of(key)) || shapes_of(key) == Shapes::work)
      throw usage_error("--set " + key + " changes nothing in a model; give --" + key + " itself");
    settings[key] = setting;
  }
  return settings;
}

/// A run's updates of one round, remembered to be summed up again without one of them.
class RememberingFleet final : public Fleet {
 public:
  explicit RememberingFleet(std::shared_ptr<Fleet> fleet) : fleet_(std::move(fleet)) {}

  void remember(bool on) { remembers_ = on; }
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    if (!remembers_) return fleet_->collect(task, cohort, updates);
    for (const ClientId client : cohort) {
      const auto part = updates.fresh_part();
      fleet_->collect(task, {client}, *part);
      const PartOfSum& sum = parts_[client] = std::move(*part).hand_over();
      updates.merge(sum);
    }
  }
  const std::map<ClientId, PartOfSum>& parts() const { return parts_; }

  const std::atomic<std::uint64_t>& progress() const override { return fleet_->progress(); }
  void end_round(std::uint32_t round) override { fleet_->end_round(round); }
  std::uint32_t abandon_round(std::uint32_t last_round) override { return fleet_->abandon_round(last_round); }
  void checkpointed(std::uint32_t round) override { fleet_->checkpointed(round); }
  std::string save() override { return fleet_->save(); }
  void load(const std::string& bytes) override { fleet_->load(bytes); }

 private:
  std::shared_ptr<Fleet> fleet_;
  bool remembers_ = false;
  std::map<ClientId, PartOfSum> parts_;
};

/// A fleet that answers with remembered updates of all clients but one.
class WithoutOne final : public Fleet {
 public:
  WithoutOne(const std::map<ClientId, PartOfSum>& parts, ClientId without) : parts_(parts), without_(without) {}
  void collect(const Task&, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    for (const ClientId client : cohort)
      if (client != without_) updates.merge(parts_.at(client));
  }

 private:
  const std::map<ClientId, PartOfSum>& parts_;
  ClientId without_;
};

double distance(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
  return std::sqrt(sum);
}

void require_model(const std::vector<std::string>& hashes, std::uint32_t round, const std::string& hash, const std::string& run) {
  if (round > hashes.size())
    throw usage_error("round " + std::to_string(round) + " is not in '" + run + "', which has " +
                      counted(hashes.size(), "round"));
  if (hash != hashes[round - 1])
    throw failure("the model after round " + std::to_string(round) + " is not the one in '" + run +
                  "': these are other data, or this is another build (fedstride --version)");
}

}  // namespace

std::vector<std::string> model_hashes(const fs::path& run) {
  const fs::path path = run / "rounds.jsonl";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw failure("cannot read '" + path.string() + "'");
  std::vector<std::string> hashes;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    const Json json = parse_json(line);
    const Json* hash = json.is_object() ? json.find("model_hash") : nullptr;
    if (hash == nullptr || hash == json.end() || !hash->is_string())
      throw failure("line " + std::to_string(hashes.size() + 1) + " of '" + path.string() + "' is not the result of a round");
    hashes.push_back(hash->text());
  }
  return hashes;
}

std::string replayed_run(const fs::path& folder) {
  const fs::path path = folder / kReplayFile;
  if (!is_there(path)) return {};
  const Json json = parse_json(read_file(path, size_of_file(path)));
  const Json* of = json.is_object() ? json.find("of") : nullptr;
  return of != nullptr && of != json.end() && of->is_string() ? of->text() : std::string();
}

std::string replay_text(const fs::path& folder) {
  const std::string run = replayed_run(folder);
  if (run.empty()) return {};
  const Json json = parse_json(read_file(folder / kReplayFile, size_of_file(folder / kReplayFile)));
  std::string text = "A replay of '" + run + "' from round " + dump_json(json.value("from", 1));
  std::vector<std::string> clients;
  for (const Json& client : json.value("without", Json::array())) clients.push_back(dump_json(client));
  if (!clients.empty()) text += " without client " + joined(clients);
  for (const auto& [key, value] : json.value("set", Json::object()).items()) text += " with " + key + " " + value.text();
  if (!is_there(fs::path(run) / "rounds.jsonl")) return text + ".";
  const std::vector<std::string> before = model_hashes(run), after = model_hashes(folder);
  const auto [parted, other] = std::ranges::mismatch(before, after);
  if (parted == before.end() || other == after.end()) return text + ". Its models are the same.";
  return text + ". Its models differ from round " + std::to_string(parted - before.begin() + 1) + " on.";
}

Replayed replay(const Replay& request, const RunObserver& observer) {
  const Settings as_it_was = settings_of_run(request.run, request.here);
  const Configuration run_before = resolve(as_it_was);
  refuse_privacy(run_before, request.run);
  require_fleet(run_before, {in_process_fleet});
  const std::vector<std::string> hashes = model_hashes(request.run);
  const std::uint32_t last = request.from - 1;
  if (request.from < 1 || last > hashes.size())
    throw usage_error("--from is " + std::to_string(request.from) + "; '" + request.run + "' has " +
                      counted(hashes.size(), "round") + ", so it must be from 1 to " + std::to_string(hashes.size() + 1));
  const Settings settings = changed(request, as_it_was);
  const Configuration configuration = resolve(settings);
  refuse_privacy(configuration, request.run);
  if (!request.set.empty()) require_same_federation(as_it_was, settings, request.set);

  Replayed replayed;
  RunObserver watched = observer;
  watched.started = [&](const Setup& setup, const std::string& folder, std::uint32_t rounds,
                        const std::atomic<std::uint64_t>& done) {
    write_file(fs::path(folder) / kReplayFile, dump_json(description(request), 2) + "\n");
    if (observer.started) observer.started(setup, folder, rounds, done);
  };
  watched.round = [&](const RoundRecord& record) {
    if (record.round <= hashes.size()) {
      if (record.round <= last) require_model(hashes, record.round, record.model_hash, request.run);
      replayed.compared = record.round;
      if (replayed.parted == 0 && record.model_hash != hashes[record.round - 1]) replayed.parted = record.round;
    }
    if (observer.round) observer.round(record);
  };

  const auto kept = [&](std::uint32_t round) {
    return Beginning{kept_folder(request.run, round), fs::path(request.run) / "rounds.jsonl"};
  };
  const auto continued = [&](const Beginning& from, const Settings& with, const std::string& name, const RunObserver& by) {
    const std::string begun = begin_from(from, with, name);
    Settings again = request.here;
    again.erase("out");
    return resume(begun, again, by);
  };
  const std::uint32_t nearest = last_kept(request.run, last);
  // What settings cannot tell, a change of others in the middle, needs the state of exactly that round.
  const bool needs_state = !request.set.empty() && last > 0;
  const PassingFolder passing("replay");
  Beginning from = kept(nearest);
  if (needs_state && nearest != last) {
    const std::string before = (passing.path() / "before").string();
    Settings unchanged = as_it_was;
    unchanged["out"] = {before};
    RunObserver until = observer;
    until.started = {};
    until.ended = {};
    until.round = [&](const RoundRecord& record) { require_model(hashes, record.round, record.model_hash, request.run); };
    until.pause_after = last;
    if (nearest > 0)
      continued(from, unchanged, before, until);
    else
      run(unchanged, until);
    if (observer.stop != nullptr && observer.stop->load()) throw Stopped();
    from = {before, fs::path(before) / "rounds.jsonl"};
  }
  replayed.repeated = needs_state ? last : nearest;
  replayed.summary =
      replayed.repeated > 0 ? continued(from, settings, configuration.out, watched) : run(configuration, settings, watched);
  replayed.compared =
      std::max(replayed.compared, std::min<std::uint32_t>(replayed.repeated, static_cast<std::uint32_t>(hashes.size())));
  return replayed;
}

Absences absences(const std::string& run, std::uint32_t round, const Settings& here, const std::atomic<bool>* stop) {
  const Settings settings = settings_of_run(run, here);
  const Configuration configuration = resolve(settings);
  refuse_privacy(configuration, run);
  if (has_time(configuration))
    throw usage_error("devices is '" + std::string(configuration.devices.name()) + "' in '" + run +
                      "'; in virtual time a round's clients depend on the answers of earlier ones");
  if (configuration.is_secure())
    throw usage_error("secure-aggregation is '" + std::string(choice_name(configuration.secure_aggregation)) + "' in '" + run +
                      "'; nobody sees a single update, nor a sum without it");
  const std::vector<std::string> hashes = model_hashes(run);
  if (round < 1 || round > hashes.size())
    throw usage_error("--each-client-of-round is " + std::to_string(round) + "; '" + run + "' has " +
                      counted(hashes.size(), "round") +
                      (hashes.empty() ? "" : ", so it must be from 1 to " + std::to_string(hashes.size())));
  std::shared_ptr<RememberingFleet> fleet;
  const FleetMaker remembering{
      [&](const FleetTask& task) { return fleet = std::make_shared<RememberingFleet>(in_process_fleet(task)); }};
  require_fleet(configuration, remembering);
  const std::uint32_t nearest = last_kept(run, round - 1);
  Setup setup = prepare(configuration, nearest > 0 ? FirstWeights::continued : FirstWeights::drawn);
  setup.rules.evaluated.every = 0;
  Rerun rerun(setup, remembering, stop, {}, nearest > 0 ? kept_folder(run, nearest) : fs::path());
  while (rerun.round() + 1 < round) {
    const auto record = rerun.next();
    require_model(hashes, record->round, record->model_hash, run);
  }
  const Checkpoint before = rerun.state();
  fleet->remember(true);
  const auto record = rerun.next();
  require_model(hashes, round, record->model_hash, run);
  const Vector with_all = rerun.state().model;

  Absences found{.round = round};
  Threads threads(configuration.threads);
  const bool is_tested = setup.data.test.size() > 0;
  const std::unique_ptr<Evaluator> evaluator = is_tested ? make_evaluator(setup, EvaluatedOn::test) : nullptr;
  const auto tested = [&](const Vector& model) {
    Evaluation test = Evaluation::unknown();
    if (is_tested) threads.run([&] { test = evaluator->evaluate(model, threads); });
    return test;
  };
  found.test = tested(rerun.answer());
  const double step = distance(before.model, with_all);
  const PassingFolder folder("absences");
  for (const auto& [client, part] : fleet->parts()) {
    check_stop();
    RunPrivacy privacy{setup, folder.path(), std::nullopt, {}};
    const FleetMaker maker{[&](const FleetTask&) { return std::make_shared<WithoutOne>(fleet->parts(), client); }};
    Drive drive(setup, privacy, make_server(setup), maker, folder.path(), stop, before);
    RoundRecord without;
    drive.next(without);
    const double moved = distance(drive.state.model, with_all);
    found.clients.push_back({.client = client,
                             .rows = setup.clients.row_counts[client],
                             .distance = moved,
                             .share = step > 0 ? moved / step : 0,
                             .test = tested(drive.server.answer(drive.state.model))});
  }
  std::ranges::stable_sort(found.clients, {}, [](const Absence& one) { return one.test.loss; });
  return found;
}

}  // namespace fedstride
