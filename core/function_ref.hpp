#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace fedstride {

template <class Signature>
class function_ref;

/// A non-owning reference to a callable (a lambda, an object, a function): two pointers, no allocation; valid during the call
/// that receives it.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, function_ref> &&
             std::is_invocable_r_v<Result, Callable&, Arguments...>)
  function_ref(Callable&& callable)  // NOLINT: implicit on purpose, so that a lambda can be passed directly
      : object_(const_cast<void*>(reinterpret_cast<const volatile void*>(std::addressof(callable)))),
        call_([](void* object, Arguments... arguments) -> Result {
          auto& target = *reinterpret_cast<std::remove_reference_t<Callable>*>(object);
          return static_cast<Result>(target(std::forward<Arguments>(arguments)...));
        }) {}

  Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace fedstride
