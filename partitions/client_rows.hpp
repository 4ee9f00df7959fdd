#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fedstride {

/// The rows of each client, one ascending list per client: the form in which partitions build them.
using Assignment = std::vector<std::vector<std::uint32_t>>;

/// The end of piece `index` when `size` items are cut into `count` consecutive pieces whose sizes differ by at most one, larger
/// pieces first.
constexpr std::size_t end_of_even_piece(std::size_t size, std::size_t index, std::size_t count) {
  return (index + 1) * (size / count) + std::min(index + 1, size % count);
}

/// The rows of every client: one ascending, read-only list per client, stored in 4 bytes per row plus 4 per client.
class ClientRows {
 public:
  /// No clients.
  ClientRows() = default;
  ClientRows(const Assignment& assignment);  // NOLINT: implicit on purpose: the same lists in another form
  /// Cuts the rows into consecutive lists of these sizes and sorts each list. Throws std::invalid_argument unless the sizes sum
  /// to the number of rows.
  ClientRows(std::vector<std::uint32_t> rows, std::span<const std::size_t> sizes);
  /// Cuts the rows into `clients` consecutive lists whose sizes differ by at most one, larger lists first, and sorts each list.
  static ClientRows even(std::vector<std::uint32_t> rows, std::size_t clients);
  /// Gives all rows, in this order, to one of `clients` clients; the others hold none.
  static ClientRows only(std::size_t client, std::size_t clients, std::vector<std::uint32_t> rows);

  std::size_t size() const { return ends_.size(); }  ///< number of clients
  bool empty() const { return ends_.empty(); }
  std::span<const std::uint32_t> operator[](std::size_t client) const {
    const std::size_t begin = client == 0 ? 0 : ends_[client - 1];
    return std::span(rows_).subspan(begin, ends_[client] - begin);
  }
  std::size_t row_count() const { return rows_.size(); }             ///< over all clients
  std::span<const std::uint32_t> all_rows() const { return rows_; }  ///< the lists, concatenated

  bool operator==(const ClientRows&) const = default;

  /// Visits the lists in client order.
  class Iterator {
   public:
    using value_type = std::span<const std::uint32_t>;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const ClientRows& all, std::size_t client) : all_(&all), client_(client) {}
    std::span<const std::uint32_t> operator*() const { return (*all_)[client_]; }
    Iterator& operator++() {
      ++client_;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++client_;
      return before;
    }
    bool operator==(const Iterator& other) const { return client_ == other.client_; }

   private:
    const ClientRows* all_ = nullptr;
    std::size_t client_ = 0;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  void sort_lists();

  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> ends_;  ///< end of each client's list in rows_; a data set has fewer than 2^32 rows
};

/// Keeps `limit` random rows of each client that has more. A client's draws depend only on its number, its own rows and the seed;
/// a larger limit keeps every row that a smaller one keeps. Throws Error (usage) unless limit >= 1.
ClientRows limit_per_client(const ClientRows& assignment, int limit, std::uint64_t seed);

}  // namespace fedstride
