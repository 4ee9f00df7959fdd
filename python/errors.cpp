#include "python/errors.hpp"

#include <exception>
#include <new>

#include "core/error.hpp"
#include "core/one_line.hpp"
#include "core/stop.hpp"

namespace fedstride::python {
namespace {

PyObject* made_error = nullptr;
PyObject* made_usage_error = nullptr;

void raise(PyObject* type, const char* text) { PyErr_SetString(type, fedstride::one_line(text).c_str()); }

// Errors of this program in its own words; the standard library's, which name no value, as failures.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(error.kind() == Error::Kind::usage ? usage_error_type() : error_type(), error.what());
  } catch (const Stopped&) {
    raise(error_type(), "stopped, as the program was asked to");
  } catch (const py::builtin_exception&) {
    throw;
  } catch (const py::error_already_set&) {
    throw;
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "out of memory");
  } catch (const std::exception& error) {
    raise(error_type(), error.what());
  }
}

}  // namespace

PyObject* error_type() { return made_error; }
PyObject* usage_error_type() { return made_usage_error; }

std::string one_line(const py::error_already_set& error) { return fedstride::one_line(error.what()); }

void register_errors(py::module_& module) {
  made_error = PyErr_NewExceptionWithDoc(
      "fedstride.Error", "Something could not be done. The text is one line which says why, in the words of the command line.",
      PyExc_Exception, nullptr);
  const py::tuple bases = py::make_tuple(py::handle(made_error), py::handle(PyExc_ValueError));
  made_usage_error = PyErr_NewExceptionWithDoc("fedstride.UsageError",
                                               "A request that makes no sense. The text names the value and what would be valid.",
                                               bases.ptr(), nullptr);
  module.attr("Error") = py::handle(made_error);
  module.attr("UsageError") = py::handle(made_usage_error);
  py::register_local_exception_translator(translate);
}

}  // namespace fedstride::python
