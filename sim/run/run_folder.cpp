#include "sim/run/run_folder.hpp"

#include <cstdlib>
#include <map>
#include <system_error>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "data/schema.hpp"
#include "dp/ledger/ledger_file.hpp"
#include "nn/safetensors.hpp"
#include "sim/prepare/setup.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchemaFile = "schema.json";
constexpr const char* kKeptFolder = "checkpoints";

// Removes `path` and then its parents up to `topmost`, while they are empty.
void remove_empty(fs::path path, const fs::path& topmost) {
  std::error_code error;
  for (;; path = path.parent_path()) {
    if (fs::exists(path, error) && !fs::remove(path, error)) return;
    if (path == topmost || !path.has_relative_path()) return;
  }
}

// Creates `path` with its parents. Returns the topmost folder that it created; empty if it created none.
fs::path made_folder(const fs::path& path) {
  std::error_code error;
  fs::path topmost;
  for (fs::path at = path; !at.empty() && !fs::exists(at, error) && at != at.root_path(); at = at.parent_path()) topmost = at;
  fs::create_directories(path, error);
  if (error) {
    if (!topmost.empty()) remove_empty(path, topmost);
    throw failure("cannot make folder '" + path.string() + "': " + error.message());
  }
  return topmost;
}

bool is_occupied(const fs::path& folder) {
  std::error_code error;
  const bool is_empty = fs::is_empty(folder, error);
  if (!error) return !is_empty;
  const std::string why = "cannot read folder '" + folder.string() + "': " + error.message();
  throw error == std::errc::too_many_files_open ? temporary(why) : failure(why);
}

fs::path free_name(const Configuration& configuration, fs::path& topmost) {
  const std::string base = configuration.dataset + "-" + std::string(configuration.optimizer.name());
  topmost = made_folder("runs");
  for (int number = 1;; ++number) {
    fs::path path = fs::path("runs") / (base + "-" + std::to_string(number));
    std::error_code error;
    if (fs::create_directory(path, error)) {  // only one process succeeds, even if several look for a name
      if (topmost.empty()) topmost = path;
      return path;
    }
    if (error) throw failure("cannot make folder '" + path.string() + "': " + error.message());
  }
}

}  // namespace

std::string results_hash_after(const std::string& before, std::string_view line) { return Hash().text(before).text(line).hex(); }

RunFolder::RunFolder(fs::path path, fs::path topmost)
    : name_(path.string()),
      path_(fs::absolute(path)),
      topmost_(topmost.empty() ? topmost : fs::absolute(topmost)),
      lock_(locked(path)) {}

RunFolder RunFolder::create(const std::string& name, const Configuration& configuration) {
  fs::path topmost;
  const fs::path path = name.empty() ? free_name(configuration, topmost) : fs::path(name);
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error))
    throw usage_error("out '" + path.string() + "' is not a folder; it must be an empty or new folder");
  if (!name.empty()) topmost = made_folder(path);
  RunFolder folder(path, topmost);
  if (is_occupied(path))
    throw usage_error("out '" + path.string() + "' is not empty; continue its run with --resume '" + path.string() +
                      "', or choose another folder");
  return folder;
}

void RunFolder::require(const std::string& name, const std::string& key) {
  std::error_code error;
  if (!fs::exists(fs::path(name) / "config.toml", error))
    throw usage_error(key + (key.empty() ? "'" : " '") + name +
                      "' is not the folder of a run (it has no config.toml); give the --out folder of a run");
}

RunFolder RunFolder::open(const std::string& name) {
  require(name, "resume");
  const fs::path path(name);
  RunFolder folder(path, {});
  return folder;
}

void RunFolder::write_configuration(const std::string& text) const { write_file(path_ / "config.toml", text); }
void RunFolder::write_partition(const Setup& setup) const { fedstride::write_partition(setup, path_ / "partition.json"); }

void RunFolder::write_schema(const Setup& setup) const {
  if (setup.data.train.classes > 0) write_file(path_ / kSchemaFile, schema_text(schema_of(setup.data)) + "\n");
}

std::shared_ptr<const Schema> RunFolder::schema() const {
  const fs::path file = path_ / kSchemaFile;
  std::error_code error;
  if (!fs::exists(file, error)) return nullptr;
  return std::make_shared<const Schema>(read_schema(read_file(file, size_of_file(file)), "'" + file.string() + "'"));
}

