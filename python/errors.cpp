#include <exception>
#include <new>

#include "core/error.hpp"
#include "core/stop.hpp"
#include "python/bindings.hpp"
#include "python/words.hpp"

namespace fedstride::python {
namespace {

// The exception types, which live as long as the interpreter.
PyObject* error_type = nullptr;
PyObject* usage_error_type = nullptr;
PyObject* refused_type = nullptr;
PyObject* busy_type = nullptr;
PyObject* temporary_type = nullptr;

PyObject* type_of(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::usage:
      return usage_error_type;
    case Error::Kind::refused:
      return refused_type;
    case Error::Kind::busy:
      return busy_type;
    case Error::Kind::temporary:
      return temporary_type;
    case Error::Kind::failure:
      break;
  }
  return error_type;
}

void raise(PyObject* type, const char* text) { PyErr_SetString(type, in_python_words(one_line(text)).c_str()); }

// Translates this program's errors; exceptions of the standard library become failures.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(type_of(error.kind()), error.what());
  } catch (const Stopped&) {
    raise(error_type, "stopped by a signal");
  } catch (const py::builtin_exception&) {
    throw;
  } catch (const py::error_already_set&) {
    throw;
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "out of memory");
  } catch (const std::exception& error) {
    raise(error_type, error.what());
  }
}

}  // namespace

void register_errors(py::module_& module) {
  error_type = PyErr_NewExceptionWithDoc("fedstride.Error", "A failure. The message is one line.", PyExc_Exception, nullptr);
  const py::tuple bases = py::make_tuple(py::handle(error_type), py::handle(PyExc_ValueError));
  usage_error_type = PyErr_NewExceptionWithDoc(
      "fedstride.UsageError", "An invalid request. The message names the value and what would be valid.", bases.ptr(), nullptr);
  const auto kind_of_error = [&](const char* name, const char* what) {
    PyObject* const type = PyErr_NewExceptionWithDoc((std::string("fedstride.") + name).c_str(), what, error_type, nullptr);
    module.attr(name) = py::handle(type);
    return type;
  };
  refused_type = kind_of_error("RefusedError", "Refused for good: the same is refused until somebody acts.");
  busy_type = kind_of_error("BusyError", "Another process has the folder or the address.");
  temporary_type = kind_of_error("TemporaryError", "It may succeed later: a full disk, or a coordinator that is away.");
  module.attr("Error") = py::handle(error_type);
  module.attr("UsageError") = py::handle(usage_error_type);
  py::register_local_exception_translator(translate);
}

}  // namespace fedstride::python
