#include "sim/fleet/state_store.hpp"

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

#include "core/call_failed.hpp"
#include "core/error.hpp"
#include "core/folder_lock.hpp"
#include "core/formats.hpp"
#include "core/hash.hpp"
#include "sim/fleet/state_pages.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kForm = "fedstride states 2";
constexpr std::string_view kMarkKey = "mark";
constexpr std::uint64_t kAddresses = std::uint64_t{1} << 40;  // size of the mapping in bytes; unused addresses cost nothing
constexpr std::uint64_t kLeastAddresses = std::uint64_t{1} << 30;
constexpr std::size_t kMostUnwritten = std::size_t{64} << 20;  // bytes that one transaction may hold in memory
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

// These are not in the anonymous namespace, since StateStore::Impl has members of these types.
namespace state_slots {

/// Which of a client's slots holds its state, and the first bytes of the state's hash.
struct SlotEntry {
  static constexpr std::uint8_t kNoSlot = 2;
  std::uint8_t slot = kNoSlot;
  std::array<std::uint8_t, 8> check{};
};
static_assert(sizeof(SlotEntry) == 9);

/// A sum of hashes over all clients' entries, which shows whether a table has changed. Changing one client's entry costs two
/// short hashes.
class SlotSum {
 public:
  void add(ClientId client, const SlotEntry& entry) { change(client, entry, 1); }
  void take_away(ClientId client, const SlotEntry& entry) { change(client, entry, ~std::uint64_t{0}); }
  bool operator==(const SlotSum&) const = default;

  friend std::ostream& operator<<(std::ostream& out, const SlotSum& sum) { return out << sum.parts_[0] << ' ' << sum.parts_[1]; }
  friend std::istream& operator>>(std::istream& in, SlotSum& sum) { return in >> sum.parts_[0] >> sum.parts_[1]; }

 private:
  // An entry without a state adds nothing.
  void change(ClientId client, const SlotEntry& entry, std::uint64_t times) {
    if (entry.slot == SlotEntry::kNoSlot) return;
    const auto digest = Hash().value(client).value(entry.slot).bytes(entry.check.data(), entry.check.size()).digest();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      std::uint64_t part = 0;
      std::memcpy(&part, digest.data() + i * sizeof part, sizeof part);
      parts_[i] += times * part;
    }
  }

  std::array<std::uint64_t, 2> parts_{};
};

}  // namespace state_slots
using state_slots::SlotEntry;
using state_slots::SlotSum;

// LMDB is used without its own locks: no other process has the file open, and all accesses are under one mutex, in one write
// transaction at a time.
struct StateStore::Impl {
  enum class Mode : std::uint8_t { write, read, temporary };

