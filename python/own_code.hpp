#pragma once

#include <exception>

#include "client/outside_training.hpp"
#include "python/bindings.hpp"
#include "sim/run/fleets.hpp"
#include "sim/run/run.hpp"

namespace fedstride::python {

/// The Python functions of a run: its parts, training and evaluation. Must outlive the run. Construction and destruction need
/// the GIL.
class OwnCode {
 public:
  /// `functions` may have the keys partition, cohort, aggregation, server_optimizer and optimizer, each a function that wraps the user's
  /// (python/fedstride/_parts.py); `training`, an object of python/fedstride/_training.py; and `check`, which raises if a module
  /// and its line differ on examples of a given form (python/fedstride/torch_models.py).
  explicit OwnCode(const py::dict& functions);

  /// Gives the configuration's `callable` parts their functions.
  void configure(Configuration& configuration) const;
  /// Returns the fleet of a run: the user's training function if given, otherwise this process.
  FleetMaker fleet();
  /// Calls a function that carries out the run, and returns its result. If an exception of the user's code ended it, throws that.
  auto while_it_works(const auto& function) {
    const Ending ending{*this};
    auto result = function();
    raise_again();
    return result;
  }

  /// Returns what trains a client of a networked federation; begin() must have been called.
  OutsideTraining training();
  /// Returns what evaluates models at a client of a networked federation; empty if the user gave no function.
  OutsideEvaluation evaluation();
  void begin(const Setup& setup);

 private:
  struct Known;
  struct Ending {
    OwnCode& code;
    ~Ending() { code.end(); }
  };
  /// Call when the setup is about to be destroyed.
  void end() noexcept;
  void raise_again() const;
  void train(const Task& task, std::span<const ClientId> clients, const std::function<OutsideTask(ClientId)>& task_of,
             const std::function<void(OutsideAnswer)>& answer);
  Evaluation evaluate(const Vector& model, EvaluatedOn examples);

  py::object partition_, cohort_, aggregation_, server_optimizer_, optimizer_, training_, check_;
  std::shared_ptr<Known> known_;
  std::exception_ptr raised_;
};

/// Adds the parts named `callable` to their families. Call once, before any settings are resolved.
void add_callable_parts();

}  // namespace fedstride::python
