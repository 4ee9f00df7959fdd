#pragma once

#include <string>
#include <utility>
#include <variant>

namespace fedstride {

/// The result of parsing a peer's bytes: a value, or a one-line reason for refusing them. A peer never causes an exception.
template <class T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  static Result refused(std::string reason) { return Result(Refusal{std::move(reason)}); }

  explicit operator bool() const { return value_.index() == 0; }
  T& operator*() { return std::get<0>(value_); }
  T* operator->() { return &std::get<0>(value_); }
  const std::string& reason() const { return std::get<1>(value_).reason; }

 private:
  struct Refusal {
    std::string reason;
  };
  explicit Result(Refusal refusal) : value_(std::move(refusal)) {}
  std::variant<T, Refusal> value_;
};

}  // namespace fedstride
