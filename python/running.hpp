#pragma once

#include <functional>
#include <string>

#include "python/bindings.hpp"
#include "run/run.hpp"

namespace fedstride::python {

/// A run that Python asks for.
struct RunRequest {
  Settings settings = {};            ///< of a new run, or those given anew to one that goes on
  std::string config = {};           ///< a TOML file under them; empty: none
  py::object data = py::none();      ///< arrays by their keys (data.hpp), instead of the data set that settings name
  std::string resume = {};           ///< folder of the run that goes on; empty: a new one
  py::object on_round = py::none();  ///< called with a dict after each round, on the calling thread; None: nothing is called
  bool verbose = false;              ///< what the command line prints
  /// Puts what no setting can say (data, callables) into the configuration, once that has been made of the settings.
  std::function<void(Configuration&)> configure = {};
  FleetMaker fleet{in_process_fleet};
};

/// Carries it out on this thread, with the GIL released but for callbacks, and returns its outcome. An exception of a callback
/// stops the run, which can go on later, and is raised again. Throws Error. Needs the GIL.
RunSummary carry_out(const RunRequest& request);

}  // namespace fedstride::python
