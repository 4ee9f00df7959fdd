#include "sim/mpi/ranks.hpp"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <thread>

#include "core/error.hpp"
#include "core/seconds_since.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLengthTag = 1;
constexpr int kBytesTag = 2;
constexpr int kNoteTag = 3;
constexpr std::size_t kAtOnce = std::size_t{1} << 30;          // bytes per call: MPI counts are int
constexpr std::size_t kIntegersAtOnce = std::size_t{1} << 15;  // integers per piece (half a megabyte); larger pieces are slower
constexpr std::size_t kSumsInFlight = 4;                       // pieces: one can be added while another is in transit
constexpr int kSpinPolls = 100;                                // polls before a wait starts to sleep
constexpr int kLongSpinPolls = 100'000;                        // the same for sum(), where all ranks should be ready
constexpr std::chrono::microseconds kMinNap{20};
constexpr std::chrono::microseconds kMaxNap{500};
constexpr double kMinute = 60;
constexpr double kSilentSeconds = 5;  // without notes for this long, a rank is "silent"; they are sent several times per second
constexpr int kStoppedCode = 130;

// Variables set by the launchers: OpenMPI's mpirun, and srun with PMIx or PMI.
constexpr std::array kLauncherVariables{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};

extern "C" void fedstride_add_integers(void* in, void* in_out, int* count, MPI_Datatype*) {
  const auto* from = static_cast<const char*>(in);
  auto* to = static_cast<char*>(in_out);
  for (int i = 0; i < *count; ++i, from += sizeof(__int128), to += sizeof(__int128)) {
    __int128 a = 0;
    __int128 b = 0;
    std::memcpy(&a, from, sizeof a);  // MPI's own buffers need not be aligned
    std::memcpy(&b, to, sizeof b);
    b += a;
    std::memcpy(to, &b, sizeof b);
  }
}

