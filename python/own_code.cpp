#include "python/own_code.hpp"

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "data/batch.hpp"
#include "nn/pytorch_layout.hpp"
#include "python/data.hpp"
#include "python/guard.hpp"
#include "python/parts.hpp"

namespace fedstride::python {

/// The run's setup, while it exists.
struct OwnCode::Known {
  const Setup* setup = nullptr;
  bool in_place = true;  ///< the model's tensors have PyTorch's memory layout

  const Setup& get() const {
    if (setup == nullptr) throw failure("the run is over; its clients' examples are available only while it runs");
    return *setup;
  }
};

namespace {

// Convert between the model's order of a tensor's values and PyTorch's; a tensor's offset is the same in both.
void to_pytorch(const Model& model, std::span<const float> from, float* to) {
  for (const Parameter& parameter : model.parameters()) {
    std::size_t next = parameter.offset;
    for_each_in_pytorch_order(model, parameter, [&](std::size_t inside) { to[next++] = from[parameter.offset + inside]; });
  }
}
void from_pytorch(const Model& model, const float* from, Vector& to) {
  for (const Parameter& parameter : model.parameters()) {
    std::size_t next = parameter.offset;
    for_each_in_pytorch_order(model, parameter, [&](std::size_t inside) { to[parameter.offset + inside] = from[next++]; });
  }
}

// Totals over a client's lots: numbers of empty lots, examples, clipped and nonfinite examples; the sum of the norms.
using LotsTold = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, double>;

// Returns copies of these rows' examples: (x, y). Tokens and classes become 64 bits wide, as PyTorch requires. `inputs` is None,
// or a function that returns x for rows of the user's own arrays.
py::tuple examples_of(const Dataset& data, std::span<const Row> rows, const py::object& inputs) {
  const auto gathered = [&](const auto& list, std::vector<py::ssize_t> shape) -> py::array {
    using From = std::remove_cvref_t<decltype(*std::as_const(list).data())>;
    using To = std::conditional_t<std::is_same_v<From, std::uint16_t>, std::int64_t, From>;
    shape.insert(shape.begin(), static_cast<py::ssize_t>(rows.size()));
    py::array_t<To> array(shape);
    const std::size_t width = rows.empty() ? 0 : static_cast<std::size_t>(array.size()) / rows.size();
    To* to = array.mutable_data();
    for (const Row row : rows) {
      const auto* from = std::as_const(list).data() + data.place(row) * width;
      to = std::copy(from, from + width, to);
    }
    return array;
  };
  const auto answers = visit_answers(data, gathered);
  return py::make_tuple(inputs.is_none() ? py::object(visit_inputs(data, gathered)) : inputs(rows_in_file(data, rows)), answers);
}

py::object function_of(const py::dict& functions, const char* key) {
  return functions.contains(key) ? py::object(functions[key]) : py::none();
}

// Gives the chosen part its function, if the part is of this type and a function was given.
template <class Part>
void hand_over(ChosenPart& chosen, const py::object& function) {
  if (auto* part = chosen.as<Part>(); part != nullptr && !function.is_none()) part->function = function;
}

}  // namespace

OwnCode::OwnCode(const py::dict& functions)
    : partition_(function_of(functions, "partition")),
      cohort_(function_of(functions, "cohort")),
      aggregation_(function_of(functions, "aggregation")),
      server_optimizer_(function_of(functions, "server_optimizer")),
      optimizer_(function_of(functions, "optimizer")),
      training_(function_of(functions, "training")),
      check_(function_of(functions, "check")),
      known_(std::make_shared<Known>()) {}

void OwnCode::configure(Configuration& configuration) const {
  hand_over<CallablePartition>(configuration.partition, partition_);
  hand_over<CallableCohort>(configuration.cohort, cohort_);
  hand_over<CallableAggregation>(configuration.aggregation, aggregation_);
  hand_over<CallableServerOptimizer>(configuration.server, server_optimizer_);
  hand_over<CallableOptimizer>(configuration.optimizer, optimizer_);
}

FleetMaker OwnCode::fleet() {
  FleetMaker fleet{in_process_fleet};
  if (!training_.is_none()) {
    fleet = outside_fleet(training(), evaluation());
    fleet.make = [this, make = fleet.make](const FleetTask& task) {
      begin(task.setup);
      return make(task);
    };
  }
  if (!check_.is_none())
    fleet.check = [this](const Setup& setup) {
      const InPython in_python(true);
      const ExampleForm& form = setup.model.form();
      check_(form.shape.height, form.shape.width, form.shape.channels, form.vocabulary);
    };
  return fleet;
}

OutsideTraining OwnCode::training() {
  return [this](const Task& task, std::span<const ClientId> clients, const std::function<OutsideTask(ClientId)>& task_of,
                const std::function<void(OutsideAnswer)>& answer) { train(task, clients, task_of, answer); };
}

OutsideEvaluation OwnCode::evaluation() {
  if (!training_.attr("evaluates").cast<bool>()) return {};
  return [this](const Vector& model, EvaluatedOn examples) { return evaluate(model, examples); };
}

void OwnCode::begin(const Setup& setup) {
  known_->setup = &setup;
  known_->in_place = std::ranges::all_of(setup.model.parameters(),
                                         [](const Parameter& parameter) { return parameter.layout == ParameterLayout::same; });
  const InPython in_python;
  py::list tensors;
  for (const Parameter& parameter : setup.model.parameters()) {
    py::tuple shape(parameter.shape.size());
    for (std::size_t i = 0; i < parameter.shape.size(); ++i) shape[i] = parameter.shape[i];
    tensors.append(py::make_tuple(parameter.name, shape, parameter.offset, parameter.size));
  }
  const auto rows_of = [known = known_](ClientId client) {
    const std::span<const Row> rows = known->get().clients.rows[client];
    return py::array_t<Row>(static_cast<py::ssize_t>(rows.size()), rows.data());
  };
  const auto examples = [known = known_](ClientId client, const py::object& inputs) {
    return examples_of(known->get().data.train, known->get().clients.rows[client], inputs);
  };
  const std::string named = data_options(setup.configuration).read.inputs;
  training_.attr("begin")(tensors, setup.model.size(), setup.configuration.client_state == ClientStateRule::keep,
                          named.empty() ? "x" : named, py::cpp_function(rows_of), py::cpp_function(examples),
                          is_private(setup.configuration));
}

void OwnCode::end() noexcept {
  known_->setup = nullptr;
  try {
    if (!training_.is_none()) training_.attr("end")();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("fedstride");
  }
}

void OwnCode::raise_again() const {
  if (raised_) std::rethrow_exception(raised_);
}

void OwnCode::train(const Task& task, std::span<const ClientId> clients, const std::function<OutsideTask(ClientId)>& task_of,
                    const std::function<void(OutsideAnswer)>& answer) {
  const Model& model = known_->get().model;
  const InPython in_python(true);
  // One copy for Python in each round, so arrays kept by the user stay valid.
  py::array_t<float> weights(static_cast<py::ssize_t>(model.size()));
  if (known_->in_place)
    std::copy_n(task.model.data(), model.size(), weights.mutable_data());
  else {
    std::fill_n(weights.mutable_data(), model.size(), 0.0F);
    to_pytorch(model, view(task.model), weights.mutable_data());
  }
  py::list asked;
  for (const ClientId client : clients) asked.append(client);
  const auto describe = [&](ClientId client) {
    const OutsideTask one = task_of(client);
    const py::object lots = one.lots ? py::object(py::bytes(one.lots->save())) : py::none();
    return py::make_tuple(one.rows, one.seed, py::bytes(one.state), lots);
  };
  const auto take = [&](ClientId client, const py::object& trained, std::uint64_t examples, double loss, const py::bytes& state,
                        const std::string& failure, const std::optional<LotsTold>& lots) {
    OutsideAnswer one{.client = client, .state = state, .examples = examples, .loss = loss, .failure = failure};
    if (lots) std::tie(one.empty_lots, one.lots.examples, one.lots.clipped, one.lots.nonfinite, one.lots.norms) = *lots;
    if (failure.empty()) {
      const auto values = trained.cast<py::array_t<float, py::array::c_style>>();
      one.weights = Vector(model.size());
      if (known_->in_place)
        std::copy_n(values.data(), model.size(), one.weights.data());
      else
        from_pytorch(model, values.data(), one.weights);
    }
    answer(std::move(one));
  };
  try {
    training_.attr("train_cohort")(task.round, weights, asked, py::cpp_function(describe), py::cpp_function(take));
  } catch (py::error_already_set&) {
    raised_ = std::current_exception();
    throw Interrupted{};
  }
}

Evaluation OwnCode::evaluate(const Vector& weights, EvaluatedOn examples) {
  const Model& model = known_->get().model;
  const InPython in_python(true);
  py::array_t<float> values(static_cast<py::ssize_t>(model.size()));
  std::fill_n(values.mutable_data(), model.size(), 0.0F);
  to_pytorch(model, view(weights), values.mutable_data());
  const py::tuple told = training_.attr("test")(values, examples == EvaluatedOn::validation ? "validation" : "test");
  Evaluation result;
  result.accuracy = told[0].cast<double>();
  result.loss = told[1].cast<double>();
  result.examples = told[2].cast<std::uint64_t>();
  result.is_told = true;
  return result;
}

}  // namespace fedstride::python
