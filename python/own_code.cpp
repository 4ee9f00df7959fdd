#include "python/own_code.hpp"

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "data/batch.hpp"
#include "nn/pytorch_layout.hpp"
#include "python/guard.hpp"
#include "python/parts.hpp"
#include "run/outside.hpp"

namespace fedstride::python {

/// The run's setup, as long as it is there.
struct OwnCode::Known {
  const Setup* setup = nullptr;
  bool in_place = true;  ///< the model's tensors lie in memory as PyTorch has them

  const Setup& get() const {
    if (setup == nullptr) throw failure("the run is over; its clients' examples can be asked for while it goes on");
    return *setup;
  }
};

namespace {

// Between the model's own order of a tensor's values and PyTorch's; offsets are the same.
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

// Counts over all of a client's lots: empty ones; examples, those clipped, those not finite; the sum of their norms.
using LotsTold = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, double>;

template <class To, class List>
py::array gathered(const Dataset& data, const List& list, std::span<const Row> rows, std::vector<py::ssize_t> shape) {
  shape.insert(shape.begin(), static_cast<py::ssize_t>(rows.size()));
  py::array_t<To> array(shape);
  const std::size_t width = rows.empty() ? 0 : static_cast<std::size_t>(array.size()) / rows.size();
  To* to = array.mutable_data();
  for (const Row row : rows) {
    const auto* from = std::as_const(list).data() + data.place(row) * width;
    to = std::copy(from, from + width, to);
  }
  return array;
}

// The examples of these rows, copied: (x, y).
py::tuple examples_of(const Dataset& data, std::span<const Row> rows) {
  const py::ssize_t height = data.shape.height, width = data.shape.width, channels = data.shape.channels;
  const auto answers = static_cast<py::ssize_t>(data.form().answers());
  const py::array x = data.is_pictures()    ? gathered<std::uint8_t>(data, data.pixels, rows, {channels, height, width})
                      : data.vocabulary > 0 ? gathered<std::int64_t>(data, data.tokens, rows, {height})
                      : height * width == 1 ? gathered<float>(data, data.features, rows, {channels})
                                            : gathered<float>(data, data.features, rows, {height, width, channels});
  const py::array y = data.targets == Targets::classes     ? gathered<std::int64_t>(data, data.labels, rows, {})
                      : data.targets == Targets::positions ? gathered<std::int64_t>(data, data.position_labels, rows, {answers})
                                                           : gathered<float>(data, data.values, rows, {answers});
  return py::make_tuple(x, y);
}

py::object function_of(const py::dict& functions, const char* key) {
  return functions.contains(key) ? py::object(functions[key]) : py::none();
}

// Gives the part its function, if it is the one that calls a function and there is one.
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
      training_(function_of(functions, "training")),
      known_(std::make_shared<Known>()) {}

void OwnCode::join(RunRequest& request) {
  const auto before = request.configure;
  request.configure = [this, before](Configuration& configuration) {
    if (before) before(configuration);
    hand_over<CallablePartition>(configuration.partition, partition_);
    hand_over<CallableCohort>(configuration.cohort, cohort_);
    hand_over<CallableAggregation>(configuration.aggregation, aggregation_);
    hand_over<CallableServerOptimizer>(configuration.server, server_optimizer_);
  };
  if (training_.is_none()) return;
  request.fleet = outside_fleet(training(), evaluation());
  request.fleet.make = [this, make = request.fleet.make](const FleetTask& task) {
    begin(task.setup);
    return make(task);
  };
}

OutsideTraining OwnCode::training() {
  return [this](const Task& task, std::span<const ClientId> clients, const std::function<OutsideTask(ClientId)>& task_of,
                const std::function<void(OutsideAnswer)>& answer) { train(task, clients, task_of, answer); };
}

std::function<Evaluation(const Vector&, EvaluatedOn)> OwnCode::evaluation() {
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
    const std::span<const Row> rows = known->get().rows[client];
    return py::array_t<Row>(static_cast<py::ssize_t>(rows.size()), rows.data());
  };
  const auto examples = [known = known_](ClientId client) {
    return examples_of(known->get().data.train, known->get().rows[client]);
  };
  training_.attr("begin")(tensors, setup.model.size(), setup.configuration.client_state == ClientStateRule::keep,
                          py::cpp_function(rows_of), py::cpp_function(examples));
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
  // Python's own copy, once a round: whoever keeps an array of it has memory of his own.
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
