#include <string>

#include "core/build_info.hpp"
#include "core/descriptor.hpp"
#include "python/bindings.hpp"
#include "python/guard.hpp"
#include "python/own_code.hpp"

PYBIND11_MODULE(_core, module) {
  namespace py = pybind11;
  using namespace fedstride;
  hold_standard_descriptors();
  if (const std::string missing = missing_instructions(); !missing.empty())
    throw py::import_error("fedstride: this build needs " + missing +
                           ", which this processor lacks; build it with -DFEDSTRIDE_MARCH=x86-64-v2");
  module.doc() = "The C++ part of fedstride; use the package around it.";
  const BuildInfo build = build_info();
  module.attr("version") = build.version;
  module.attr("build") = build.compiler + ", " + build.instruction_set + ", commit " + build.commit;
  python::watch_forks();
  py::module_::import("atexit").attr("register")(py::cpp_function(python::stop_all));
  python::add_callable_parts();
  python::register_errors(module);
  python::register_schema(module);
  python::register_running(module);
  python::register_lots(module);
  python::register_joining(module);
  python::register_data(module);
  python::register_commands(module);
  python::register_tensors(module);
  python::register_accounting(module);
}