  Impl(fs::path path, std::string identity, std::uint32_t round, Mode how)
      : file(std::move(path)), run(std::move(identity)), base(round), now(round), mode(how) {
    std::error_code error;
    if (round == 0) fs::remove(file, error);
    if (round > 0 && !fs::exists(file, error))
      throw failure("the clients' states '" + file.string() + "' are missing; the run, which is in round " +
                    std::to_string(round) + ", cannot continue without them");
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
  Impl& operator=(Impl&&) = delete;
  ~Impl() { close(); }

  [[noreturn]] void fail(const std::string& doing, int code) const {
    broken = true;
    std::error_code error;
    constexpr std::uintmax_t kNoRoom = 1 << 20;
    if (code == EIO && fs::space(file.parent_path(), error).available < kNoRoom && !error) code = ENOSPC;  // LMDB returned EIO
    std::string why = ::mdb_strerror(code);
    if (code == MDB_MAP_FULL)
      why = "they exceed the " + std::to_string(mapped >> 30) + " GiB of address space that could be mapped";
    if (code == MDB_INVALID || code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_VERSION_MISMATCH)
      why = "the file is damaged or not a file of clients' states";
    throw call_failed("cannot " + doing + " the clients' states in '" + file.string() + "': " + why, code);
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
    // A killed rank's process may still exist for a moment.
    constexpr int kLooks = 40;
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    lock.emplace(file, FolderLock::Wait::no);
    for (int look = 1; look < kLooks && !lock->held(); ++look) {
      std::this_thread::sleep_for(kBetweenLooks);
      lock.emplace(file, FolderLock::Wait::no);
    }
    if (lock->failed()) lock->require(file);
    if (!lock->held()) throw busy("the clients' states '" + file.string() + "' are in use by another process");
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
    // After a failure, the table `undo` may differ from what this object assumes.
    if (broken) throw failure("the clients' states '" + file.string() + "' cannot be changed after an error");
    if (transaction != nullptr) return;
    start("change");
    if (mode == Mode::read || now != base || undo_is_of_base) return;
    // This is the first change after a checkpoint; from now on, no earlier checkpoint can be restored.
    require("change", ::mdb_drop(transaction, undo, 0));
    undo_is_of_base = true;
  }

  // `round` is the round the states belong to; empty in the middle of a round.
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

  // A client has two slots; the table `slots` records which holds its state. The first change after a checkpoint goes to the
  // other slot, and `undo` records where the checkpoint's state is, so nothing is copied.
  // Returns nothing if `table` has no entry for the client.
  std::optional<SlotEntry> entry_in(MDB_dbi table, ClientId client) const {
    MDB_val key{sizeof client, &client};
    MDB_val value;
    const int code = ::mdb_get(transaction, table, &key, &value);
    if (code == MDB_NOTFOUND) return std::nullopt;
    require("read", code);
    return entry_of(value);
  }
  SlotEntry entry_of(const MDB_val& value) const {
    SlotEntry entry;
    if (value.mv_size != sizeof entry) fail("read", MDB_CORRUPTED);
    std::memcpy(&entry, value.mv_data, sizeof entry);
    return entry;
  }
  SlotEntry entry_for(ClientId client) const {
    if (reads_undo)
      if (const auto before = entry_in(undo, client)) return *before;
    return entry_in(slots, client).value_or(SlotEntry{});
  }
  void set_entry(ClientId client, const SlotEntry& before, SlotEntry after) {
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
    std::string stored_run;
    std::uint32_t stored_base = 0;
    std::int64_t stored_round = 0;
    std::getline(text, form);
    check_format(form, kForm, "the clients' states '" + file.string() + "'");
    if (form != kForm) throw failure("'" + file.string() + "' is not a file of clients' states");
    const std::size_t told = mark.rfind('\n') + 1;
    if (Hash().text(std::string_view(mark).substr(0, told)).hex() != std::string_view(mark).substr(told) ||
        !std::getline(text, stored_run) || !(text >> stored_base >> stored_round >> base_sum >> sum))
      fail("read", MDB_CORRUPTED);
    if (stored_run != run) throw failure("the clients' states '" + file.string() + "' belong to another run");
    if (stored_round != base && stored_base != base)
      throw failure("the clients' states '" + file.string() + "' are from " +
                    (stored_round >= 0 ? "round " + std::to_string(stored_round) : "after round " + std::to_string(stored_base)) +
                    ", but the checkpoint is from round " + std::to_string(base));
    written_sum = sum;
    if (stored_round == base) base_sum = sum;
    open_tables(0);
    check_sums(stored_round != base);
    require("read", ::mdb_txn_commit(std::exchange(transaction, nullptr)));  // keeps the tables open
    if (stored_round == base) return;
    if (mode == Mode::read)
      reads_undo = true;
    else
      go_back();
  }

  // Calls `use` for each entry of `slots` or `undo`.
  void for_each_entry(MDB_dbi table, function_ref<void(ClientId, const SlotEntry&)> use) const {
    MDB_cursor* cursor = nullptr;
    require("read", ::mdb_cursor_open(transaction, table, &cursor));
    MDB_val key;
    MDB_val value;
    int code = MDB_SUCCESS;
    while ((code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS) use(client_of(key), entry_of(value));
    ::mdb_cursor_close(cursor);
    if (code != MDB_NOTFOUND) require("read", code);
  }

  // Throws if the tables differ from what was written, or if `undo` does not restore the checkpoint's entries.
  void check_sums(bool with_undo) const {
    SlotSum found;
    for_each_entry(slots, [&](ClientId client, const SlotEntry& entry) { found.add(client, entry); });
    if (found != sum) fail("read", MDB_CORRUPTED);
    if (!with_undo) return;
    for_each_entry(undo, [&](ClientId client, const SlotEntry& before) {
      found.take_away(client, entry_in(slots, client).value_or(SlotEntry{}));
      found.add(client, before);
    });
    if (found != base_sum) fail("read", MDB_CORRUPTED);
  }

  // Restores the checkpoint in several transactions: once a client is restored, its entry in `undo` is removed.
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
        set_entry(client, entry_in(slots, client).value_or(SlotEntry{}), entry_of(value));
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
      const std::scoped_lock guard(mutex);
      begin();
      for_each_entry(slots, [&](ClientId client, const SlotEntry&) {
        if (entry_for(client).slot != SlotEntry::kNoSlot && wants(client)) clients.push_back(client);
      });
    }
    for (const ClientId client : clients) use(client, read(client));
  }

