#include "sim/run/virtual_time.hpp"

#include <algorithm>
#include <cereal/types/array.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/number_bytes.hpp"
#include "core/part_state.hpp"
#include "core/text.hpp"
#include "sim/run/wired_fleet.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVersionKind = "fedstride version 1";

// A record in the event file: the end of a task or of a round.
struct TimelineRecord {
  std::uint32_t round = 0;
  std::uint32_t client = 0;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  std::uint32_t staleness = 0;
  std::uint32_t fate = 0;
};
constexpr std::uint32_t kRoundEnds = 4;  // after the values of TaskFate
constexpr std::size_t kRecordBytes = sizeof(TimelineRecord);
static_assert(kRecordBytes == 32);

std::vector<TimelineRecord> read_records(const fs::path& file) {
  std::vector<TimelineRecord> records;
  if (!is_there(file)) return records;
  const std::string bytes = read_file(file, VirtualTime::kMaxEvents * kRecordBytes);
  for (std::string_view left = bytes; left.size() >= kRecordBytes;) {
    records.push_back(take_number<TimelineRecord>(left));
    if (records.back().fate > kRoundEnds)
      throw failure("'" + file.string() + "' is damaged; remove it to go on without its events");
  }
  return records;
}

}  // namespace

TimeTerms make_time_terms(const Setup& setup) {
  const Configuration& configuration = setup.configuration;
  Cohort cohort = configuration.cohort;
  const int* goal = cohort->size_setting();
  return {.devices = configuration.devices,
          .availability = configuration.availability,
          .deadline = configuration.deadline > 0 ? nanoseconds(configuration.deadline, "deadline") : kNever,
          .seed = configuration.seed,
          .clients = setup.clients.size(),
          .separation = minimum_separation(configuration),
          .cohort_goal = goal != nullptr && configuration.mode->over_selection() > 1 ? static_cast<std::size_t>(*goal) : 0,
          .flops = example_flops(setup.model),
          .traffic = transfer_bytes(setup),
          .examples = [&setup](ClientId client, std::uint32_t count) {
            return planned_examples(setup.training, client, setup.clients.row_counts[client], count);
          }};
}

void check_time(const Setup& setup) {
  const TimeTerms terms = make_time_terms(setup);
  setup.configuration.mode->begin(terms);
  if (terms.deadline == kNever || terms.devices->jitter() > 0) return;
  constexpr std::size_t kMostAsked = 1'000'000;
  Nanoseconds fastest = kNever;
  for (std::size_t client = 0; client < std::min(terms.clients, kMostAsked); ++client)
    fastest = std::min(fastest, terms.length(static_cast<ClientId>(client), 1));
  if (fastest > terms.deadline && terms.clients <= kMostAsked)
    throw usage_error("deadline is " + number_text(seconds_of(terms.deadline)) + "; the fastest of " +
                      counted(terms.clients, "client") + " takes " + number_text(seconds_of(fastest)) +
                      " virtual seconds, so no client would meet it");
}

VirtualTime::VirtualTime(const Setup& setup, const fs::path& folder, std::string identity)
    : setup_(setup),
      folder_(folder / "versions"),
      identity_(std::move(identity)),
      terms_(make_time_terms(setup)),
      tenths_(terms_),
      run_(setup.configuration.mode->begin(terms_)),
      keeps_events_(!setup.configuration.timeline.empty()),
      events_(folder / "timeline.events") {}

const RoundTime& VirtualTime::commit(std::uint32_t round) {
  const RoundTime& last = run_->last();
  add_to(totals_, last, tenths_, terms_);
  if (keeps_events_) keep_events(round, last);
  return last;
}

void VirtualTime::keep_events(std::uint32_t round, const RoundTime& time) {
  if (event_count_ + time.tasks.size() + 1 > kMaxEvents) return;
  std::string bytes;
  for (const TimedTask& task : time.tasks)
    put_number(bytes,
               TimelineRecord{round, task.client, task.start, task.end, task.staleness, static_cast<std::uint32_t>(task.fate)});
  put_number(bytes, TimelineRecord{round, 0, time.end, time.end, 0, kRoundEnds});
  std::ofstream(events_, std::ios::binary | std::ios::app).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  event_count_ += time.tasks.size() + 1;
}

