#include <exception>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/seconds_since.hpp"
#include "core/stop.hpp"
#include "sim/mpi/mpi_fleet.hpp"
#include "sim/mpi/rank_work.hpp"
#include "sim/prepare/private_inputs.hpp"

namespace fedstride {
namespace {

constexpr double kBetweenNotes = 0.2;  // seconds

class Worker {
 public:
  Worker(Ranks& ranks, const MpiJob& job) : ranks_(ranks), job_(job) {}

  void work() {
    for (;;) {
      std::string bytes;
      ranks_.broadcast(bytes, kMaxRequestBytes);
      const auto request = decode_message<Request>(bytes);
      switch (request.kind) {
        case RequestKind::prepare:
          prepare(decode_message<PrepareRequest>(request.body));
          break;
        case RequestKind::begin:
          begin(decode_message<BeginRequest>(request.body));
          break;
        case RequestKind::train:
          train(request.number, decode_message<TrainRequest>(request.body));
          break;
        case RequestKind::keep:
        case RequestKind::abandon:
          ranks_.gather(encode_message(run_->work.keep(request.kind, static_cast<std::uint32_t>(request.number))), kMaxKeptBytes);
          break;
        case RequestKind::evaluate:
          evaluate(decode_message<EvaluateRequest>(request.body));
          break;
        case RequestKind::end:
          run_.reset();
          prepared_.reset();
          break;
        case RequestKind::dismiss:
          return;
      }
    }
  }

 private:
  struct Run {
    Run(Setup all, const Ranks& ranks, const std::atomic<bool>* stop)
        : setup(std::move(all)),
          threads(setup.configuration.threads),
          model(setup.model.size()),
          work(setup, threads, ranks, stop) {}
    Setup setup;
    Threads threads;
    Vector model;
    RankWork work;
  };

  void prepare(const PrepareRequest& request) {
    run_.reset();
    prepared_.reset();
    PrepareAnswer answer{
        .build = build_identity(), .command_line = job_.command_line, .settings = {}, .data_hash = {}, .partition_hash = {}};
    try {
      Configuration configuration = resolve(parse_settings(request.settings, "rank 0's settings"));
      if (!job_.data.empty()) configuration.data = job_.data;
      if (!job_.data_dir.empty()) configuration.data_dir = job_.data_dir;
      prepared_.emplace(fedstride::prepare(configuration, FirstWeights::elsewhere));
      answer.settings = lasting_settings(*prepared_);
      answer.data_hash = prepared_->data.hash;
      answer.partition_hash = prepared_->clients.partition_hash;
    } catch (const Error& error) {
      answer.error = error.what();
      answer.is_usage = error.kind() == Error::Kind::usage;
    } catch (...) {
      answer.error = text_of(std::current_exception());
    }
    ranks_.gather(encode_message(answer), kMaxPreparedBytes);
  }

  // Private components need not be released here: they require a single client, and there are never more ranks than clients.
  void begin(const BeginRequest& request) {
    if (!request.source.empty()) {
      use_source(*prepared_, RandomSource::load(request.source));
      release_moments(*prepared_, source_of(*prepared_));
    }
    poison(*prepared_);
    run_.emplace(std::move(*prepared_), ranks_, job_.stop);
    prepared_.reset();
    run_->work.keep_in(request.folder, request.identity, request.round);
  }

  void receive_model(bool follows) {
    if (follows) ranks_.broadcast(view(run_->model));
  }

  void train(std::uint64_t number, const TrainRequest& request) {
    receive_model(request.has_model);
    RankWork& work = run_->work;
    std::vector<std::uint64_t> releases(request.is_private ? run_->setup.clients.rows.size() : 0);
    if (request.is_private)
      for (std::size_t i = 0; i < request.cohort.size(); ++i) releases.at(request.cohort[i]) = request.releases.at(i);

    const Accumulator whole(run_->setup.rules.sum, request.round, request.cohort,
                            run_->setup.training.objective->update_size(run_->model.size()),
                            request.keeps_updates ? Accumulator::Keeps::updates : Accumulator::Keeps::sum,
                            pooled_reference(request.told), request.bound);
    const auto part = whole.fresh_part();
    work.resume();
    work.checkpointed(request.checkpoint);
    auto told = std::chrono::steady_clock::now();
    const std::uint64_t before = work.fleet().progress();
    bool halt_told = false;
    const auto meanwhile = [&] {
      while (const auto note = ranks_.next_note())
        if (note->second.subject == number && note->second.value == kHaltedNote) {
          work.halt();
          halt_told = true;
        }
      if (work.halted() && !std::exchange(halt_told, true)) ranks_.send(0, {number, kHaltedNote});
      if (seconds_since(told) < kBetweenNotes) return;
      told = std::chrono::steady_clock::now();
      ranks_.send(0, {number, work.fleet().progress() - before});
    };
    TrainAnswer answer = work.train(
        Task{request.round, run_->model, releases, request.told, view(request.beside), request.tests, {}, request.scale},
        request.cohort, *part, meanwhile);
    PartOfSum sum = std::move(*part).hand_over();
    if (answer.error.empty() && !answer.interrupted) {
      answer.weight = sum.sum.weight();
      answer.reports = std::move(sum.reports);
      if (!work.aggregates_slices()) answer.updates = std::move(sum.updates);
    } else if (!std::exchange(halt_told, true)) {
      ranks_.send(0, {number, kHaltedNote});
    }
    ranks_.gather(encode_message(answer), kMaxTrainedBytes);
    std::string verdict;
    ranks_.broadcast(verdict, 1);
    if (verdict.at(0) == kRoundKept) {
      ranks_.sum(sum.sum.integers());
      if (work.aggregates_slices()) work.aggregate_slices(ranks_, request.round, request.cohort, sum.updates);
    }
    meanwhile();
  }

  void evaluate(const EvaluateRequest& request) {
    receive_model(request.has_model);
    ranks_.gather(encode_message(run_->work.evaluate(run_->model, request.examples)), kMaxEvaluatedBytes);
  }

  Ranks& ranks_;
  const MpiJob& job_;
  std::optional<Setup> prepared_ = {};
  std::optional<Run> run_ = {};
};

}  // namespace

void work_for_rank_0(Ranks& ranks, const MpiJob& job) {
  const StopLater until_dismissed;  // lets this rank report the interrupted round to rank 0
  try {
    Worker(ranks, job).work();
  } catch (const std::exception& error) {
    ranks.abort(error.what());
  }
}

}  // namespace fedstride
