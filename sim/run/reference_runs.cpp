#include "sim/run/reference_runs.hpp"

#include <algorithm>
#include <filesystem>

#include "core/build_info.hpp"
#include "core/files.hpp"
#include "core/passing_folder.hpp"
#include "core/text.hpp"
#include "sim/run/run.hpp"
#include "sim/settings/document.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kVersionKey = "numerics-version";
constexpr std::size_t kMaxFile = 1 << 20;

const DocumentNode* child(const DocumentNode& table, std::string_view key) {
  const auto found = std::ranges::find(*table.table(), key, &DocumentNode::Table::value_type::first);
  return found == table.table()->end() ? nullptr : &found->second;
}

/// Adds a table's settings, except `hash`, to `settings`.
void add_settings(const Document& document, const DocumentNode& table, Settings& settings) {
  for (const auto& [key, node] : *table.table()) {
    if (key == "hash") continue;
    if (!node.is_scalar()) throw document.wrong(node, key + " must be one value: a number, a text, true or false");
    if (find_key(key) == nullptr) throw document.wrong(node, unknown_key(key).what());
    if (key == "out") throw document.wrong(node, "out is chosen for each run; leave it out");
    settings[key] = node.setting();
  }
  if (const auto data = settings.find("data"); data != settings.end())
    if (auto* path = std::get_if<std::string>(&data->second.value))
      *path = (std::filesystem::path(document.name).parent_path() / *path).string();
}

const DocumentNode& version_node(const Document& document) {
  const DocumentNode* node = child(document.root, kVersionKey);
  const auto* version = node == nullptr ? nullptr : std::get_if<std::int64_t>(&node->value);
  if (version == nullptr)
    throw document.wrong(node == nullptr ? document.root : *node,
                         "a file of reference runs must state its numerics-version, such as " + std::to_string(kNumericsVersion));
  return *node;
}

std::vector<ReferenceRun> runs_of(const Document& document) {
  Settings common;
  for (const auto& [key, node] : *document.root.table())
    if (key != kVersionKey && ((key != "common" && key != "run") || node.table() == nullptr))
      throw document.wrong(node, "'" + key + "' is not valid; valid: numerics-version, [common], [run.NAME]");
  if (const DocumentNode* table = child(document.root, "common")) {
    if (const DocumentNode* hash = child(*table, "hash"))
      throw document.wrong(*hash, "a hash belongs to a single run; [common] may have only settings");
    add_settings(document, *table, common);
  }
  std::vector<ReferenceRun> runs;
  const DocumentNode* all = child(document.root, "run");
  if (all == nullptr || all->table()->empty())
    throw document.wrong(document.root, "there is no run; a run is a table [run.NAME]");
  for (const auto& [name, node] : *all->table()) {
    if (node.table() == nullptr) throw document.wrong(node, "run." + name + " must be a table: [run." + name + "]");
    const DocumentNode* hash = child(node, "hash");
    if (hash == nullptr || hash->text() == nullptr)
      throw document.wrong(node, "run '" + name + "' has no hash; add hash = \"...\", or hash = \"\" and use --update");
    runs.push_back({.name = name, .hash = *hash->text(), .settings = common, .line = hash->line, .column = hash->column});
    add_settings(document, node, runs.back().settings);
  }
  return runs;
}

/// The text with the new hashes and this build's version. Throws Error (usage) unless each old value is still in place.
std::string updated(const std::string& text, const Document& document, const std::vector<ReferenceRun>& runs,
                    const std::vector<std::string>& hashes) {
  struct Edit {
    std::size_t line, column;
    std::vector<std::string> from;  // the old hashes
    std::string to;
  };
  const DocumentNode& version = version_node(document);
  std::vector<Edit> edits{
      {version.line, version.column, {std::to_string(std::get<std::int64_t>(version.value))}, std::to_string(kNumericsVersion)}};
  for (std::size_t i = 0; i < runs.size(); ++i)
    edits.push_back({runs[i].line, runs[i].column, {'"' + runs[i].hash + '"', "'" + runs[i].hash + "'"}, '"' + hashes[i] + '"'});
  std::ranges::sort(edits, std::greater<>(), [](const Edit& one) { return std::pair(one.line, one.column); });
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  for (const Edit& one : edits) {
    std::string& line = lines.at(one.line - 1);
    const std::size_t begin = one.column - 1;
    const auto found = std::ranges::find_if(one.from, [&](const std::string& from) {
      return begin <= line.size() && line.substr(begin).starts_with(from) &&
             !line.substr(begin + from.size()).starts_with(from[0]);
    });
    if (found == one.from.end())
      throw document.wrong({.line = one.line, .column = one.column},
                           "--update can replace only a value written like this: " + one.from.front());
    line.replace(begin, found->size(), one.to);
  }
  return joined(lines, "\n");
}

}  // namespace

std::vector<ReferenceRun> read_reference_runs(const std::string& path, bool to_update) {
  const std::string text = read_file(path, kMaxFile);
  const Document document = parse_document(text, path);
  const std::int64_t version = std::get<std::int64_t>(version_node(document).value);
  std::vector<ReferenceRun> runs = runs_of(document);
  const bool is_open = std::ranges::none_of(runs, [](const ReferenceRun& run) { return is_private(resolve(run.settings)); });
  if (version != kNumericsVersion && !(is_open && version == kOpenNumericsVersion) && !to_update)
    throw usage_error("'" + path + "' has the hashes of numerics version " + std::to_string(version) + "; this build's is " +
                      std::to_string(is_open ? kOpenNumericsVersion : kNumericsVersion));
  if (to_update) updated(text, document, runs, std::vector<std::string>(runs.size()));
  return runs;
}

std::string hash_of(const ReferenceRun& reference, int threads, const std::atomic<bool>* stop) {
  const PassingFolder folder("verify");
  Settings settings = reference.settings;
  settings["out"] = {(folder.path() / "run").string(), true};
  settings["threads"] = {std::int64_t{threads}, true};
  std::string hash;
  RunObserver observer;
  observer.stop = stop;
  observer.round = [&](const RoundRecord& round) { hash = round.model_hash; };
  const RunSummary summary = [&] {
    try {
      return run(settings, observer);
    } catch (const Error& error) {
      throw Error(error.kind(), "run '" + reference.name + "': " + error.what());
    }
  }();
  if (!summary.interrupted && summary.idle_rounds == summary.rounds)
    throw usage_error("run '" + reference.name +
                      "': every step of every client was undone, so its hash shows nothing; give it a smaller learning-rate");
  return summary.interrupted ? std::string() : hash;
}

void update_reference_runs(const std::string& path, const std::vector<std::string>& hashes) {
  const std::string text = read_file(path, kMaxFile);
  const Document document = parse_document(text, path);
  const std::vector<ReferenceRun> runs = runs_of(document);
  if (runs.size() != hashes.size())
    throw usage_error("'" + path + "' has " + counted(runs.size(), "run") + " now; it had " + std::to_string(hashes.size()));
  write_file(path, updated(text, document, runs, hashes));
}

}  // namespace fedstride
