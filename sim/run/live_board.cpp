#include "sim/run/live_board.hpp"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <vector>

#include "core/error.hpp"
#include "core/event_file.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "sim/settings/client_reports.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::pair<std::string_view, std::string_view> kTags[] = {
    {"epsilon_spent", "privacy/epsilon"},
    {"delta_spent", "privacy/delta"},
    {"client_epsilon_spent", "privacy/client_epsilon"},
    {"client_delta_spent", "privacy/client_delta"},
    {"worst_client_accuracy", "clients/worst_accuracy"},
    {"best_client_accuracy", "clients/best_accuracy"},
    {"client_accuracy_deviation", "clients/accuracy_deviation"},
    {"own_accuracy", "clients/own_accuracy"},
    {"own_accuracy_worst_tenth", "clients/own_accuracy_worst_tenth"},
    {"personal_accuracy", "clients/personal_accuracy"},
    {"personal_accuracy_worst_tenth", "clients/personal_accuracy_worst_tenth"},
    {"own_r2", "clients/own_r2"},
    {"own_r2_worst_tenth", "clients/own_r2_worst_tenth"},
    {"personal_r2", "clients/personal_r2"},
    {"personal_r2_worst_tenth", "clients/personal_r2_worst_tenth"},
    {"backdoor_success", "attack/backdoor_success"},
    {"failed_updates", "clients/failed_updates"},
    {"seconds", "time/seconds"},
    {"evaluation_seconds", "time/evaluation_seconds"},
    {"examples_per_second", "time/examples_per_second"},
};

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// The numbers in a line, as in tables (python/fedstride_report/model.py), without those that no guarantee covers.
class LineScalars {
 public:
  explicit LineScalars(const Json& line) {
    if (const auto names = line.find("not_covered"); names != line.end())
      for (const Json& name : *names) uncovered_.push_back(name.text());
    for (const auto& [name, value] : line.items()) take(name, value);
    if (const auto clients = line.find("clients"); clients != line.end())
      for (const Json& client : *clients) take_client(client);
    if (!line.contains("participants"))  // a line that omits clients already has the totals
      totals_.visit([&](std::string_view name, double value, bool) { add(std::string(name), value); });
  }
  std::vector<Scalar> scalars = {};

 private:
  bool is_covered(const std::string& name) const { return std::ranges::find(uncovered_, name) == uncovered_.end(); }

  void add(const std::string& metric, double value) {
    if (std::isfinite(value)) scalars.push_back({tensorboard_tag(metric), value});
  }

  void take(const std::string& name, const Json& value) {
    if (name == "round" || !is_covered(name)) return;
    if (value.is_number()) add(name == "failed_clients" ? "failed_updates" : name, value.get<double>());
    const bool of_clients = name == "client_privacy";
    if (!value.is_object() || (!of_clients && name != "example_privacy")) return;
    for (const auto& [which, spent] : value.items())
      if (spent.is_number()) add((of_clients ? "client_" : "") + which + "_spent", spent.get<double>());
  }

  void take_client(const Json& client) {
    const Json number = client.value("client", Json(nullptr));
    const std::string end = number.is_number() ? "/" + std::to_string(number.get<std::uint64_t>()) : "";
    const bool is_shown = !end.empty() && number.get<std::uint64_t>() < kMaxExportedClients;
    double steps = 0, rejected = 0;
    for (const auto& [name, value] : client.items()) {
      if (name == "client" || !value.is_number() || !is_covered("clients." + name)) continue;
      const auto of_client = value.get<double>();
      if (!std::isfinite(of_client)) continue;
      if (name == "steps") steps = of_client;
      if (name == "rejected") rejected = of_client;
      totals_.add(name, of_client);
      if (is_shown) scalars.push_back({"clients/" + name + end, of_client});
    }
    if (is_shown && steps > 0) scalars.push_back({"clients/rejected_share" + end, rejected / steps});
  }

  std::vector<std::string> uncovered_;
  ClientTotals totals_;
};

std::string event_of(const Json& line) {
  return scalar_event(now(), line.at("round").get<std::int64_t>(), LineScalars(line).scalars);
}

}  // namespace

std::string tensorboard_tag(std::string_view metric) {
  for (const auto& [name, tag] : kTags)
    if (name == metric) return std::string(tag);
  // Turns test_accuracy into accuracy/test.
  for (const std::string_view group : {"accuracy", "r2", "loss"})
    if (metric == group)
      return std::string(group) + "/" + std::string(group);
    else if (metric.ends_with(std::string("_") + std::string(group)))
      return std::string(group) + "/" + std::string(metric.substr(0, metric.size() - group.size() - 1));
  if (metric.find("epsilon") != metric.npos) return "privacy/" + std::string(metric);
  return "training/" + std::string(metric);
}

LiveBoard::LiveBoard(const fs::path& board, const fs::path& run, std::uint32_t rounds_done) {
  fs::path name = fs::absolute(run).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  path_ = board / name.filename() / kEventFile;
  try {
    begin(run, rounds_done);
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

void LiveBoard::begin(const fs::path& run, std::uint32_t rounds_done) {
  make_folder(path_.parent_path());
  file_ = opened(path_, O_RDWR | O_CREAT | O_APPEND, 0644);
  if (!file_) throw fedstride::failure("cannot write '" + path_.string() + "': " + std::strerror(errno));
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
    throw fedstride::failure("'" + path_.string() + "' is being written by another run");
  const std::string before = rounds_done > 0 ? read_file(path_) : std::string();
  const EventsRead there = events_up_to(before, rounds_done);
  // Another run with the same name may have written the file since.
  const std::string first = first_event(now());
  std::size_t same = there.bytes > 0 && begins_with_event(before, first) ? first.size() : 0;
  std::string bytes = same == 0 ? first : "";
  if (rounds_done > 0) {
    std::ifstream lines = opened_stream(run / "rounds.jsonl");
    std::string line;
    for (std::uint32_t round = 1; round <= rounds_done && std::getline(lines, line); ++round) {
      const std::string event = event_of(parse_json(line));
      if (bytes.empty() && round <= there.last_step && begins_with_event(std::string_view(before).substr(same), event))
        same += event.size();
      else
        bytes += event;
    }
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(same)) != 0)
    throw fedstride::failure("cannot write '" + path_.string() + "': " + std::strerror(errno));
  write(bytes);
}

void LiveBoard::add(std::string_view line) {
  if (failure_.empty()) write(event_of(parse_json(line)));
}

void LiveBoard::write(std::string_view bytes) {
  if (!write_all(file_.get(), bytes)) failure_ = "cannot write '" + path_.string() + "': " + std::strerror(errno);
}

}  // namespace fedstride
