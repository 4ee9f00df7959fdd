#include "sim/fleet/state_pages.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/call_failed.hpp"
#include "core/descriptor.hpp"
#include "core/error.hpp"
#include "core/files.hpp"

namespace fedstride {
namespace {

// The structures below match LMDB's mdb.c on a 64-bit machine.
static_assert(std::endian::native == std::endian::little && sizeof(std::size_t) == 8);

using PageNumber = std::uint64_t;
constexpr PageNumber kNoPage = ~PageNumber{0};
constexpr PageNumber kMetas = 2;

struct PageHead {
  PageNumber number;
  std::uint16_t pad;
  std::uint16_t flags;
  std::uint16_t lower;  ///< in a tree page, `lower` and `upper` delimit the free space
  std::uint16_t upper;
};
static_assert(sizeof(PageHead) == 16);
constexpr std::uint16_t kBranch = 0x01;
constexpr std::uint16_t kLeaf = 0x02;
constexpr std::uint16_t kOverflow = 0x04;  // `lower` and `upper` then form one number, the page count
constexpr std::uint16_t kMeta = 0x08;

struct Node {
  std::uint16_t low;
  std::uint16_t high;
  std::uint16_t flags;
  std::uint16_t key_size;

  std::uint64_t data_size() const { return low | std::uint64_t{high} << 16; }
  PageNumber child() const { return data_size() | std::uint64_t{flags} << 32; }
};
static_assert(sizeof(Node) == 8);
constexpr std::uint16_t kBigData = 0x01;
constexpr std::uint16_t kSubTree = 0x02;

struct Tree {
  std::uint32_t pad;
  std::uint16_t flags;
  std::uint16_t depth;
  PageNumber branch_pages;
  PageNumber leaf_pages;
  PageNumber overflow_pages;
  std::uint64_t entries;
  PageNumber root;
};
static_assert(sizeof(Tree) == 48);
constexpr std::uint16_t kIntegerKey = 0x08;
constexpr std::uint16_t kNoSubfolder = 0x4000;  // a flag of the file, stored with the flags of its free-page table

struct Meta {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t address;
  std::uint64_t map_size;
  Tree free;
  Tree main;
  PageNumber last_page;
  std::uint64_t transaction;
};
static_assert(sizeof(Meta) == 136);
constexpr std::uint32_t kMagic = 0xBEEFC0DE;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kLeastPage = 512;
constexpr std::size_t kLargestPage = 32768;
constexpr unsigned kMaxDepth = 32;

struct Damaged {};
struct Cut {
  std::uint64_t needed;
};

void need(bool good) {
  if (!good) throw Damaged{};
}

template <class T>
T part_at(std::span<const char> bytes, std::size_t at) {
  need(at <= bytes.size() && bytes.size() - at >= sizeof(T));
  T part;
  std::memcpy(&part, bytes.data() + at, sizeof part);
  return part;
}

enum class Holds : std::uint8_t { values, tables, free_pages };

struct Kind {
  Holds holds;
  std::size_t key_bytes;  ///< 0: text keys
};

/// The range of keys that a page may contain.
struct KeyRange {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> end = {};

  bool has(std::uint64_t key) const { return key >= first && (!end || key < *end); }
};

struct Entry {
  Node node;
  std::span<const char> key;
  std::span<const char> data;  ///< only in a leaf
};

class PageCheck {
 public:
  PageCheck(int file, std::uint64_t size, std::span<const StateTable> tables) : file_(file), size_(size), tables_(tables) {}

  void check() {
    const Meta meta = newest_meta();
    need(meta.free.flags == (kIntegerKey | kNoSubfolder) && meta.main.flags == 0);
    last_ = meta.last_page;
    transaction_ = meta.transaction;
    need(last_ >= kMetas - 1 && last_ < kNoPage / kLargestPage);
    if (const std::uint64_t needed = (last_ + 1) * page_size_; size_ < needed) throw Cut{needed};
    taken_.resize(last_ + 1);
    walk(meta.free, {Holds::free_pages, sizeof(std::uint64_t)});
    walk(meta.main, {Holds::tables, 0});
    check_large_values();
  }

 private:
  void read(std::span<char> to, std::uint64_t at) const {
    while (!to.empty()) {
      const ssize_t count = uninterrupted([&] { return ::pread(file_, to.data(), to.size(), static_cast<off_t>(at)); });
      need(count > 0);
      to = to.subspan(static_cast<std::size_t>(count));
      at += static_cast<std::uint64_t>(count);
    }
  }

