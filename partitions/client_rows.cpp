#include "partitions/client_rows.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace fedstride {
namespace {

std::uint32_t as_end(std::size_t rows) {
  if (rows > std::numeric_limits<std::uint32_t>::max()) throw std::invalid_argument("clients hold 2^32 or more rows");
  return static_cast<std::uint32_t>(rows);
}

}  // namespace

ClientRows::ClientRows(const Assignment& assignment) {
  std::size_t total = 0;
  for (const auto& rows : assignment) total += rows.size();
  as_end(total);
  rows_.reserve(total);
  ends_.reserve(assignment.size());
  for (const auto& rows : assignment) {
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    ends_.push_back(static_cast<std::uint32_t>(rows_.size()));
  }
}

ClientRows::ClientRows(std::vector<std::uint32_t> rows, std::span<const std::size_t> sizes) : rows_(std::move(rows)) {
  ends_.reserve(sizes.size());
  std::size_t end = 0;
  for (const std::size_t size : sizes) ends_.push_back(as_end(end += size));
  if (end != rows_.size()) throw std::invalid_argument("the list sizes do not sum to the number of rows");
  sort_lists();
}

ClientRows ClientRows::even(std::vector<std::uint32_t> rows, std::size_t clients) {
  ClientRows dealt;
  dealt.rows_ = std::move(rows);
  as_end(dealt.rows_.size());
  dealt.ends_.resize(clients);
  for (std::size_t client = 0; client < clients; ++client)
    dealt.ends_[client] = static_cast<std::uint32_t>(end_of_even_piece(dealt.rows_.size(), client, clients));
  dealt.sort_lists();
  return dealt;
}

ClientRows ClientRows::only(std::size_t client, std::size_t clients, std::vector<std::uint32_t> rows) {
  ClientRows dealt;
  dealt.rows_ = std::move(rows);
  dealt.ends_.resize(clients);
  std::fill(dealt.ends_.begin() + static_cast<std::ptrdiff_t>(client), dealt.ends_.end(), as_end(dealt.rows_.size()));
  return dealt;
}

void ClientRows::sort_lists() {
  std::size_t begin = 0;
  for (const std::uint32_t end : ends_) {
    std::sort(rows_.begin() + static_cast<std::ptrdiff_t>(begin), rows_.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
}

}  // namespace fedstride
