#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace fedstride {

template <class Signature>
class function_ref;

/// A reference to a callable (a lambda, an object, a function) that it does not own: two pointers, no allocation, valid
/// during the call it is passed to.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, function_ref> &&
             std::is_invocable_r_v<Result, Callable&, Arguments...>)
  function_ref(Callable&& callable)  // NOLINT: implicit on purpose, so that a lambda can be passed directly
      : object_(address(callable)), call_([](void* object, Arguments... arguments) -> Result {
          using Type = std::remove_reference_t<Callable>;
          Type* target;
          if constexpr (std::is_function_v<Type>) {
            target = reinterpret_cast<Type*>(object);
          } else {
            target = static_cast<Type*>(object);
          }
          if constexpr (std::is_void_v<Result>) {
            (*target)(std::forward<Arguments>(arguments)...);
          } else {
            return (*target)(std::forward<Arguments>(arguments)...);
          }
        }) {}

  Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  template <class Callable>
  static void* address(Callable& callable) {
    if constexpr (std::is_function_v<Callable>) {
      return reinterpret_cast<void*>(&callable);
    } else {
      return const_cast<void*>(static_cast<const void*>(std::addressof(callable)));
    }
  }

  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace fedstride
