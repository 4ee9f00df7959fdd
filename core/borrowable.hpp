#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace fedstride {

/// A list of numbers that either owns its memory or reads, but never writes, memory lent by another object. Any modification of a
/// lent list, including non-const access, copies it first. Copies of a lent list share its memory.
template <class Value>
class Borrowable {
 public:
  using value_type = Value;

  Borrowable() = default;
  Borrowable(std::vector<Value> own) : own_(std::move(own)) {}       // NOLINT: implicit on purpose
  Borrowable(std::initializer_list<Value> values) : own_(values) {}  // NOLINT: implicit on purpose
  /// `owner` must not be null; it is kept alive while the memory is in use.
  Borrowable(std::span<const Value> lent, std::shared_ptr<const void> owner) : lent_(lent), owner_(std::move(owner)) {}

  bool is_lent() const { return owner_ != nullptr; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  const Value* data() const { return owner_ ? lent_.data() : own_.data(); }
  std::size_t size() const { return owner_ ? lent_.size() : own_.size(); }
  bool empty() const { return size() == 0; }
  const Value* begin() const { return data(); }
  const Value* end() const { return data() + size(); }
  const Value& operator[](std::size_t i) const { return data()[i]; }

  /// Returns the owned vector, after copying the numbers into it if they were lent.
  std::vector<Value>& edit() {
    if (owner_) {
      own_.assign(lent_.begin(), lent_.end());
      lent_ = {};
      owner_.reset();
    }
    return own_;
  }
  Value* data() { return edit().data(); }
  Value* begin() { return data(); }
  Value* end() { return data() + size(); }
  Value& operator[](std::size_t i) { return edit()[i]; }
  void push_back(Value value) { edit().push_back(value); }
  void resize(std::size_t size) { edit().resize(size); }
  void reserve(std::size_t size) { edit().reserve(size); }
  void assign(std::size_t count, Value value) { edit().assign(count, value); }
  template <std::input_iterator From>
  void assign(From first, From last) {
    edit().assign(first, last);
  }
  template <class From>
  void append(From first, From last) {
    edit().insert(own_.end(), first, last);
  }

  friend bool operator==(const Borrowable& a, const Borrowable& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  std::vector<Value> own_;
  std::span<const Value> lent_;
  std::shared_ptr<const void> owner_;
};

}  // namespace fedstride
