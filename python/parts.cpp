#include "python/parts.hpp"

#include <pybind11/numpy.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "partitions/partitions.hpp"
#include "python/guard.hpp"
#include "python/own_code.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride::python {
namespace {

void require_function(py::handle function, const char* family) {
  if (!function) throw usage_error(std::string(family) + " is 'callable', which needs a Python function passed with the run");
}

template <class Value>
py::array_t<Value> copied(std::span<const Value> values) {
  return py::array_t<Value>(static_cast<py::ssize_t>(values.size()), values.data());
}

// A read-only array of memory that `keeps` keeps alive.
py::array_t<float> lent(std::span<const float> values, const py::object& keeps) {
  py::array_t<float> array({static_cast<py::ssize_t>(values.size())}, values.data(), keeps);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;

// A vector as long as the model; the package's own code has checked its type.
Vector vector_of(const py::object& given, std::size_t size, const char* what) {
  const auto array = given.cast<Floats>();
  if (array.ndim() != 1 || static_cast<std::size_t>(array.size()) != size)
    throw usage_error(std::string(what) + " gave an array of " + std::to_string(array.size()) + " numbers in " +
                      std::to_string(array.ndim()) + " dimensions; it must give " + std::to_string(size) +
                      " numbers in one dimension");
  return Vector(std::span(array.data(), size));
}

}  // namespace

ClientRows CallablePartition::assign(const PartitionInput& input) const {
  check_input(input);
  require_function(function, "partition");
  const InPython in_python;
  const py::list lists =
      function(copied(input.labels), copied(input.rows), input.clients, input.seed, copied(input.client_of_row));
  Assignment assignment;
  std::vector<bool> free(input.labels.size());
  for (const Row row : input.rows) free[row] = true;
  for (const auto& list : lists) {
    const auto rows = list.cast<py::array_t<std::uint32_t, py::array::c_style>>();
    std::vector<Row>& own = assignment.emplace_back(rows.data(), rows.data() + rows.size());
    for (const Row row : own) {
      if (row >= free.size() || !free[row])
        throw usage_error("partition: the function gave client " + std::to_string(assignment.size() - 1) + " row " +
                          std::to_string(row) + ", which " +
                          (row >= free.size() ? "the data set does not have" : "is assigned already or not available"));
      free[row] = false;
    }
    if (own.empty())
      throw usage_error("partition: the function gave client " + std::to_string(assignment.size() - 1) +
                        " no row; each client needs at least one");
    std::ranges::sort(own);
  }
  if (assignment.size() != static_cast<std::size_t>(input.clients))
    throw usage_error("partition: the function gave rows to " + counted(assignment.size(), "client") + "; clients is " +
                      std::to_string(input.clients));
  return assignment;
}

std::vector<ClientId> CallableCohort::sample(const CohortQuestion& question) const {
  require_function(function, "cohort");
  RandomStream random = question.source.at({Purpose::cohort, question.round});
  const std::uint64_t seed = random.bits64() >> 1;
  const InPython in_python;
  const auto drawn = function(question.round, copied(question.rows), seed).cast<py::array_t<std::uint32_t, py::array::c_style>>();
  std::vector<ClientId> cohort(drawn.data(), drawn.data() + drawn.size());
  std::ranges::sort(cohort);
  if (!cohort.empty() && cohort.back() >= question.clients())
    throw usage_error("cohort: the function gave client " + std::to_string(cohort.back()) + "; valid: 0 to " +
                      std::to_string(question.clients() - 1));
  if (std::ranges::adjacent_find(cohort) != cohort.end())
    throw usage_error("cohort: the function gave client " + std::to_string(*std::ranges::adjacent_find(cohort)) + " twice");
  return cohort;
}

std::optional<Vector> CallableAggregation::mean_change(const OpenUpdates& updates, ForEachPiece /*for_each_piece*/) const {
  require_function(function, "aggregation");
  const InPython in_python;
  // The arrays view the updates in place and keep them alive.
  const py::capsule keeps(new std::shared_ptr<const void>(updates.memory()),
                          [](void* held) { delete static_cast<std::shared_ptr<const void>*>(held); });
  py::list changes;
  std::vector<double> weights;
  std::vector<std::uint32_t> clients;
  for (const OpenUpdates::Update& update : updates.all()) {
    changes.append(lent(update.change, keeps));
    weights.push_back(static_cast<double>(update.weight));
    clients.push_back(update.client);
  }
  const py::object mean =
      function(changes, copied(std::span<const double>(weights)), copied(std::span<const std::uint32_t>(clients)));
  if (mean.is_none()) return std::nullopt;
  return vector_of(mean, updates.all().front().change.size(), "aggregation: the function");
}

void CallableServerOptimizer::apply(std::string& packed, Vector& model, const Vector& mean_change) const {
  require_function(function, "server-optimizer");
  const InPython in_python;
  const auto own = [](const Vector& values) { return copied(view(values)); };
  const py::tuple answer = function(own(model), own(mean_change), py::bytes(packed));
  Vector next = vector_of(answer[0], model.size(), "server-optimizer: the function");
  packed = answer[1].cast<std::string>();
  model = std::move(next);
}

StepReport CallableOptimizer::step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const {
  require_function(function, "optimizer");
  scratch.resize(weights.size());
  gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
    std::ranges::copy(stretch, scratch.data() + offset);
    return 0.0;
  });
  const InPython in_python;
  const py::tuple answer = function(copied(std::span<const float>(view(scratch))), copied(std::span<const float>(view(weights))),
                                    py::bytes(state.packed), state.steps++, rate(progress));
  const Vector change = vector_of(answer[0], weights.size(), "optimizer: the function");
  state.packed = answer[1].cast<std::string>();
  for (std::size_t i = 0; i < change.size(); ++i) weights[i] += change[i];
  return {.learning_rate = rate(progress)};
}

void add_callable_parts() {
  fedstride::add_part<Partitioner>(CallablePartition{});
  fedstride::add_part<Cohort>(CallableCohort{});
  fedstride::add_part<Aggregation>(CallableAggregation{});
  fedstride::add_part<ServerOptimizer>(CallableServerOptimizer{});
  fedstride::add_part<Optimizer>(CallableOptimizer{});
}

}  // namespace fedstride::python
