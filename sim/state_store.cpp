#include "sim/state_store.hpp"

#include <lmdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/folder_lock.hpp"
#include "core/hash.hpp"
#include "sim/state_pages.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kForm = "fedstride states 2";
constexpr std::string_view kMarkKey = "mark";
constexpr std::uint64_t kAddresses = std::uint64_t{1} << 40;  // of a mapping; costs nothing until it is used
constexpr std::uint64_t kLeastAddresses = std::uint64_t{1} << 30;
constexpr std::size_t kMostUnwritten = std::size_t{64} << 20;  // bytes of a transaction in memory
constexpr std::array kTables{StateTable{"marks"}, StateTable{"states", sizeof(std::uint64_t)},
                             StateTable{"slots", sizeof(ClientId)}, StateTable{"undo", sizeof(ClientId)}};

MDB_val bytes_of(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }
std::string_view text_of(const MDB_val& value) { return {static_cast<const char*>(value.mv_data), value.mv_size}; }

ClientId client_of(const MDB_val& key) {
  ClientId client = 0;
  std::memcpy(&client, key.mv_data, sizeof client);
  return client;
}

std::array<std::uint8_t, 8> check_of(ClientId client, std::string_view state) {
  const auto digest = Hash().value(client).text(state).digest();
  std::array<std::uint8_t, 8> check{};
  std::memcpy(check.data(), digest.data(), check.size());
  return check;
}

}  // namespace

// Not of the anonymous namespace, since StateStore::Impl has members of these types.
namespace held_states {

/// Where a client's state is, and the beginning of its hash.
struct Held {
  static constexpr std::uint8_t kNoSlot = 2;
  std::uint8_t slot = kNoSlot;
  std::array<std::uint8_t, 8> check{};
};
static_assert(sizeof(Held) == 9);

/// A sum over all clients of hashes of what they have: it tells whether a table is as it was written, and costs a change of one client two
/// short hashes.
class HeldSum {
 public:
  void add(ClientId client, const Held& held) { change(client, held, 1); }
  void take_away(ClientId client, const Held& held) { change(client, held, ~std::uint64_t{0}); }
  bool operator==(const HeldSum&) const = default;

  friend std::ostream& operator<<(std::ostream& out, const HeldSum& sum) { return out << sum.parts_[0] << ' ' << sum.parts_[1]; }
  friend std::istream& operator>>(std::istream& in, HeldSum& sum) { return in >> sum.parts_[0] >> sum.parts_[1]; }

 private:
  // No state is as good as no entry.
  void change(ClientId client, const Held& held, std::uint64_t times) {
    if (held.slot == Held::kNoSlot) return;
    const auto digest = Hash().value(client).value(held.slot).bytes(held.check.data(), held.check.size()).digest();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      std::uint64_t part = 0;
      std::memcpy(&part, digest.data() + i * sizeof part, sizeof part);
      parts_[i] += times * part;
    }
  }

  std::array<std::uint64_t, 2> parts_{};
};

}  // namespace held_states
using held_states::Held;
using held_states::HeldSum;

// LMDB is used without its own locks: the file is ours alone, and everything happens under one mutex, in one write transaction at a time.
struct StateStore::Impl {
  enum class Mode : std::uint8_t { write, read, temporary };

