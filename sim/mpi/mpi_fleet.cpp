#include "sim/mpi/mpi_fleet.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "sim/fleet/dealt_states.hpp"
#include "sim/mpi/rank_work.hpp"

namespace fedstride {
namespace {

void send_request(Ranks& ranks, RequestKind kind, std::uint64_t number = 0, std::string body = {}) {
  std::string bytes = encode_message(Request{kind, number, std::move(body)});
  ranks.broadcast(bytes, kMaxRequestBytes);
}

/// Gathers the answers of all ranks. Throws Error (failure) for the first rank that reports an error.
template <class Answer>
std::vector<Answer> gathered(Ranks& ranks, const Answer& own, std::uint64_t most) {
  std::vector<Answer> answers;
  for (const std::string& bytes : ranks.gather(encode_message(own), most)) {
    answers.push_back(decode_message<Answer>(bytes));
    if (const std::string& error = answers.back().error; !error.empty())
      throw failure(ranks.name(static_cast<int>(answers.size()) - 1) + ": " + error);
  }
  return answers;
}

/// Returns the first line that differs between two texts, as it appears in each.
std::pair<std::string, std::string> first_difference(const std::string& here, const std::string& there) {
  const auto a = split(here, '\n');
  const auto b = split(there, '\n');
  const auto [left, right] = std::ranges::mismatch(a, b);
  return {left == a.end() ? std::string() : std::string(*left), right == b.end() ? std::string() : std::string(*right)};
}

void require_same(const std::string& who, const PrepareAnswer& here, const PrepareAnswer& there) {
  if (const std::string build = difference(here.build, there.build); !build.empty())
    throw failure(who + " has a different build: " + build + "; all ranks need the same build");
  const auto settings_differ = [&](const std::string& a, const std::string& b) {
    const auto [ours, theirs] = first_difference(a, b);
    throw usage_error(who + " was started with different settings: '" + ours + "' here, '" + theirs +
                      "' there; all ranks need the same command line");
  };
  if (here.command_line != there.command_line) settings_differ(here.command_line, there.command_line);
  if (!there.error.empty()) throw Error(there.is_usage ? Error::Kind::usage : Error::Kind::failure, who + ": " + there.error);
  if (here.settings != there.settings) settings_differ(here.settings, there.settings);
  if (here.data_hash != there.data_hash) throw failure(who + " has different data from rank 0; all ranks need the same data set");
  if (here.partition_hash != there.partition_hash)
    throw failure(who + " assigns rows to clients differently from rank 0; all ranks need the same files");
}

/// Asks every rank to prepare the run. Throws Error unless all of them agree.
void prepare_ranks(Ranks& ranks, const MpiJob& job, const Setup& setup) {
  if (static_cast<std::size_t>(ranks.size()) > setup.clients.rows.size())
    throw usage_error("there are " + std::to_string(ranks.size()) + " ranks for " + std::to_string(setup.clients.rows.size()) +
                      " clients; there can be at most one rank for each client");
  const PrepareAnswer here{.build = build_identity(),
                           .command_line = job.command_line,
                           .settings = lasting_settings(setup),
                           .data_hash = setup.data.hash,
                           .partition_hash = setup.clients.partition_hash};
  send_request(ranks, RequestKind::prepare, 0, encode_message(PrepareRequest{write_settings(setup.configuration, {})}));
  const auto answers = ranks.gather(encode_message(here), kMaxPreparedBytes);
  for (int rank = 1; rank < ranks.size(); ++rank)
    require_same(ranks.name(rank), here, decode_message<PrepareAnswer>(answers[static_cast<std::size_t>(rank)]));
}

class MpiFleet : public Fleet {
 public:
  MpiFleet(Ranks& ranks, const FleetTask& task)
      : ranks_(ranks), work_(task.setup, task.threads, ranks, task.stop), checkpoint_(task.round) {
    const std::size_t stores = static_cast<std::size_t>(ranks.size());
    const std::string folder = std::filesystem::absolute(task.folder).string();
    if (!work_.home().empty()) deal_out_states(folder, task.identity, task.round, work_.home(), stores);
    send_request(ranks_, RequestKind::begin, 0,
                 encode_message(BeginRequest{.source = task.setup.privacy.on() ? source_of(task.setup).save() : std::string(),
                                             .folder = folder,
                                             .identity = task.identity,
                                             .round = task.round}));
    work_.keep_in(folder, task.identity, task.round);
  }
  ~MpiFleet() override { send_request(ranks_, RequestKind::end); }

  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override {
    // An error in the middle of a request would leave the other ranks waiting.
    try {
      const std::string error = collect_all(task, cohort, updates);
      if (!error.empty()) throw failure(error);
    } catch (const Error&) {
      throw;
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      ranks_.abort(error.what());
    }
  }

  void end_round(std::uint32_t round) override { keep(RequestKind::keep, round); }
  std::uint32_t abandon_round(std::uint32_t last_round) override { return keep(RequestKind::abandon, last_round); }
  void checkpointed(std::uint32_t round) override {
    checkpoint_ = round;
    work_.checkpointed(round);
  }

  std::optional<Evaluation> evaluate(const Vector& model, EvaluatedOn examples) override {
    // A stopped run does not wait for other ranks.
    if (work_.stopped() || work_.halted()) return work_.evaluate_alone(model, examples);
    const bool fresh = is_new(model);
    send_request(ranks_, RequestKind::evaluate, 0, encode_message(EvaluateRequest{fresh, examples}));
    if (fresh) send(model);
    std::vector<EvaluatedBlocks> parts;
    for (EvaluateAnswer& answer : gathered(ranks_, work_.evaluate(model, examples), kMaxEvaluatedBytes))
      parts.push_back(std::move(answer.blocks));
    return joined_blocks(parts);
  }