// Keeps the events up to this round: a killed session may have written more than its checkpoint records.
void VirtualTime::cut_events(std::uint32_t round) {
  const std::vector<TimelineRecord> records = read_records(events_);
  if (records.empty()) return;
  std::size_t kept = 0;
  while (kept < records.size() && records[kept].round <= round) ++kept;
  event_count_ = kept;
  std::error_code error;
  fs::resize_file(events_, kept * kRecordBytes, error);
  if (error) throw failure("cannot write '" + events_.string() + "': " + error.message());
}

std::string VirtualTime::save() const {
  return state_bytes([&](std::ostream& stream) { write_archive(stream, totals_, run_->save()); });
}

fs::path VirtualTime::version_file(std::uint32_t version) const { return folder_ / std::to_string(version); }

void VirtualTime::load(const std::string& bytes, std::uint32_t round) {
  if (keeps_events_) cut_events(round);
  if (bytes.empty()) return;
  std::string schedule;
  load_state(bytes, "the virtual time", std::nullopt, [&](std::istream& stream) { read_archive(stream, totals_, schedule); });
  run_->load(schedule, totals_.now);
  for (const std::uint32_t number : run_->needed_versions()) {
    std::string identity;
    ModelVersion version;
    load_state(read_sealed(version_file(number), kVersionKind, "version"), "version " + std::to_string(number), std::nullopt,
               [&](std::istream& stream) { read_archive(stream, identity, version.model, version.told); });
    if (identity != identity_ + " " + std::to_string(number) || version.model.size() != setup_.model.size())
      throw failure("'" + version_file(number).string() + "' belongs to another run; it must be the file that this run wrote");
    run_->put_version(number, std::move(version));
    written_.insert(number);
  }
}

void VirtualTime::write_versions() {
  const std::set<std::uint32_t> needed = run_->needed_versions();
  std::error_code error;
  if (!needed.empty()) fs::create_directory(folder_, error);
  for (const std::uint32_t number : needed) {
    if (!written_.insert(number).second) continue;
    const ModelVersion& version = *run_->versions().at(number);
    write_sealed(version_file(number), kVersionKind, [&](std::ostream& stream) {
      write_archive(stream, identity_ + " " + std::to_string(number), version.model, version.told);
    });
  }
}

void VirtualTime::drop_versions() {
  const std::set<std::uint32_t> needed = run_->needed_versions();
  std::erase_if(written_, [&](std::uint32_t number) {
    std::error_code error;
    if (!needed.contains(number)) fs::remove(version_file(number), error);
    return !needed.contains(number);
  });
}

void VirtualTime::write_timeline(const fs::path& file) const {
  constexpr std::string_view kFates[] = {"arrived", "late", "lost", "dropped"};
  Json trace;
  Json& events = trace["traceEvents"] = Json::array();
  const auto microseconds = [](Nanoseconds time) { return static_cast<double>(time) / 1e3; };
  for (const TimelineRecord& task : read_records(events_)) {
    if (task.fate == kRoundEnds) {
      events.push_back(
          Json{{"name", "version"}, {"ph", "i"}, {"s", "g"}, {"ts", microseconds(task.end)}, {"pid", 0}, {"tid", 0}});
      continue;
    }
    Json event{{"name", kFates[task.fate]},
               {"ph", "X"},
               {"ts", microseconds(task.start)},
               {"dur", microseconds(task.end - task.start)},
               {"pid", 0},
               {"tid", task.client}};
    event["args"] = Json{{"client", task.client}, {"staleness", task.staleness}};
    events.push_back(std::move(event));
  }
  trace["displayTimeUnit"] = "ms";
  write_file(file, dump_json(trace) + "\n");
}

}  // namespace fedstride