  Impl(fs::path path, std::string identity, std::uint32_t round, Mode how)
      : file(std::move(path)), run(std::move(identity)), base(round), now(round), mode(how) {
    std::error_code error;
    if (round == 0) fs::remove(file, error);
    if (round > 0 && !fs::exists(file, error))
      throw failure("the clients' states, '" + file.string() + "', are not there; the run, which is in round " +
                    std::to_string(round) + ", cannot go on without them");
    try {
      open();
      if (round == 0)
        begin_empty();
      else
        check_mark();
    } catch (...) {
      close();
      throw;
    }
    if (mode == Mode::temporary) fs::remove(file, error);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { close(); }

  [[noreturn]] void fail(const std::string& doing, int code) const {
    broken = true;
    std::error_code error;
    constexpr std::uintmax_t kNoRoom = 1 << 20;
    if (code == EIO && fs::space(file.parent_path(), error).available < kNoRoom && !error) code = ENOSPC;  // LMDB's name for it
    std::string why = ::mdb_strerror(code);
    if (code == MDB_MAP_FULL) why = "they need more room than the " + std::to_string(mapped >> 30) + " GiB that could be mapped";
    if (code == MDB_INVALID || code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_VERSION_MISMATCH)
      why = "it is damaged or not a file of clients' states";
    throw failure("cannot " + doing + " the clients' states in '" + file.string() + "': " + why);
  }
  void require(const char* doing, int code) const {
    if (code != MDB_SUCCESS) fail(doing, code);
  }

  void open() {
    if (base > 0) {
      take_lock();
      check_state_pages(file, kTables);
    }
    map();
    if (base == 0) take_lock();
  }

  void map() {
    for (mapped = kAddresses;; mapped /= 2) {
      require("open", ::mdb_env_create(&environment));
      ::mdb_env_set_maxdbs(environment, 4);
      ::mdb_env_set_mapsize(environment, mapped);
      const unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS | MDB_NORDAHEAD | (mode == Mode::temporary ? MDB_NOSYNC : 0U) |
                             (mode == Mode::read ? MDB_RDONLY : 0U);
      ::mdb_env_set_assert(environment, [](MDB_env*, const char*) {
        std::fputs("fedstride: a file of clients' states is damaged\n", stderr);
        std::_Exit(1);
      });
      const int code = ::mdb_env_open(environment, file.c_str(), flags, 0644);
      if (code == MDB_SUCCESS) break;
      ::mdb_env_close(std::exchange(environment, nullptr));
      if (code != ENOMEM || mapped <= kLeastAddresses) fail("open", code);
    }
  }

  void take_lock() {
    // The process of a rank that was killed may be there for a moment still.
    constexpr int kLooks = 40;
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    lock.emplace(file, FolderLock::Wait::no);
    for (int look = 1; look < kLooks && !lock->held(); ++look) {
      std::this_thread::sleep_for(kBetweenLooks);
      lock.emplace(file, FolderLock::Wait::no);
    }
    if (!lock->held()) throw failure("the clients' states, '" + file.string() + "', are in use by another process");
  }

  void close() {
    abort();
    if (environment != nullptr) ::mdb_env_close(environment);
    environment = nullptr;
    lock.reset();
  }

  void abort() {
    if (transaction != nullptr) ::mdb_txn_abort(transaction);
    transaction = nullptr;
    unwritten = 0;
    sum = written_sum;
  }

  void start(const char* doing) {
    require(doing, ::mdb_txn_begin(environment, nullptr, mode == Mode::read ? MDB_RDONLY : 0U, &transaction));
  }

  void begin() {
    // After a failure the table `undo` may not be what this object takes it for.
    if (broken) throw failure("the clients' states, '" + file.string() + "', cannot be changed after an error");
    if (transaction != nullptr) return;
    start("change");
    if (mode == Mode::read || now != base || undo_is_of_base) return;
    // The first change after a checkpoint: nobody goes back beyond it any more.
    require("change", ::mdb_drop(transaction, undo, 0));
    undo_is_of_base = true;
  }

  // `round` of the states; nothing in the middle of a round.
  void commit(std::optional<std::uint32_t> round) {
    std::ostringstream text;
    text << kForm << '\n'
         << run << '\n'
         << base << ' ' << (round ? static_cast<std::int64_t>(*round) : -1) << ' ' << base_sum << ' ' << sum << '\n';
    const std::string mark = text.str() + Hash().text(text.str()).hex();
    MDB_val key = bytes_of(kMarkKey);
    MDB_val value = bytes_of(mark);
    require("write", ::mdb_put(transaction, marks, &key, &value, 0));
    const int code = ::mdb_txn_commit(std::exchange(transaction, nullptr));
    unwritten = 0;
    require("write", code);
    written_sum = sum;
  }

  void open_tables(unsigned flags) {
    require("read", ::mdb_dbi_open(transaction, "marks", flags, &marks));
    require("read", ::mdb_dbi_open(transaction, "states", flags | MDB_INTEGERKEY, &states));
    require("read", ::mdb_dbi_open(transaction, "slots", flags | MDB_INTEGERKEY, &slots));
    require("read", ::mdb_dbi_open(transaction, "undo", flags | MDB_INTEGERKEY, &undo));
  }

  // A client has two slots, and the table `slots` tells which of them holds its state. Its first change after a checkpoint goes to the other one,
  // and `undo` is told where the state of the checkpoint remains: nothing is copied.
  // Nothing if the table has no entry of the client.
  std::optional<Held> held_in(MDB_dbi table, ClientId client) const {
    MDB_val key{sizeof client, &client};
    MDB_val value;
    const int code = ::mdb_get(transaction, table, &key, &value);
    if (code == MDB_NOTFOUND) return std::nullopt;
    require("read", code);
    return held_of(value);
  }
  Held held_of(const MDB_val& value) const {
    Held held;
    if (value.mv_size != sizeof held) fail("read", MDB_CORRUPTED);
    std::memcpy(&held, value.mv_data, sizeof held);
    return held;
  }
  Held held_by(ClientId client) const {
    if (reads_undo)
      if (const auto before = held_in(undo, client)) return *before;
    return held_in(slots, client).value_or(Held{});
  }
  void set_held(ClientId client, const Held& before, Held after) {
    MDB_val key{sizeof client, &client};
    MDB_val value{sizeof after, &after};
    require("write", ::mdb_put(transaction, slots, &key, &value, 0));
    sum.take_away(client, before);
    sum.add(client, after);
  }
  static std::uint64_t place_of(ClientId client, std::uint8_t slot) { return 2 * std::uint64_t{client} + slot; }

  void begin_empty() {
    start("write");
    open_tables(MDB_CREATE);
    commit(0);
  }

  void check_mark() {
    start("read");
    MDB_val key = bytes_of(kMarkKey);
    MDB_val value;
    int code = ::mdb_dbi_open(transaction, "marks", 0, &marks);
    if (code == MDB_SUCCESS) code = ::mdb_get(transaction, marks, &key, &value);
    const std::string mark(code == MDB_SUCCESS ? text_of(value) : std::string_view());
    std::istringstream text(mark);
    std::string form;
    std::string its_run;
    std::uint32_t its_base = 0;
    std::int64_t its_round = 0;
    if (!std::getline(text, form) || form != kForm)
      throw failure("'" + file.string() + "' is not a file of clients' states of this version of fedstride");
    const std::size_t told = mark.rfind('\n') + 1;
    if (Hash().text(std::string_view(mark).substr(0, told)).hex() != std::string_view(mark).substr(told) ||
        !std::getline(text, its_run) || !(text >> its_base >> its_round >> base_sum >> sum))
      fail("read", MDB_CORRUPTED);
    if (its_run != run) throw failure("the clients' states, '" + file.string() + "', are of another run");
    if (its_round != base && its_base != base)
      throw failure("the clients' states, '" + file.string() + "', are of round " +
                    (its_round >= 0 ? std::to_string(its_round) : "after " + std::to_string(its_base)) +
                    ", the checkpoint is of round " + std::to_string(base));
    written_sum = sum;
    if (its_round == base) base_sum = sum;
    open_tables(0);
    check_sums(its_round != base);
    require("read", ::mdb_txn_commit(std::exchange(transaction, nullptr)));  // keeps the tables open
    if (its_round == base) return;
    if (mode == Mode::read)
      reads_undo = true;
    else
      go_back();
  }

  // Each entry of a table of what clients hold.
  void for_each_held(MDB_dbi table, function_ref<void(ClientId, const Held&)> use) const {
    MDB_cursor* cursor = nullptr;
    require("read", ::mdb_cursor_open(transaction, table, &cursor));
    MDB_val key;
    MDB_val value;
    int code = MDB_SUCCESS;
    while ((code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS) use(client_of(key), held_of(value));
    ::mdb_cursor_close(cursor);
    if (code != MDB_NOTFOUND) require("read", code);
  }

  // Refuses tables that do not say what was written, or that do not lead back to what clients held at the checkpoint.
  void check_sums(bool with_undo) const {
    HeldSum found;
    for_each_held(slots, [&](ClientId client, const Held& held) { found.add(client, held); });
    if (found != sum) fail("read", MDB_CORRUPTED);
    if (!with_undo) return;
    for_each_held(undo, [&](ClientId client, const Held& before) {
      found.take_away(client, held_in(slots, client).value_or(Held{}));
      found.add(client, before);
    });
    if (found != base_sum) fail("read", MDB_CORRUPTED);
  }

  // To the checkpoint. In parts: each client that is back has no entry any more.
  void go_back() {
    for (bool more = true; more;) {
      start("change");
      MDB_cursor* cursor = nullptr;
      require("read", ::mdb_cursor_open(transaction, undo, &cursor));
      MDB_val key;
      MDB_val value;
      constexpr int kAtOnce = 100'000;
      int code = ::mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
      for (int done = 0; code == MDB_SUCCESS && done < kAtOnce; ++done) {
        const ClientId client = client_of(key);
        set_held(client, held_in(slots, client).value_or(Held{}), held_of(value));
        require("change", ::mdb_cursor_del(cursor, 0));
        code = ::mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
      }
      ::mdb_cursor_close(cursor);
      if (code != MDB_NOTFOUND) require("read", code);
      more = code == MDB_SUCCESS;
      if (!more && sum != base_sum) fail("read", MDB_CORRUPTED);
      commit(more ? std::nullopt : std::optional(base));
    }
    now = base;
    undo_is_of_base = true;
  }

  void for_each(function_ref<bool(ClientId)> wants, function_ref<void(ClientId, std::string_view)> use) {
    std::vector<ClientId> clients;
    {
      const std::scoped_lock held(mutex);
      begin();
      for_each_held(slots, [&](ClientId client, const Held&) {
        if (held_by(client).slot != Held::kNoSlot && wants(client)) clients.push_back(client);
      });
    }
    for (const ClientId client : clients) use(client, read(client));
  }

  std::string read(ClientId client) {
    Held held;
    std::string state;
    bool found = false;
    {
      const std::scoped_lock alone(mutex);
      begin();
      held = held_by(client);
      if (held.slot == Held::kNoSlot) return {};
      std::uint64_t place = place_of(client, held.slot);
      MDB_val key{sizeof place, &place};
      MDB_val value;
      const int code = ::mdb_get(transaction, states, &key, &value);
      if (code != MDB_NOTFOUND) require("read", code);
      found = code == MDB_SUCCESS;
      if (found) state = text_of(value);
    }
    if (found && check_of(client, state) == held.check) return state;
    throw failure("the state of client " + std::to_string(client) + " in '" + file.string() + "' is damaged");
  }

  void write(ClientId client, std::string_view state) {
    const auto check = check_of(client, state);
    const std::scoped_lock alone(mutex);
    begin();
    Held before = held_by(client);
    Held after{before.slot, check};
    MDB_val key{sizeof client, &client};
    MDB_val value{sizeof before, &before};
    const int noted = ::mdb_put(transaction, undo, &key, &value, MDB_NOOVERWRITE);
    if (noted != MDB_KEYEXIST) {
      require("write", noted);
      after.slot = before.slot == 0 ? 1 : 0;
    }
    set_held(client, before, after);
    std::uint64_t place = place_of(client, after.slot);
    key = {sizeof place, &place};
    value = bytes_of(state);
    require("write", ::mdb_put(transaction, states, &key, &value, 0));
    unwritten += sizeof after + state.size();
    if (unwritten < kMostUnwritten) return;
    commit(std::nullopt);
    in_parts = true;
  }

  void end_round(std::uint32_t round) {
    const std::scoped_lock held(mutex);
    begin();
    commit(round);
    now = round;
    in_parts = false;
  }

  std::uint32_t abandon_round() {
    const std::scoped_lock held(mutex);
    abort();
    broken = false;
    if (std::exchange(in_parts, false))
      go_back();
    else if (now == base)
      undo_is_of_base = false;
    return now;
  }

  void checkpointed(std::uint32_t round) {
    const std::scoped_lock held(mutex);
    base = round;
    base_sum = written_sum;
    undo_is_of_base = false;
  }

  fs::path file;
  std::string run;
  std::uint32_t base;  ///< of the last checkpoint
  std::uint32_t now;   ///< of the last round that ended
  HeldSum base_sum;
  HeldSum sum;          ///< of what clients hold now
  HeldSum written_sum;  ///< of what they hold on the disk
  Mode mode;
  mutable bool broken = false;
  bool reads_undo = false;       ///< the state of the checkpoint is where `undo` says, for clients that it has
  bool undo_is_of_base = false;  ///< the table `undo` leads to `base`, not to a checkpoint before it
  bool in_parts = false;         ///< a part of the round is on the disk
  std::uint64_t mapped = 0;
  std::size_t unwritten = 0;
  std::mutex mutex;
  MDB_env* environment = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi marks = 0;
  MDB_dbi states = 0;
  MDB_dbi slots = 0;
  MDB_dbi undo = 0;
  std::optional<FolderLock> lock;
};

StateStore::StateStore(fs::path file, std::string run, std::uint32_t round)
    : impl_(std::make_unique<Impl>(std::move(file), std::move(run), round, Impl::Mode::write)) {}
StateStore::StateStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StateStore::~StateStore() = default;
StateStore::StateStore(StateStore&&) noexcept = default;
StateStore& StateStore::operator=(StateStore&&) noexcept = default;

StateStore StateStore::temporary() {
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / "fedstride-states-XXXXXX").string();
  if (error || ::mkdtemp(folder.data()) == nullptr)
    throw failure("cannot make a folder for the clients' states in '" + fs::path(folder).parent_path().string() +
                  "': " + std::strerror(errno) + "; name another with TMPDIR");
  try {
    StateStore store(std::make_unique<Impl>(fs::path(folder) / "states", "", 0, Impl::Mode::temporary));
    fs::remove_all(folder, error);
    return store;
  } catch (...) {
    fs::remove_all(folder, error);
    throw;
  }
}

StateStore StateStore::for_reading(fs::path file, std::string run, std::uint32_t round) {
  if (round == 0) throw failure("the clients' states, '" + file.string() + "', are asked for before the first round");
  return StateStore(std::make_unique<Impl>(std::move(file), std::move(run), round, Impl::Mode::read));
}
std::string StateStore::read(ClientId client) const { return impl_->read(client); }
void StateStore::for_each(function_ref<bool(ClientId)> wants, function_ref<void(ClientId, std::string_view)> use) const {
  impl_->for_each(wants, use);
}
void StateStore::write(ClientId client, std::string_view state) { impl_->write(client, state); }
void StateStore::end_round(std::uint32_t round) { impl_->end_round(round); }
std::uint32_t StateStore::abandon_round() { return impl_->abandon_round(); }
void StateStore::checkpointed(std::uint32_t round) { impl_->checkpointed(round); }

}  // namespace fedstride
