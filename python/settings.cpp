#include <set>
#include <string>
#include <variant>

#include "core/error.hpp"
#include "python/bindings.hpp"
#include "python/words.hpp"

namespace fedstride::python {
namespace {

std::string type_of(py::handle value) { return Py_TYPE(value.ptr())->tp_name; }

// Returns the plain value of a NumPy scalar or a zero-dimensional tensor, and any other object unchanged.
py::object plain(py::handle value) {
  const bool is_scalar =
      py::hasattr(value, "item") && py::hasattr(value, "shape") && py::object(value.attr("shape")).equal(py::tuple());
  return is_scalar ? value.attr("item")() : py::reinterpret_borrow<py::object>(value);
}

// Says which values the key takes, for the error about a value of another type.
std::string valid_for(const std::string& key) {
  if (key == "dataset") return "it must be a name; arrays go in data=(x, y)";
  const KeyInfo* known = find_key(key);
  if (known == nullptr || known->valid_text.empty()) return "valid: bool, int, float, str, a path, or a list of these";
  return (known->valid_text.starts_with("valid: ") ? "" : "it must be ") + known->valid_text;
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
      if (PyList_Check(item.ptr()) || PyTuple_Check(item.ptr()) || py::hasattr(item, "__array__"))
        throw usage_error(keyword_of(key) + " is a " + type_of(value) + " of " + type_of(item) + "; " + valid_for(key));
      const SettingValue one = value_of(key, item);
      joined += (joined.empty() ? "" : ",") + value_text(one);
    }
    return joined;
  }
  throw usage_error(keyword_of(key) + " is of type " + type_of(value) + "; " + valid_for(key));
}

// True for a key whose values are text, to which numbers are converted.
bool is_text(const std::string& key) {
  static const std::set<std::string> texts = [] {
    std::set<std::string> names;
    for (const KeyInfo& one : all_keys())
      if (one.valid_text.empty() && !one.is_flag) names.insert(one.name);
    return names;
  }();
  return texts.contains(key);
}

}  // namespace

Settings settings_of(const py::dict& keywords) {
  Settings settings;
  for (const auto& [name, value] : keywords) {
    if (value.is_none()) continue;
    const std::string key = key_of(name.cast<std::string>());
    SettingValue meant = value_of(key, value);
    if (is_text(key) && !std::holds_alternative<bool>(meant)) meant = value_text(meant);
    // check_flags() does the same for flags.
    if ((key == "out" || key == "data") && meant == SettingValue(std::string()))
      throw usage_error(key + " is ''; it must name a file or folder (or be left out)");
    settings[key] = {std::move(meant), true};
  }
  return settings;
}

}  // namespace fedstride::python
