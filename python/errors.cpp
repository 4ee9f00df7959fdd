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

void raise(PyObject* type, const char* text) { PyErr_SetString(type, in_python_words(one_line(text)).c_str()); }

// Translates this program's errors; exceptions of the standard library become failures.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(error.kind() == Error::Kind::usage ? usage_error_type : error_type, error.what());
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
  module.attr("Error") = py::handle(error_type);
  module.attr("UsageError") = py::handle(usage_error_type);
  py::register_local_exception_translator(translate);
}

}  // namespace fedstride::python
