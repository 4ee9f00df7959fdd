#include "python/data.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/flags.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "data/files/convert.hpp"
#include "data/files/readers.hpp"
#include "data/kept_objects.hpp"
#include "python/guard.hpp"
#include "sim/prepare/data_setup.hpp"

namespace fedstride::python {

py::array rows_in_file(const Dataset& data, std::span<const Row> rows) {
  py::array_t<Row> list(static_cast<py::ssize_t>(rows.size()));
  std::ranges::transform(rows, list.mutable_data(), [&](Row row) { return data.file_rows.empty() ? row : data.file_rows[row]; });
  return list;
}

namespace {

// Keeps a Python object alive for C++, which may release it on any thread.
std::shared_ptr<const void> kept(const py::object& object) {
  object.inc_ref();
  return {object.ptr(), [](const void* held) {
            const py::gil_scoped_acquire gil;
            Py_DECREF(static_cast<PyObject*>(const_cast<void*>(held)));
          }};
}

Array lent_array(const std::string& key, const py::array& from) {
  const py::dtype type = from.dtype();
  const std::string name = py::str(py::object(type));
  const auto refused = [&](const std::string& valid) {
    return usage_error("key '" + key + "' of data is an array of dtype " + name + "; " + valid);
  };
  if (std::string_view("biufUS").find(type.kind()) == std::string_view::npos || (type.kind() == 'f' && type.itemsize() > 8))
    throw refused("valid: booleans, integers, floating-point numbers of up to 64 bits, and strings");
  if (!(from.flags() & py::array::c_style) || !type.attr("isnative").cast<bool>())
    throw refused("it must be contiguous and in this machine's byte order");
  Array array{.key = key, .kind = type.kind(), .item = static_cast<std::size_t>(type.itemsize()), .shape = {}, .bytes = {}};
  for (py::ssize_t i = 0; i < from.ndim(); ++i) array.shape.push_back(static_cast<std::size_t>(from.shape(i)));
  array.bytes = {std::span(static_cast<const std::uint8_t*>(from.data()), static_cast<std::size_t>(from.nbytes())), kept(from)};
  return array;
}

// A NumPy array that views a data set's memory and keeps it alive.
py::array shared(const std::shared_ptr<const DataPair>& pair, const auto& list, std::vector<py::ssize_t> shape) {
  const py::capsule keeps(new std::shared_ptr<const DataPair>(pair),
                          [](void* held) { delete static_cast<std::shared_ptr<const DataPair>*>(held); });
  using Value = std::remove_cvref_t<decltype(*std::as_const(list).data())>;
  py::array_t<Value> array(std::move(shape), std::as_const(list).data(), keeps);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

void add_part(const std::shared_ptr<const DataPair>& pair, const Dataset& part, const std::string& end, py::dict& into) {
  const auto rows = static_cast<py::ssize_t>(part.size());
  const auto all_rows = [&](const auto& list, std::vector<py::ssize_t> shape) {
    shape.insert(shape.begin(), rows);
    return shared(pair, list, std::move(shape));
  };
  into[py::str("x" + end)] = visit_inputs(part, all_rows);
  into[py::str("y" + end)] = visit_answers(part, all_rows);
  if (!part.clients.empty()) into[py::str("client" + end)] = shared(pair, part.clients, {rows});
  if (!part.file_rows.empty()) into[py::str("rows" + end)] = shared(pair, part.file_rows, {rows});
}

Configuration configured(const py::dict& keywords, const std::string& config, const py::object& arrays) {
  Configuration configuration = resolve(merged(config, settings_of(keywords)));
  configuration.brought = bringer_of(arrays);
  return configuration;
}

py::dict load_known(const py::dict& keywords, const py::object& arrays) {
  const Configuration configuration = configured(keywords, "", arrays);
  const auto pair = std::make_shared<const DataPair>(
      computed([&] { return load_dataset(configuration.dataset, data_options(configuration)); }));
  py::dict all;
  add_part(pair, pair->train, "", all);
  add_part(pair, pair->test, "_test", all);
  all["mean"] = shared(pair, pair->train.mean, {static_cast<py::ssize_t>(pair->train.mean.size())});
  all["deviation"] = shared(pair, pair->train.deviation, {static_cast<py::ssize_t>(pair->train.deviation.size())});
  all["classes"] = pair->train.classes;
  if (pair->train.vocabulary > 0) all["vocabulary"] = pair->train.vocabulary;
  all["targets"] = std::string(choice_name(pair->train.targets));
  py::list names, clients, notes;
  for (const std::string& note : pair->notes) notes.append(note);
  for (const std::string& name : pair->train.class_names) names.append(name);
  for (const std::string& name : pair->train.client_names) clients.append(name);
  all["class_names"] = names;
  all["client_names"] = clients;
  all["hash"] = pair->hash;
  all["notes"] = notes;
  return all;
}

py::list partition(const py::dict& keywords, const std::string& config, const py::object& arrays) {
  const Configuration configuration = configured(keywords, config, arrays);
  const DataSetup setup = computed([&] { return prepare_partition(configuration); });
  py::list lists;
  for (const std::span<const Row> rows : setup.clients.rows) lists.append(rows_in_file(setup.data.train, rows));
  return lists;
}

}  // namespace

namespace {

/// Reads frames, which Python has written as tables, by the rules for a user's own tables.
DataPair read_tables(const std::map<std::string, Array>& held, const ReadSettings& given) {
  ReadSettings settings = given;
  settings.header = Header::yes;
  if (settings.decimal_mark == DecimalMark::comma) settings.decimal_mark = DecimalMark::point;  // the mark of a run's files
  const auto take = [&](const char* key, std::string& setting) {
    if (const auto found = held.find(key); found != held.end() && setting.empty()) setting = found->second.text(0);
  };
  take("label", settings.label);
  // Under dp user, the client column of the settings may be the users', and the clients come beside x and y.
  if (const auto found = held.find("client_column");
      found != held.end() && !settings.client_column.empty() && settings.client_column != found->second.text(0))
    settings.user_column = std::exchange(settings.client_column, {});
  take("client_column", settings.client_column);
  Assembly both("data", "the test part of data", settings);
  both.shared.needs_constants = settings.rows_are_protected && !settings.schema;
  for (const bool as_test : {false, true}) {
    const auto table = held.find(as_test ? "table_test" : "table");
    if (table == held.end()) continue;
    const Converted file = in_memory({std::as_const(table->second.bytes).data(), table->second.bytes.size()});
    read_csv(std::vector{TableFile{.path = file.path, .name = as_test ? "the test part of data" : "data"}}, settings, both,
             as_test);
  }
  return both.finish(false);
}

}  // namespace

Bringer bringer_of(const py::object& arrays) {
  if (arrays.is_none()) return {};
  std::map<std::string, Array> held;
  for (const auto& [key, array] : arrays.cast<py::dict>()) {
    const auto name = key.cast<std::string>();
    held.emplace(name, lent_array(name, array.cast<py::array>()));
  }
  const bool has_planes = held.erase("planes") > 0;  // set by python/fedstride/_kept.py if it transposed the images
  return [held, has_planes](const ReadSettings& settings) {
    if (settings.format != FileForm::automatic)
      throw usage_error("format is '" + std::string(choice_name(settings.format)) +
                        "'; it cannot be combined with data that are arrays");
    if (!settings.test.empty())
      throw usage_error("test-data is '" + settings.test +
                        "'; the test part of arrays is x_test and y_test, of frames (train, test)");
    if (held.contains("table")) return read_tables(held, settings);
    const std::vector<std::string> keys = npz_keys(settings);
    for (const auto& [key, array] : held)
      if (std::ranges::find(keys, key) == keys.end()) throw usage_error("data: " + unknown_name("key", key, keys));
    Assembly both("data", "data", settings);
    both.shared.planes_are_known = has_planes;
    take_arrays(held, "data", settings, both);
    return both.finish(false);
  };
}

void register_data(py::module_& module) {
  module.def("object_place", [](const py::bytes& digest) {
    const KeptPlace place = place_of_object(std::string_view(digest));
    return std::pair(place.folder.string(), place.name);
  });
  module.def("load_dataset", load_known, py::arg("settings"), py::arg("arrays"));
  module.def("partition", partition, py::arg("settings"), py::arg("config"), py::arg("arrays"));
}

}  // namespace fedstride::python