  Meta meta_at(std::uint64_t at) const {
    std::array<char, sizeof(PageHead) + sizeof(Meta)> bytes{};
    read(bytes, at);
    const auto meta = part_at<Meta>(bytes, sizeof(PageHead));
    need(part_at<PageHead>(bytes, 0).flags == kMeta && meta.magic == kMagic && meta.version == kVersion);
    const std::uint32_t page_size = meta.free.pad;
    need(std::has_single_bit(page_size) && page_size >= kLeastPage && page_size <= kLargestPage);
    return meta;
  }

  Meta newest_meta() {
    const Meta first = meta_at(0);
    page_size_ = first.free.pad;
    const Meta second = meta_at(page_size_);
    need(second.free.pad == page_size_);
    return first.transaction < second.transaction ? second : first;
  }

  /// Marks pages as accounted for (in use or free); a page may be marked only once.
  void take(PageNumber first, std::uint64_t count) {
    need(first >= kMetas && first <= last_ && count >= 1 && count <= last_ - first + 1);
    for (PageNumber page = first; page < first + count; ++page) {
      need(!taken_[page]);
      taken_[page] = true;
    }
  }

  void walk(const Tree& tree, const Kind& kind) {
    if (tree.root == kNoPage) return need(tree.depth == 0);
    need(tree.depth >= 1 && tree.depth <= (kind.key_bytes == 0 ? 1 : kMaxDepth));
    visit(tree.root, tree.depth, kind, {});
  }

  void visit(PageNumber number, unsigned level, const Kind& kind, const KeyRange& range) {
    take(number, 1);
    std::vector<char> page(page_size_);
    read(page, number * page_size_);
    const bool is_leaf = level == 1;
    const auto head = part_at<PageHead>(page, 0);
    need(head.number == number && head.flags == (is_leaf ? kLeaf : kBranch));
    const std::vector<Entry> entries = entries_of(page, head, is_leaf);
    need(entries.size() >= (is_leaf || kind.holds == Holds::free_pages ? 1 : 2));
    const std::vector<std::uint64_t> keys = keys_of(entries, is_leaf, kind, range);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (is_leaf)
        value(entries[i], kind);
      else
        visit(entries[i].node.child(), level - 1, kind, {keys[i], i + 1 < keys.size() ? std::optional(keys[i + 1]) : range.end});
    }
  }

  /// Returns a page's entries, which must fill the page from `upper` to its end.
  static std::vector<Entry> entries_of(std::span<const char> page, const PageHead& head, bool is_leaf) {
    need(head.lower >= sizeof(PageHead) && head.lower % 2 == 0 && head.lower <= head.upper && head.upper <= page.size());
    std::vector<Entry> entries((head.lower - sizeof(PageHead)) / 2);
    std::vector<std::pair<std::size_t, std::size_t>> extents;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t at = part_at<std::uint16_t>(page, sizeof(PageHead) + 2 * i);
      const auto node = part_at<Node>(page, at);
      const std::uint64_t data = !is_leaf ? 0 : (node.flags & kBigData) != 0 ? sizeof(PageNumber) : node.data_size();
      const std::uint64_t size = sizeof(Node) + node.key_size + data;
      need(size <= page.size() - at);
      entries[i] = {node, page.subspan(at + sizeof(Node), node.key_size), page.subspan(at + sizeof(Node) + node.key_size, data)};
      extents.emplace_back(at, at + size + size % 2);
    }
    std::ranges::sort(extents);
    std::size_t end = head.upper;
    for (const auto& [from, to] : extents) {
      need(from == end);
      end = to;
    }
    need(end == page.size());
    return entries;
  }

  /// Returns the integer keys, which must be in order; none if keys are text. The first key of a branch page is ignored; the
  /// start of the range replaces it.
  static std::vector<std::uint64_t> keys_of(std::span<const Entry> entries, bool is_leaf, const Kind& kind,
                                            const KeyRange& range) {
    std::vector<std::uint64_t> keys;
    if (kind.key_bytes == 0) return keys;
    for (const Entry& entry : entries) {
      std::uint64_t key = range.first;
      if (is_leaf || !keys.empty()) {
        need(entry.key.size() == kind.key_bytes);
        key = 0;
        std::memcpy(&key, entry.key.data(), kind.key_bytes);
        need(range.has(key) && (keys.empty() || key > keys.back()));
      }
      keys.push_back(key);
    }
    return keys;
  }