 private:
  // Compares bits, since numbers that compare equal may differ in the sign of zero.
  bool is_new(const Vector& model) const {
    return sent_.size() != model.size() || std::memcmp(sent_.data(), model.data(), model.size() * sizeof(float)) != 0;
  }
  void send(const Vector& model) {
    sent_ = model;
    ranks_.broadcast(view(sent_));
  }

  /// Returns the earliest round among the ranks' states; if the rounds differ, some ranks went back to the last checkpoint.
  std::uint32_t keep(RequestKind kind, std::uint32_t round) {
    if (work_.home().empty()) return round;
    send_request(ranks_, kind, round);
    for (const KeepAnswer& answer : gathered(ranks_, work_.keep(kind, round), kMaxKeptBytes))
      round = std::min(round, answer.round);
    return round;
  }

  /// Returns why the round failed; empty if it did not.
  std::string collect_all(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) {
    TrainRequest request{.round = task.round,
                         .has_model = is_new(task.model),
                         .keeps_updates = updates.keeps() == Accumulator::Keeps::updates,
                         .cohort = cohort,
                         .is_private = !task.releases.empty(),
                         .releases = {},
                         .told = {task.told.begin(), task.told.end()},
                         .beside = Vector(task.beside),
                         .tests = task.tests,
                         .scale = task.scale,
                         .checkpoint = checkpoint_,
                         .bound = updates.bound()};
    if (request.is_private)
      for (const ClientId client : cohort) request.releases.push_back(task.releases[client]);
    ++number_;
    send_request(ranks_, RequestKind::train, number_, encode_message(request));
    if (request.has_model) send(task.model);

    const auto part = updates.fresh_part();
    const std::uint64_t before = progress_;
    std::vector<std::uint64_t> examples(static_cast<std::size_t>(ranks_.size()));
    bool halt_sent = false;
    const auto meanwhile = [&] {
      while (const auto note = ranks_.next_note()) {
        if (note->second.subject != number_) continue;
        if (note->second.value == kHaltedNote)
          work_.halt();
        else
          examples[static_cast<std::size_t>(note->first)] = note->second.value;
      }
      examples[0] = work_.fleet().progress() - own_before_;
      progress_ = std::accumulate(examples.begin(), examples.end(), before);
      if (!work_.halted() || std::exchange(halt_sent, true)) return;
      for (int rank = 1; rank < ranks_.size(); ++rank) ranks_.send(rank, {number_, kHaltedNote});
    };
    own_before_ = work_.fleet().progress();
    TrainAnswer own = work_.train(task, cohort, *part, meanwhile);
    if (!own.error.empty()) work_.halt();
    meanwhile();

    PartOfSum sum = std::move(*part).hand_over();
    const std::vector<std::string> answers = ranks_.gather(encode_message(own), kMaxTrainedBytes, [&] {
      if (work_.stopped()) work_.halt();
      meanwhile();
    });
    return end_collecting(task.round, cohort, answers, std::move(sum), updates, before);
  }

  std::string end_collecting(std::uint32_t task_round, const std::vector<ClientId>& cohort,
                             const std::vector<std::string>& answers, PartOfSum sum, Accumulator& updates, std::uint64_t before) {
    bool interrupted = false;
    std::string error;
    std::vector<TrainAnswer> all;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      try {
        all.push_back(decode_message<TrainAnswer>(answers[static_cast<std::size_t>(rank)]));
      } catch (const Error& damaged) {
        all.push_back({.error = damaged.what()});
      }
      interrupted |= all.back().interrupted;
      if (error.empty() && !all.back().error.empty()) error = ranks_.name(rank) + ": " + all.back().error;
    }
    std::string verdict(1, interrupted || !error.empty() ? kRoundAbandoned : kRoundKept);
    ranks_.broadcast(verdict, 1);
    if (!error.empty()) return error;
    if (interrupted) throw Interrupted{};
    ranks_.sum(sum.sum.integers());

    for (TrainAnswer& answer : std::span(all).subspan(1)) {
      sum.sum.add_weight(answer.weight);
      std::ranges::move(answer.reports, std::back_inserter(sum.reports));
      std::ranges::move(answer.updates, std::back_inserter(sum.updates));
    }
    if (work_.aggregates_slices()) sum.updates = work_.aggregate_slices(ranks_, task_round, cohort, sum.updates);
    if (sum.reports.size() != cohort.size()) return "the ranks did not train exactly the clients of the cohort";
    progress_ = before;
    for (const ClientReport& report : sum.reports) progress_ += report.examples;
    updates.merge(sum);
    return {};
  }

  Ranks& ranks_;
  RankWork work_;
  Vector sent_ = {};
  std::uint32_t checkpoint_;  ///< round of the last checkpoint
  std::uint64_t number_ = 0;
  std::uint64_t own_before_ = 0;
};

}  // namespace

FleetMaker mpi_fleet(Ranks& ranks, const MpiJob& job) {
  return {.make = [&ranks](const FleetTask& task) { return std::make_shared<MpiFleet>(ranks, task); },
          .rows = RowsAre::here,
          .check =
              [&ranks, job](const Setup& setup) {
                if (setup.rules.sum.secure)
                  throw usage_error("secure-aggregation is '" + std::string(choice_name(setup.configuration.secure_aggregation)) +
                                    "'; the ranks of an MPI job trust each other: use one process, or secure-aggregation none");
                prepare_ranks(ranks, job, setup);
              },
          .holds_states = false};
}

void dismiss(Ranks& ranks) { send_request(ranks, RequestKind::dismiss); }

}  // namespace fedstride
