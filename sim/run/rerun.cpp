#include "sim/run/rerun.hpp"

#include <system_error>

#include "core/error.hpp"
#include "core/stop.hpp"
#include "sim/run/run.hpp"

namespace fedstride {

namespace fs = std::filesystem;

Rerun::Rerun(Setup& setup, const FleetMaker& maker, const std::atomic<bool>* stop, const std::optional<SecretKey>& key,
             const fs::path& from)
    : setup_(setup),
      privacy_(setup, folder_.path(), std::nullopt, key),
      drive_([&]() -> Drive {
        use_secrets(setup, key);
        Checkpoint first = beginning(from, key);
        release_inputs(setup, privacy_, key);
        return {setup, privacy_, make_server(setup), maker, folder_.path(), stop, std::move(first)};
      }()),
      tests_(setup, drive_.threads, *drive_.fleet) {}

Checkpoint Rerun::beginning(const fs::path& from, const std::optional<SecretKey>& key) const {
  const std::string identity = run_identity(setup_, key);
  if (from.empty())
    return {.configuration = identity,
            .model = setup_.initial,
            .server_state = make_server(setup_).save(),
            .ledger = privacy_.mark()};
  Checkpoint saved = load_checkpoint(from / "checkpoint");
  if (saved.configuration != identity || saved.model.size() != setup_.initial.size())
    throw failure("'" + (from / "checkpoint").string() +
                  "' belongs to a run with other settings, other data or of another build");
  std::error_code error;
  if (fs::exists(from / "states", error))
    fs::copy(from / "states", folder_.path() / "states", fs::copy_options::recursive, error);
  if (error) throw failure("cannot copy '" + (from / "states").string() + "': " + error.message());
  return saved;
}

std::optional<RoundRecord> Rerun::next() {
  RoundRecord record{.metric = metric_of(setup_.data.train.targets)};
  try {
    if (!drive_.next(record).empty()) return std::nullopt;
  } catch (const Interrupted&) {
    throw Stopped();
  }
  record.example_spent = privacy_.example_spent();
  record.client_spent = privacy_.client_spent();
  if (setup_.rules.evaluated.has(record.round)) tests_.test(answer(), record);
  return record;
}

Checkpoint Rerun::state() {
  Checkpoint state = drive_.state;
  state.fleet_state = drive_.fleet->save();
  state.server_state = drive_.server.save();
  return state;
}

}  // namespace fedstride
