#include "python/settings.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace fedstride::python {
namespace {

std::string type_of(py::handle value) { return Py_TYPE(value.ptr())->tp_name; }

// The plain value of a NumPy scalar; any other object itself.
py::object plain(py::handle value) {
  const bool is_scalar = py::hasattr(value, "dtype") && py::hasattr(value, "item") && py::hasattr(value, "ndim") &&
                         py::cast<int>(value.attr("ndim")) == 0 && type_of(value).starts_with("numpy.") &&
                         type_of(value) != "numpy.ndarray";
  return is_scalar ? value.attr("item")() : py::reinterpret_borrow<py::object>(value);
}

SettingValue value_of(const std::string& key, py::handle given) {
  const py::object value = plain(given);
  if (PyBool_Check(value.ptr())) return value.is(py::handle(Py_True));
  if (PyLong_Check(value.ptr())) {
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0) throw usage_error(key + " is " + std::string(py::str(value)) + "; it must be a number of at most 64 bits");
    return std::int64_t{whole};
  }
  if (PyFloat_Check(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());
  if (PyUnicode_Check(value.ptr())) return value.cast<std::string>();
  if (py::hasattr(value, "__fspath__")) {
    const py::object path = value.attr("__fspath__")();
    if (PyUnicode_Check(path.ptr())) return path.cast<std::string>();
  }
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    std::string joined;
    for (const py::handle item : value) {
      const SettingValue one = value_of(key, item);
      joined += (joined.empty() ? "" : ",") + value_text(one);
    }
    return joined;
  }
  throw usage_error(key + " is of type " + type_of(value) + "; valid are bool, int, float, str, a path, and a list of these");
}

}  // namespace

Settings settings_of(const py::dict& keywords) {
  Settings settings;
  for (const auto& [name, value] : keywords) {
    if (value.is_none()) continue;
    std::string key = name.cast<std::string>();
    std::ranges::replace(key, '_', '-');
    SettingValue meant = value_of(key, value);
    // As check_flags has it of a flag.
    if ((key == "out" || key == "data") && meant == SettingValue(std::string()))
      throw usage_error(key + " is ''; it must name a place, or be left out");
    settings[key] = {std::move(meant), true};
  }
  return settings;
}

}  // namespace fedstride::python
