#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace fedstride {

/// A sequence whose length is unknown in advance. It grows by blocks, and take() frees each block after copying it, so the
/// sequence is never in memory twice, unlike a growing vector.
template <class Value>
class Blocks {
 public:
  void push(Value value) { append({&value, 1}); }
  void append(std::span<const Value> values) {
    while (!values.empty()) {
      if (blocks_.empty() || blocks_.back().size() == kBlock) begin_block();
      std::vector<Value>& last = blocks_.back();
      const std::size_t count = std::min(values.size(), kBlock - last.size());
      last.insert(last.end(), values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
      values = values.subspan(count);
      size_ += count;
    }
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Calls `use` with the values in order, one block at a time.
  void each(auto use) const {
    for (const std::vector<Value>& block : blocks_) use(std::span<const Value>(block));
  }
  /// The same, and frees each block afterwards.
  void drain(auto use) {
    for (std::vector<Value>& block : blocks_) {
      use(std::span<const Value>(block));
      std::vector<Value>().swap(block);
    }
    blocks_.clear();
    size_ = 0;
  }
  std::vector<Value> take() {
    std::vector<Value> all;
    if (blocks_.size() == 1) {
      all = std::move(blocks_.front());
      blocks_.clear();
      size_ = 0;
      return all;
    }
    all.reserve(size_);
    drain([&all](std::span<const Value> values) { all.insert(all.end(), values.begin(), values.end()); });
    return all;
  }

 private:
  // So large that malloc does not take it from its heap; a freed block's memory thus returns to the system.
  static constexpr std::size_t kBlock = (std::size_t{36} << 20) / sizeof(Value);

  void begin_block() {
    std::vector<Value>& next = blocks_.emplace_back();
    if (blocks_.size() > 1) next.reserve(kBlock);
  }

  std::vector<std::vector<Value>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace fedstride