std::string host_name() {
  std::array<char, 64> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

struct Ranks::Group {
  struct Sent {
    Note note;
    MPI_Request request;
  };

  MPI_Comm all = MPI_COMM_NULL;
  bool is_world = false;
  MPI_Datatype integer = MPI_DATATYPE_NULL;
  MPI_Op add = MPI_OP_NULL;
  int rank = 0;
  int size = 1;
  std::vector<std::string> names = {};
  std::list<Sent> notes = {};                                // in transit
  std::vector<std::optional<Clock::time_point>> heard = {};  // when the last note of each rank arrived
  const std::atomic<bool>* stop = nullptr;
  double patience = 30;

  Group(MPI_Comm of, bool world) : all(of), is_world(world) {
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Type_contiguous(sizeof(__int128), MPI_BYTE, &integer);
    MPI_Type_commit(&integer);
    MPI_Op_create(fedstride_add_integers, 1, &add);
    heard.resize(static_cast<std::size_t>(size));
    int number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    const std::string host = host_name();
    std::array<char, 96> mine{};
    std::snprintf(mine.data(), mine.size(), "rank %d (%s)", number, host.c_str());
    std::vector<char> theirs(mine.size() * static_cast<std::size_t>(size));
    MPI_Allgather(mine.data(), mine.size(), MPI_CHAR, theirs.data(), mine.size(), MPI_CHAR, all);
    for (int r = 0; r < size; ++r) names.emplace_back(theirs.data() + mine.size() * static_cast<std::size_t>(r));
  }
  ~Group() {
    forget_completed();
    MPI_Op_free(&add);
    MPI_Type_free(&integer);
    if (is_world)
      MPI_Finalize();
    else
      MPI_Comm_free(&all);
  }
  Group& operator=(Group&&) = delete;

  void forget_completed() {
    notes.remove_if([](Sent& sent) {
      int done = 0;
      MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  [[noreturn]] void end_job(const std::string& line, int code) const {
    std::fflush(stdout);
    std::fprintf(stderr, "fedstride: %s\n", one_line(line).c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

  std::string names_text(const std::vector<bool>& waited_for) const {
    constexpr std::size_t kNamed = 8;
    std::vector<std::string> found;
    for (std::size_t r = 0; r < waited_for.size(); ++r)
      if (waited_for[r]) found.push_back(names[r] + (heard[r] && seconds_since(*heard[r]) > kSilentSeconds ? " (silent)" : ""));
    const std::size_t more = found.size() > kNamed ? found.size() - kNamed : 0;
    found.resize(found.size() - more);
    return joined(found) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
  }

  // Returns when done() is true. waited_for() returns which ranks are still missing.
  void wait(function_ref<bool()> done, function_ref<std::vector<bool>()> waited_for, int spin_polls = kSpinPolls) {
    const auto start = Clock::now();
    std::optional<Clock::time_point> stopped;
    double next_line = patience;
    auto nap = kMinNap;
    for (int polls = 0; !done(); ++polls) {
      if (polls < spin_polls) {
        ::sched_yield();
        continue;
      }
      std::this_thread::sleep_for(nap);
      nap = std::min(2 * nap, kMaxNap);
      if (rank != 0) continue;
      if (const double waited = seconds_since(start); waited >= next_line) {
        std::fprintf(stderr, "fedstride: waiting for %s for %.0f s\n", names_text(waited_for()).c_str(), waited);
        next_line = waited + kMinute;
      }
      if (stop == nullptr || !stop->load()) continue;
      if (!stopped) stopped = Clock::now();
      if (seconds_since(*stopped) > kMaxStopSeconds)
        end_job("stopped without " + names_text(waited_for()) + ": no answer; a run can be resumed from its last checkpoint",
                kStoppedCode);
    }
  }

  std::vector<bool> others() const {
    std::vector<bool> all_but_first(static_cast<std::size_t>(size), true);
    all_but_first[0] = false;
    return all_but_first;
  }

  void wait(MPI_Request& request, int spin_polls = kSpinPolls) {
    wait(
        [&] {
          int is_done = 0;
          MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
          return is_done != 0;
        },
        [&] { return others(); }, spin_polls);
  }

  void broadcast(void* data, std::size_t size_in_bytes) {
    for (std::size_t done = 0; done < size_in_bytes; done += kAtOnce) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Ibcast(static_cast<char*>(data) + done, static_cast<int>(std::min(kAtOnce, size_in_bytes - done)), MPI_BYTE, 0, all,
                 &request);
      wait(request);
    }
  }
};

Ranks::Ranks(std::unique_ptr<Group> group) : group_(std::move(group)) {}
Ranks::~Ranks() = default;

std::unique_ptr<Ranks> Ranks::join() {
  if (std::ranges::none_of(kLauncherVariables, [](const char* name) { return std::getenv(name) != nullptr; }))
    throw usage_error(
        "fleet is 'mpi', but this process was not started by mpirun or srun; use, for example, mpirun -n 4 fedstride run --fleet "
        "mpi ...");
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  auto group = std::make_unique<Group>(MPI_COMM_WORLD, true);
  const char* tasks = std::getenv("SLURM_NTASKS");
  const bool is_task = std::getenv("SLURM_PROCID") != nullptr && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
  if (group->size == 1 && is_task && tasks != nullptr && std::atoi(tasks) > 1)
    throw usage_error("srun started " + std::string(tasks) +
                      " tasks that cannot see each other; use srun --mpi=pmix if this Slurm supports it, or mpirun");
  return std::unique_ptr<Ranks>(new Ranks(std::move(group)));
}

int Ranks::rank() const { return group_->rank; }
int Ranks::size() const { return group_->size; }
std::string Ranks::name(int rank) const { return group_->names.at(static_cast<std::size_t>(rank)); }

std::unique_ptr<Ranks> Ranks::split(int number) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(group_->all, number, group_->rank, &part);
  auto group = std::make_unique<Group>(part, false);
  group->stop = group_->stop;
  group->patience = group_->patience;
  return std::unique_ptr<Ranks>(new Ranks(std::move(group)));
}

void Ranks::watch(const std::atomic<bool>* stop, double patience) {
  group_->stop = stop;
  group_->patience = patience;
}

void Ranks::broadcast(std::string& bytes, std::uint64_t most) {
  std::uint64_t length = bytes.size();
  group_->broadcast(&length, sizeof length);
  if (length > most)
    abort("a message has " + std::to_string(length) + " bytes; at most " + std::to_string(most) + " are allowed");
  bytes.resize(length);
  group_->broadcast(bytes.data(), bytes.size());
}

void Ranks::broadcast(std::span<float> numbers) { group_->broadcast(numbers.data(), numbers.size_bytes()); }

std::vector<std::string> Ranks::gather(const std::string& bytes, std::uint64_t most, function_ref<void()> meanwhile, int root) {
  Group& group = *group_;
  if (bytes.size() > most)
    abort("an answer has " + std::to_string(bytes.size()) + " bytes; at most " + std::to_string(most) + " are allowed");
  if (group.rank != root) {
    std::uint64_t length = bytes.size();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(&length, 1, MPI_UINT64_T, root, kLengthTag, group.all, &request);
    group.wait(request);
    for (std::size_t done = 0; done < length; done += kAtOnce) {
      MPI_Isend(bytes.data() + done, static_cast<int>(std::min<std::size_t>(kAtOnce, length - done)), MPI_BYTE, root, kBytesTag,
                group.all, &request);
      group.wait(request);
    }
    return {};
  }
  struct Incoming {
    std::uint64_t length = 0;
    std::size_t have = 0;  // bytes received, including the pending call's
    bool has_length = false;
    bool complete = false;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::vector<std::string> answers(static_cast<std::size_t>(group.size));
  std::vector<Incoming> incoming(answers.size());
  answers[static_cast<std::size_t>(root)] = bytes;
  incoming[static_cast<std::size_t>(root)].complete = true;
  for (int r = 0; r < group.size; ++r) {
    if (r == root) continue;
    Incoming& one = incoming[static_cast<std::size_t>(r)];
    MPI_Irecv(&one.length, 1, MPI_UINT64_T, r, kLengthTag, group.all, &one.request);
  }
  std::size_t left = answers.size() - 1;
  const auto advance = [&](int r) {
    Incoming& one = incoming[static_cast<std::size_t>(r)];
    std::string& answer = answers[static_cast<std::size_t>(r)];
    int is_done = 0;
    MPI_Test(&one.request, &is_done, MPI_STATUS_IGNORE);
    if (is_done == 0) return;
    if (!one.has_length) {
      one.has_length = true;
      if (one.length > most)
        abort("an answer from " + name(r) + " has " + std::to_string(one.length) + " bytes; at most " + std::to_string(most) +
              " are allowed");
      answer.resize(one.length);
    }
    if (one.have == one.length) {
      one.complete = true;
      --left;
      return;
    }
    const std::size_t next = std::min<std::size_t>(kAtOnce, one.length - one.have);
    MPI_Irecv(answer.data() + one.have, static_cast<int>(next), MPI_BYTE, r, kBytesTag, group.all, &one.request);
    one.have += next;
  };
  group.wait(
      [&] {
        meanwhile();
        for (int r = 0; r < group.size; ++r)
          if (!incoming[static_cast<std::size_t>(r)].complete) advance(r);
        return left == 0;
      },
      [&] {
        std::vector<bool> missing;
        for (const Incoming& one : incoming) missing.push_back(!one.complete);
        return missing;
      });
  return answers;
}

void Ranks::sum(std::span<__int128> integers) {
  std::array<MPI_Request, kSumsInFlight> requests;  // nonblocking, since a rank could hang in a blocking call
  requests.fill(MPI_REQUEST_NULL);
  std::size_t piece = 0;
  for (std::size_t done = 0; done < integers.size(); done += kIntegersAtOnce, ++piece) {
    const auto some = integers.subspan(done, std::min(kIntegersAtOnce, integers.size() - done));
    const auto count = static_cast<int>(some.size());
    MPI_Request& request = requests[piece % kSumsInFlight];
    group_->wait(request, kLongSpinPolls);
    if (group_->rank == 0)
      MPI_Ireduce(MPI_IN_PLACE, some.data(), count, group_->integer, group_->add, 0, group_->all, &request);
    else
      MPI_Ireduce(some.data(), nullptr, count, group_->integer, group_->add, 0, group_->all, &request);
  }
  for (MPI_Request& request : requests) group_->wait(request, kLongSpinPolls);
}

void Ranks::send(int to, const Note& note) {
  group_->forget_completed();
  group_->notes.push_back({note, MPI_REQUEST_NULL});
  auto& sent = group_->notes.back();
  MPI_Isend(&sent.note, sizeof sent.note, MPI_BYTE, to, kNoteTag, group_->all, &sent.request);
}

std::optional<std::pair<int, Note>> Ranks::next_note() {
  int is_there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, group_->all, &is_there, &status);
  if (is_there == 0) return std::nullopt;
  Note note;
  MPI_Recv(&note, sizeof note, MPI_BYTE, status.MPI_SOURCE, kNoteTag, group_->all, MPI_STATUS_IGNORE);
  group_->heard[static_cast<std::size_t>(status.MPI_SOURCE)] = Clock::now();
  return std::pair{status.MPI_SOURCE, note};
}

void Ranks::abort(const std::string& message) const { group_->end_job(name(group_->rank) + ": " + message, 1); }

}  // namespace fedstride
