#include <pybind11/stl.h>

#include <atomic>
#include <exception>
#include <filesystem>
#include <optional>

#include "cli/flags.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "core/error.hpp"
#include "core/stop.hpp"
#include "data/datasets.hpp"
#include "python/bindings.hpp"
#include "python/data.hpp"
#include "python/guard.hpp"
#include "python/own_code.hpp"
#include "python/words.hpp"
#include "sim/run/certificate.hpp"
#include "sim/run/results.hpp"
#include "sim/run/run.hpp"

namespace fedstride::python {
namespace {

namespace fs = std::filesystem;

// Wraps the package's object that watches a run (python/fedstride/_watching.py): reports the beginning and each round to the
// object, stops the run if it returns False, and keeps its exceptions.
class Watcher {
 public:
  Watcher(const py::object& object, std::atomic<bool>& stop) : object_(object), stop_(stop) {
    wants_rounds_ = object_.attr("wants_rounds").cast<bool>();
    loads_ = py::module_::import("json").attr("loads");
  }

  void begin(const Setup& setup, const std::string& folder, std::uint32_t rounds_done) {
    const Configuration& configuration = setup.configuration;
    publishable_ = configuration.publishable;
    reports_ = ClientReports::of(configuration.client_reports, configuration.seed);
    call([&] {
      std::vector<std::string> notes;
      for (const std::string& note : setup.notes) notes.push_back(in_python_words(note));
      object_.attr("begin")(folder, rounds_done, configuration.rounds, configuration.quiet, notes);
    });
  }

  void round(const RoundRecord& record) {
    if (raised_) return;
    if (has_signal()) call(call_handlers);
    if (!wants_rounds_ || raised_) return;
    const std::string line = round_json(record, publishable_, reports_);
    call([&] {
      if (object_.attr("round")(loads_(line)).is(py::handle(Py_False))) stop_.store(true);
    });
  }

  void raise_again() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  void call(const auto& function) {
    const InPython while_called;
    try {
      function();
    } catch (py::error_already_set&) {
      raised_ = std::current_exception();
      stop_.store(true);
    }
  }

  const py::object& object_;
  std::atomic<bool>& stop_;
  py::object loads_;
  bool wants_rounds_ = false;
  bool publishable_ = false;
  ClientReports reports_;
  std::exception_ptr raised_;
};

py::dict run_from_python(const py::dict& keywords, const std::string& config, const std::string& folder,
                         const py::object& watching, bool verbose, const py::object& data, const py::dict& functions) {
  const AtWork working;
  const fs::path here = fs::current_path();
  OwnCode code(functions);
  const Settings given = settings_of(keywords);
  const Bringer brought = bringer_of(data);
  const auto configure = [&](Configuration& configuration) {
    configuration.brought = brought;
    if (configuration.dataset == kOwnFile && configuration.data.empty() && !brought)
      throw usage_error(folder.empty() ? "data set 'file' needs data=, a file or arrays"
                                       : "the run in '" + folder +
                                             "' was started with arrays, which it does not store; pass them again as data=");
    if (brought && configuration.dataset != kOwnFile)
      throw usage_error("dataset is '" + configuration.dataset + "' and data are arrays; give only one of them");
    code.configure(configuration);
    // Callbacks may change the current folder.
    if (!configuration.timeline.empty()) configuration.timeline = fs::absolute(configuration.timeline);
  };
  const FleetMaker fleet = code.fleet();
  std::atomic<bool> stop{false};
  Watcher watcher(watching, stop);
  std::string failed;
  const auto go = [&]() -> RunSummary {
    std::optional<ProgressBar> progress;
    RunObserver shown;
    if (verbose) shown = progress.emplace(false, in_python_words).observer(&stop);
    RunObserver observer;
    observer.stop = &stop;
    observer.started = [&](const Setup& setup, const std::string& place, std::uint32_t done,
                           const std::atomic<std::uint64_t>& examples) {
      if (shown.started) shown.started(setup, place, done, examples);
      watcher.begin(setup, place, done);
    };
    observer.round = [&](const RoundRecord& record) {
      if (shown.round) shown.round(record);
      watcher.round(record);
    };
    observer.ended = shown.ended;
    try {
      if (!folder.empty()) return resume(folder, given, observer, fleet, configure);
      const Settings settings = merged(config, given);
      Configuration configuration = resolve(settings);
      configure(configuration);
      return run(configuration, settings, observer, fleet);
    } catch (const FailedRound& error) {
      failed = error.what();
      return {};
    }
  };
  const RunSummary summary = code.while_it_works([&] {
    RunSummary done = computed(go, &stop);
    watcher.raise_again();
    return done;
  });
  py::dict outcome;
  outcome["folder"] = fs::current_path() == here ? summary.folder : (here / summary.folder).string();
  outcome["interrupted"] = summary.interrupted;
  outcome["failed"] = failed;  // raised in Python, which knows the cause
  return outcome;
}

// Checks a certificate, with the user's code for what it names. `options`: VerifyOptions by name.
py::dict verify_from_python(const std::string& file, const py::dict& options, const py::object& data, const py::dict& functions) {
  const AtWork working;
  OwnCode code(functions);
  const Bringer brought = bringer_of(data);
  std::atomic<bool> stop{false};
  VerifyOptions chosen{.here = settings_of(options["here"].cast<py::dict>()),
                       .seed = options["seed"].cast<std::string>(),
                       .checkpoints = options["checkpoints"].cast<std::string>(),
                       .key = options["key"].cast<std::string>(),
                       .signer = options["signer"].cast<std::string>(),
                       .stop = &stop};
  if (!options["rounds"].is_none()) chosen.rounds = options["rounds"].cast<std::uint32_t>();
  const FleetMaker fleet = code.fleet();
  const auto configure = [&](Configuration& configuration) {
    configuration.brought = brought;
    code.configure(configuration);
  };
  const Verdict verdict =
      code.while_it_works([&] { return computed([&] { return verify_certificate(file, chosen, fleet, configure); }, &stop); });
  py::dict found;
  found["held"] = verdict.held;
  found["broken"] = verdict.broken;
  found["not_checked"] = verdict.unchecked;
  return found;
}

}  // namespace

void register_running(py::module_& module) {
  module.def("run", run_from_python, py::arg("settings"), py::arg("config"), py::arg("resume"), py::arg("watching"),
             py::arg("verbose"), py::arg("data"), py::arg("functions"));
  module.def("verify", verify_from_python, py::arg("certificate"), py::arg("options"), py::arg("data"), py::arg("functions"));
  module.def("has_no_threads", has_no_threads);
  module.def("is_stopping", [] { return stop_requested.load(); });
  module.def("code_text", [](const std::vector<std::tuple<std::string, std::string, bool>>& pieces) {
    CodeNames code;
    for (const auto& [part, name, clips] : pieces) code.pieces.push_back({part, name, clips});
    return code.text();
  });
}

}  // namespace fedstride::python
