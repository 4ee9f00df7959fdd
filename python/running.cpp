#include "python/running.hpp"

#include <atomic>
#include <exception>
#include <optional>

#include "cli/settings_flags.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "core/error.hpp"
#include "data/datasets.hpp"
#include "python/data.hpp"
#include "python/guard.hpp"
#include "python/own_code.hpp"
#include "python/settings.hpp"
#include "run/results.hpp"

namespace fedstride::python {
namespace {

// Calls Python after each round with the line of rounds.jsonl as a dict, and keeps what it raised.
class RoundCallback {
 public:
  RoundCallback(const py::object& function, std::atomic<bool>& stop) : function_(function), stop_(stop) {
    if (!function_.is_none()) loads_ = py::module_::import("json").attr("loads");
  }

  void begin(const Setup& setup) {
    const Configuration& configuration = setup.configuration;
    publishable_ = configuration.publishable;
    reports_ = ClientReports::of(configuration.client_reports, configuration.seed);
  }

  void round(const RoundRecord& record) {
    if (function_.is_none() || raised_) return;
    const std::string line = round_json(record, publishable_, reports_);
    const InPython while_called;
    try {
      function_(loads_(line));
    } catch (py::error_already_set&) {
      raised_ = std::current_exception();
      stop_.store(true);
    }
  }

  void raise_again() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  const py::object& function_;
  std::atomic<bool>& stop_;
  py::object loads_;
  bool publishable_ = false;
  ClientReports reports_;
  std::exception_ptr raised_;
};

RunSummary go(const RunRequest& request, const Bringer& brought, const RunObserver& observer) {
  const auto configure = [&](Configuration& configuration) {
    configuration.brought = brought;
    if (configuration.dataset == kOwnFile && configuration.data.empty() && !brought)
      throw usage_error(request.resume.empty() ? "data set 'file' needs data=, a file or arrays"
                                               : "the run in '" + request.resume +
                                                     "' was begun with arrays, which it does not keep; give them again as data=");
    if (brought && configuration.dataset != kOwnFile)
      throw usage_error("dataset is '" + configuration.dataset + "' and data are arrays; valid is one of them");
    if (request.configure) request.configure(configuration);
  };
  if (!request.resume.empty()) return resume(request.resume, request.settings, observer, request.fleet, configure);
  const Settings settings = merged(request.config, request.settings);
  Configuration configuration = resolve(settings);
  configure(configuration);
  return run(configuration, settings, observer, request.fleet);
}

py::dict run_from_python(const py::dict& keywords, const std::string& config, const std::string& resume, py::object on_round,
                         bool verbose, py::object data, const py::dict& functions) {
  OwnCode code(functions);
  RunRequest request{.settings = settings_of(keywords),
                     .config = config,
                     .data = std::move(data),
                     .resume = resume,
                     .on_round = std::move(on_round),
                     .verbose = verbose};
  code.join(request);
  const RunSummary summary = code.while_it_works([&] { return carry_out(request); });
  py::dict outcome;
  outcome["folder"] = summary.folder;
  outcome["interrupted"] = summary.interrupted;
  return outcome;
}

}  // namespace

RunSummary carry_out(const RunRequest& request) {
  if (!request.on_round.is_none() && !PyCallable_Check(request.on_round.ptr()))
    throw usage_error(std::string("on_round is of type ") + Py_TYPE(request.on_round.ptr())->tp_name +
                      "; it must be a function that takes a round's dict");
  std::atomic<bool> stop{false};
  const Bringer brought = bringer_of(request.data);
  RoundCallback callback(request.on_round, stop);
  RunSummary summary = computed(
      [&] {
        std::optional<ProgressBar> progress;
        RunObserver shown;
        if (request.verbose) shown = progress.emplace(false).observer(&stop);
        RunObserver observer;
        observer.stop = &stop;
        observer.started = [&](const Setup& setup, const std::string& folder, std::uint32_t done,
                               const std::atomic<std::uint64_t>& examples) {
          callback.begin(setup);
          if (shown.started) shown.started(setup, folder, done, examples);
        };
        observer.round = [&](const RoundRecord& record) {
          if (shown.round) shown.round(record);
          callback.round(record);
        };
        return go(request, brought, observer);
      },
      &stop);
  callback.raise_again();
  return summary;
}

void register_running(py::module_& module) {
  module.def("run", run_from_python, py::arg("settings"), py::arg("config"), py::arg("resume"), py::arg("on_round"),
             py::arg("verbose"), py::arg("data"), py::arg("functions"));
}

}  // namespace fedstride::python
