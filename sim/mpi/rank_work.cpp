#include "sim/mpi/rank_work.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <numeric>

#include "sim/fleet/dealt_states.hpp"
#include "sim/mpi/placement.hpp"

namespace fedstride {

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown error";
  }
}

RankWork::RankWork(const Setup& setup, Threads& threads, const Ranks& ranks, const std::atomic<bool>* stop)
    : setup_(setup),
      threads_(threads),
      rank_(static_cast<std::size_t>(ranks.rank())),
      ranks_(static_cast<std::size_t>(ranks.size())),
      stop_(stop),
      fleet_(setup.model, setup.data.train, setup.training, setup.clients.rows, threads) {
  fleet_.stop_when(&halt_);
  if (!setup.training.keeps_clients()) return;
  std::vector<ClientId> everybody(setup.clients.rows.size());
  std::iota(everybody.begin(), everybody.end(), ClientId{0});
  home_.resize(everybody.size());
  const auto homes = placed_clients(everybody, setup.clients.row_counts, ranks_);
  for (std::size_t rank = 0; rank < homes.size(); ++rank)
    for (const ClientId client : homes[rank]) home_[client] = rank;
}

std::vector<std::vector<ClientId>> RankWork::placed(const std::vector<ClientId>& cohort) const {
  if (home_.empty()) return placed_clients(cohort, setup_.clients.row_counts, ranks_);
  std::vector<std::vector<ClientId>> placed(ranks_);
  for (const ClientId client : cohort) placed[home_[client]].push_back(client);
  return placed;
}

TrainAnswer RankWork::train(const Task& task, const std::vector<ClientId>& cohort, Accumulator& part,
                            function_ref<void()> meanwhile) {
  const std::vector<ClientId> mine = placed(cohort)[rank_];
  TrainAnswer answer;
  if (stopped()) halt();  // the round may be over before the next poll
  try {
    // At ordinary priority even where ranks share processors: below it, other programs on them would take nearly all of the time.
    Ranks::compute([&] { fleet_.collect(task, mine, part); },
                   [&] {
                     if (stopped()) halt();
                     meanwhile();
                   });
  } catch (const Interrupted&) {
    return {.interrupted = true};
  } catch (...) {
    return {.error = text_of(std::current_exception())};
  }
  return answer;
}

bool RankWork::aggregates_slices() const {
  return setup_.rules.keeps() == Accumulator::Keeps::updates && setup_.rules.aggregation->is_by_coordinate() &&
         !setup_.rules.attack.attack->conspires();
}

std::vector<PartOfSum::Update> RankWork::aggregate_slices(Ranks& ranks, std::uint32_t round, const std::vector<ClientId>& cohort,
                                                          const std::vector<PartOfSum::Update>& own) {
  try {
    const std::size_t size = setup_.training.objective->update_size(setup_.model.size());
    const auto begin_of = [&](std::size_t rank) { return size * rank / ranks_; };
    std::vector<std::string> mine;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      UpdateSlices slices;
      const std::size_t first = begin_of(rank);
      for (const PartOfSum::Update& update : own)
        slices.updates.push_back(
            {update.client, update.weight, Vector(view(update.change).subspan(first, begin_of(rank + 1) - first))});
      auto all = ranks.gather(
          encode_message(slices), kMaxTrainedBytes, [] {}, static_cast<int>(rank));
      if (rank == rank_) mine = std::move(all);
    }

    const std::size_t width = begin_of(rank_ + 1) - begin_of(rank_);
    Accumulator slice(setup_.rules.sum, round, cohort, width, Accumulator::Keeps::updates);
    ClientId first_client = cohort.empty() ? 0 : *std::ranges::max_element(cohort);
    std::uint64_t weight = 0;
    for (std::string& bytes : mine) {
      PartOfSum part{.sum = ExactSum(0), .updates = decode_message<UpdateSlices>(bytes).updates, .reports = {}};
      bytes = {};
      for (const PartOfSum::Update& update : part.updates) {
        part.reports.push_back({.client = update.client});
        if (weight == 0 || update.client < first_client) first_client = update.client;
        weight += update.weight;
      }
      slice.merge(part);
    }
    const auto spread = [&](int count, function_ref<void(int)> piece) {
      threads_.for_each_task(static_cast<std::size_t>(count), [&](std::size_t i) { piece(static_cast<int>(i)); });
    };
    UpdateSlices made;
    if (auto change = setup_.rules.aggregation->mean_change(std::move(slice), spread))
      made.updates.push_back({first_client, weight, *std::move(change)});

    const auto parts = ranks.gather(encode_message(made), kMaxTrainedBytes);
    if (rank_ != 0 || made.updates.empty()) return {};
    PartOfSum::Update& joined = made.updates.front();
    joined.change.resize(size);
    for (std::size_t rank = 1; rank < ranks_; ++rank) {
      const auto part = decode_message<UpdateSlices>(parts[rank]);
      std::ranges::copy(view(part.updates.at(0).change), joined.change.data() + begin_of(rank));
    }
    return std::move(made.updates);
  } catch (...) {
    ranks.abort(text_of(std::current_exception()));
  }
}

EvaluateAnswer RankWork::evaluate(const Vector& model, EvaluatedOn examples) {
  EvaluateAnswer answer;
  try {
    Evaluator& own = evaluator(examples);
    const std::size_t first = own.blocks() * rank_ / ranks_;
    const std::size_t last = own.blocks() * (rank_ + 1) / ranks_;
    Ranks::compute([&] { threads_.run([&] { answer.blocks = own.evaluate_blocks(model, first, last, threads_); }); }, [] {});
  } catch (...) {
    return {.error = text_of(std::current_exception())};
  }
  return answer;
}

Evaluation RankWork::evaluate_alone(const Vector& model, EvaluatedOn examples) {
  Evaluation result;
  threads_.run([&] { result = evaluator(examples).evaluate(model, threads_); });
  return result;
}

void RankWork::keep_in(const std::string& folder, const std::string& identity, std::uint32_t round) {
  if (!home_.empty()) fleet_.keep_in(StateStore(state_store_path(folder, rank_, ranks_), identity, round));
}

KeepAnswer RankWork::keep(RequestKind kind, std::uint32_t round) {
  try {
    if (kind == RequestKind::abandon) return {.round = fleet_.abandon_round(round)};
    fleet_.end_round(round);
    return {.round = round};
  } catch (...) {
    return {.error = text_of(std::current_exception())};
  }
}

Evaluator& RankWork::evaluator(EvaluatedOn examples) {
  auto& evaluator = evaluators_[examples];
  if (evaluator == nullptr) evaluator = make_evaluator(setup_, examples);
  return *evaluator;
}

}  // namespace fedstride