std::optional<Checkpoint> RunFolder::load() const {
  std::error_code error;
  const bool has_rounds = fs::exists(path_ / "rounds.jsonl", error) && fs::file_size(path_ / "rounds.jsonl", error) > 0;
  if (!has_rounds && !fs::exists(path_ / "checkpoint", error)) return std::nullopt;
  return load_checkpoint(path_ / "checkpoint");
}

void RunFolder::save(const Checkpoint& checkpoint) const {
  process_.require();
  save_checkpoint(path_ / "checkpoint", checkpoint);
}

void RunFolder::keep(const Checkpoint& checkpoint, function_ref<void(const fs::path&)> with_states) const {
  process_.require();
  const fs::path folder = kept_folder(path_, checkpoint.round);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw failure("cannot make folder '" + folder.string() + "': " + error.message());
  with_states(folder);
  save_checkpoint(folder / "checkpoint", checkpoint);
}

fs::path kept_folder(const fs::path& run, std::uint32_t round) { return run / kKeptFolder / std::to_string(round); }

std::uint32_t last_kept(const fs::path& run, std::uint32_t round) {
  std::uint32_t last = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / kKeptFolder, error)) {
    const auto kept = static_cast<std::uint32_t>(std::strtoul(entry.path().filename().c_str(), nullptr, 10));
    if (kept > last && kept <= round && fs::exists(entry.path() / "checkpoint", error)) last = kept;
  }
  return last;
}

void RunFolder::cut_results(const Checkpoint& checkpoint) const {
  const fs::path path = path_ / "rounds.jsonl";
  const std::string results = read_file(path, size_of_file(path));
  std::string hash;
  std::uint64_t seen = 0;
  while (seen < checkpoint.results_bytes) {
    const auto end = results.find('\n', seen);
    if (end == std::string::npos) break;
    hash = results_hash_after(hash, std::string_view(results).substr(seen, end - seen));
    seen = end + 1;
  }
  if (seen != checkpoint.results_bytes || hash != checkpoint.results_hash)
    throw failure("'" + path.string() + "' was altered: its lines do not match the checkpoint");
  if (seen != results.size()) write_file(path, std::string_view(results).substr(0, seen));
}

void RunFolder::start_results() const { write_file(path_ / "rounds.jsonl", ""); }

void RunFolder::append(const RoundRecord& record, const Configuration& configuration, Checkpoint& checkpoint) const {
  process_.require();
  const std::string line =
      round_json(record, configuration.publishable, ClientReports::of(configuration.client_reports, configuration.seed));
  append_line(path_ / "rounds.jsonl", line);
  checkpoint.results_bytes += line.size() + 1;
  checkpoint.results_hash = results_hash_after(checkpoint.results_hash, line);
}

namespace {

// `schema`: null if none.
std::string model_file(const Setup& setup, const Schema* schema, const Vector& model, std::uint32_t rounds,
                       const std::string& hash) {
  std::map<std::string, std::string> about{
      {"dataset", setup.configuration.dataset}, {"rounds", std::to_string(rounds)}, {"model_hash", hash}};
  if (!setup.privacy.on()) about.emplace("data_hash", setup.data.hash);
  if (schema != nullptr) about.emplace(kSchemaKey, schema_text(*schema));
  return write_safetensors(setup.model, model, about);
}

}  // namespace

void RunFolder::write_good_model(const Setup& setup, const Vector& model, std::uint32_t round) const {
  process_.require();
  write_file(path_ / kGoodModel, model_file(setup, schema().get(), model, round, model_hash(model)));
}

void RunFolder::write_results(const Setup& setup, const Vector& model, const RunSummary& summary, const std::string& hash) const {
  process_.require();
  write_file(path_ / "model.safetensors", model_file(setup, schema().get(), model, summary.rounds, hash));
  write_file(path_ / "summary.json", summary_json(setup, summary, hash));
}

void RunFolder::discard() {
  if (!process_.is_this() || holds_reservation(path_ / "ledger.jsonl")) return;
  std::error_code error;
  for (const char* name : {"config.toml", kSchemaFile, "partition.json", "partition.rows.npy", "partition.sizes.npy",
                           "rounds.jsonl", "checkpoint", "ledger.jsonl", "secret.key"})
    fs::remove(path_ / name, error);
  fs::remove_all(path_ / "states", error);
  fs::remove_all(path_ / "versions", error);
  fs::remove_all(path_ / kKeptFolder, error);
  if (!topmost_.empty()) remove_empty(path_, topmost_);
}

}  // namespace fedstride
