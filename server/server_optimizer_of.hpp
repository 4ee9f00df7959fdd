#pragma once

#include <memory>
#include <string>

#include "core/state_bytes.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

/// A server optimiser T as a ServerOptimizerPart. For the list of server optimisers, and for adding one.
template <ServerOpt T>
class ServerOptimizerOf final : public PartOf<ServerOptimizerPart, ServerOptimizerOf<T>, T> {
  using Base = PartOf<ServerOptimizerPart, ServerOptimizerOf<T>, T>;

  struct AtWork final : ServerAtWork {
    AtWork(const T& kind, std::size_t size) : optimizer(kind) { optimizer.start(state, size); }

    void measure(double mean_square) final {
      if constexpr (MeasuringServerOpt<T>) optimizer.measure(state, mean_square);
    }
    void apply(Vector& model, const Vector& mean_change) final { optimizer.apply(state, model, mean_change); }
    std::optional<Vector> answer(const Vector& model) const final {
      if constexpr (AnsweringServerOpt<T>) return optimizer.answer(state, model);
      return std::nullopt;
    }
    std::string save() const final { return state_bytes(state); }
    void load(const std::string& bytes) final {
      constexpr bool kLengthChanges = requires { T::kStateLengthChanges; };
      load_state(state, bytes, "server-optimizer '" + std::string(T::kName) + "'", kLengthChanges);
    }

    T optimizer;
    typename T::State state = {};
  };

 public:
  using Base::Base;
  std::unique_ptr<ServerAtWork> start(std::size_t size) const final { return std::make_unique<AtWork>(this->part_, size); }
  bool measures() const final { return MeasuringServerOpt<T>; }
  bool answers() const final { return AnsweringServerOpt<T>; }
};

}  // namespace fedstride
