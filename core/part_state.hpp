#pragma once

#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/array.hpp>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>

#include "core/function_ref.hpp"
#include "core/part.hpp"
#include "core/serialize.hpp"

namespace fedstride {

/// A part's state, kept from round to round. Only parts of the same kind create, change and save it.
class PartState {
 public:
  virtual ~PartState() = default;
};

/// A part that has a state.
class StatefulPart : public Part {
 public:
  virtual std::unique_ptr<PartState> make_state() const = 0;
  /// Resets the state for a model of `size` parameters, reusing its memory.
  virtual void start(PartState& state, std::size_t size) const = 0;
  /// The complete state in cereal's portable binary form: a part that saves, loads and continues produces the same bits as one
  /// that just continues. load throws if the bytes do not have this form.
  virtual void save(const PartState& state, std::ostream& bytes) const = 0;
  virtual void load(PartState& state, std::istream& bytes) const = 0;
  /// True if the length of the saved state depends on more than the number of parameters.
  virtual bool state_length_changes() const { return false; }
};

/// Writes or reads values in cereal's portable binary form.
void write_archive(std::ostream& bytes, const auto&... values) {
  cereal::PortableBinaryOutputArchive archive(bytes);
  archive(values...);
}
void read_archive(std::istream& bytes, auto&... values) {
  cereal::PortableBinaryInputArchive archive(bytes);
  archive(values...);
}

std::unique_ptr<PartState> started_state(const StatefulPart& part, std::size_t size);

/// The bytes that `save` writes.
std::string state_bytes(function_ref<void(std::ostream&)> save);
std::string state_bytes(const StatefulPart& part, const PartState& state);
/// The inverse of state_bytes: `load` must read all of the bytes, which must have this length if one is given. Throws Error
/// (failure), naming the state's owner, if they are damaged or belong to another model.
void load_state(const std::string& bytes, std::string_view whose, std::optional<std::size_t> length,
                function_ref<void(std::istream&)> load);
void load_state(const StatefulPart& part, PartState& state, const std::string& bytes, std::string_view whose);

/// The state of a part that keeps nothing.
struct NoState {};

/// The base of part Self in a family of stateful parts. Its state is a T: a Vector, or a struct that cereal can serialize.
template <class Interface, class Self, class Settings, class T>
class StatefulBase : public PartBase<Interface, Self, Settings> {
 public:
  using PartBase<Interface, Self, Settings>::PartBase;
  using State = T;

  /// Starts a fresh state. By default, a Vector becomes as many zeros as the model has parameters; any other state is
  /// default-constructed.
  virtual void start(State& state, std::size_t size) const {
    if constexpr (std::is_same_v<State, Vector>)
      state.assign(size, 0);
    else
      state = State{};
  }

  std::unique_ptr<PartState> make_state() const final { return std::make_unique<Typed>(); }
  void start(PartState& state, std::size_t size) const final { start(own(state), size); }
  void save(const PartState& state, std::ostream& bytes) const final { write_archive(bytes, own(state)); }
  void load(PartState& state, std::istream& bytes) const final { read_archive(bytes, own(state)); }

 protected:
  const Self& self() const { return static_cast<const Self&>(*this); }
  static State& own(PartState& state) { return static_cast<Typed&>(state).value; }
  static const State& own(const PartState& state) { return static_cast<const Typed&>(state).value; }

 private:
  struct Typed final : PartState {
    State value = {};
  };
};

}  // namespace fedstride