  std::string read(ClientId client) {
    SlotEntry entry;
    std::string state;
    bool found = false;
    {
      const std::scoped_lock guard(mutex);
      begin();
      entry = entry_for(client);
      if (entry.slot == SlotEntry::kNoSlot) return {};
      std::uint64_t place = place_of(client, entry.slot);
      MDB_val key{sizeof place, &place};
      MDB_val value;
      const int code = ::mdb_get(transaction, states, &key, &value);
      if (code != MDB_NOTFOUND) require("read", code);
      found = code == MDB_SUCCESS;
      if (found) state = text_of(value);
    }
    if (found && check_of(client, state) == entry.check) return state;
    throw failure("the state of client " + std::to_string(client) + " in '" + file.string() + "' is damaged");
  }

  void write(ClientId client, std::string_view state) {
    const auto check = check_of(client, state);
    const std::scoped_lock guard(mutex);
    begin();
    SlotEntry before = entry_for(client);
    SlotEntry after{before.slot, check};
    MDB_val key{sizeof client, &client};
    MDB_val value{sizeof before, &before};
    const int noted = ::mdb_put(transaction, undo, &key, &value, MDB_NOOVERWRITE);
    if (noted != MDB_KEYEXIST) {
      require("write", noted);
      after.slot = before.slot == 0 ? 1 : 0;
    }
    set_entry(client, before, after);
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
    const std::scoped_lock guard(mutex);
    begin();
    commit(round);
    now = round;
    in_parts = false;
  }

  std::uint32_t abandon_round() {
    const std::scoped_lock guard(mutex);
    abort();
    broken = false;
    if (std::exchange(in_parts, false))
      go_back();
    else if (now == base)
      undo_is_of_base = false;
    return now;
  }

  void checkpointed(std::uint32_t round) {
    const std::scoped_lock guard(mutex);
    if (round == base) return;  // the states may be rounds ahead of it
    base = round;
    base_sum = written_sum;
    undo_is_of_base = false;
  }

  fs::path file;
  std::string run;
  std::uint32_t base;  ///< round of the last checkpoint
  std::uint32_t now;   ///< last completed round
  SlotSum base_sum;
  SlotSum sum;          ///< of the current entries
  SlotSum written_sum;  ///< of the entries on disk
  Mode mode;
  mutable bool broken = false;
  bool reads_undo = false;       ///< for clients in `undo`, read() returns the checkpoint's state
  bool undo_is_of_base = false;  ///< the table `undo` restores `base`, not an earlier checkpoint
  bool in_parts = false;         ///< part of the round is already on disk
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
                  "': " + std::strerror(errno) + "; choose another folder with TMPDIR");
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
  if (round == 0) throw failure("the clients' states '" + file.string() + "' do not exist before the first round");
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