  void value(const Entry& entry, const Kind& kind) {
    const bool is_big = entry.node.flags == kBigData;
    need(is_big || entry.node.flags == (kind.holds == Holds::tables ? kSubTree : 0));
    if (kind.holds == Holds::tables) return table(entry);
    const PageNumber at = is_big ? part_at<PageNumber>(entry.data, 0) : 0;
    if (is_big) large_values_.emplace_back(at, entry.node.data_size());
    if (kind.holds == Holds::values) return;
    if (!is_big) return free_pages(entry, entry.data);
    need(entry.node.data_size() <= size_);
    std::vector<char> list(entry.node.data_size());
    read(list, at * page_size_ + sizeof(PageHead));
    free_pages(entry, list);
  }

  /// Reads the headers of large values in file order with readahead, which is ten times as fast on a disk.
  void check_large_values() {
    constexpr std::size_t kAhead = 512;
    std::ranges::sort(large_values_);
    ::posix_fadvise(file_, 0, 0, POSIX_FADV_RANDOM);
    for (std::size_t i = 0, asked = 0; i < large_values_.size(); ++i) {
      for (; asked < std::min(i + kAhead, large_values_.size()); ++asked)
        ::posix_fadvise(file_, static_cast<off_t>(large_values_[asked].first * page_size_), sizeof(PageHead),
                        POSIX_FADV_WILLNEED);
      large_value(large_values_[i].first, large_values_[i].second);
    }
  }

  void large_value(PageNumber at, std::uint64_t size) {
    need(at >= kMetas && at <= last_);
    std::array<char, sizeof(PageHead)> bytes{};
    read(bytes, at * page_size_);
    const auto head = part_at<PageHead>(bytes, 0);
    const std::uint64_t pages = head.lower | std::uint64_t{head.upper} << 16;
    need(head.number == at && head.flags == kOverflow && pages * page_size_ >= sizeof(PageHead) + size);
    take(at, pages);
  }

  /// `list` is a count followed by that many page numbers in descending order; the entry's key is the transaction that freed the
  /// pages.
  void free_pages(const Entry& entry, std::span<const char> list) {
    need(part_at<std::uint64_t>(entry.key, 0) <= transaction_);
    const auto count = part_at<std::uint64_t>(list, 0);
    need(count < list.size() / sizeof(PageNumber));
    PageNumber before = kNoPage;
    for (std::size_t i = 1; i <= count; ++i) {
      const auto page = part_at<PageNumber>(list, i * sizeof(PageNumber));
      need(page < before);
      take(page, 1);
      before = page;
    }
  }

  void table(const Entry& entry) {
    const std::string_view name(entry.key.data(), entry.key.size());
    const auto found = std::ranges::find(tables_, name, &StateTable::name);
    need(found != tables_.end() && entry.data.size() == sizeof(Tree));
    const auto tree = part_at<Tree>(entry.data, 0);
    need(tree.flags == (found->key_bytes > 0 ? kIntegerKey : 0));
    walk(tree, {Holds::values, found->key_bytes});
  }

  int file_;
  std::uint64_t size_;
  std::span<const StateTable> tables_;
  std::uint64_t page_size_ = 0;
  PageNumber last_ = 0;
  std::uint64_t transaction_ = 0;
  std::vector<bool> taken_;
  std::vector<std::pair<PageNumber, std::uint64_t>> large_values_;  ///< first page and size
};

}  // namespace

void check_state_pages(const std::filesystem::path& path, std::span<const StateTable> tables) {
  const std::string name = "the clients' states '" + path.string() + "' ";
  const std::uint64_t size = size_of_file(path);
  const Descriptor file = opened(path, O_RDONLY);
  if (!file) throw call_failed(name + "cannot be read: " + std::strerror(errno), errno);
  try {
    PageCheck(file.get(), size, tables).check();
  } catch (const Cut& cut) {
    throw failure(name + "are truncated: the file has only " + std::to_string(size) + " of " + std::to_string(cut.needed) +
                  " bytes");
  } catch (const Damaged&) {
    throw failure("cannot open the clients' states in '" + path.string() +
                  "': the file is damaged or not a file of clients' states");
  }
}

}  // namespace fedstride
