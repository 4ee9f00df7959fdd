// Carries out the program's commands in this process.
#include <pybind11/stl.h>

#include <iostream>
#include <mutex>
#include <optional>
#include <streambuf>
#include <string>
#include <tuple>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/terminal/host.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "python/bindings.hpp"
#include "python/data.hpp"
#include "python/guard.hpp"
#include "sim/run/evaluate.hpp"

namespace fedstride::python {
namespace {

// The output of this thread's command, while it runs.
thread_local std::string* written_out = nullptr;
thread_local std::string* written_remarks = nullptr;

// Wraps a stream's buffer, so that threads running a command write to their own strings, and all others to the stream.
class PerThread : public std::streambuf {
 public:
  PerThread(std::ostream& stream, std::string* (*text)()) : before_(stream.rdbuf()), text_(text) { stream.rdbuf(this); }

 protected:
  std::streamsize xsputn(const char* from, std::streamsize count) override {
    std::string* text = text_();
    if (text == nullptr) return before_->sputn(from, count);
    text->append(from, static_cast<std::size_t>(count));
    return count;
  }
  int_type overflow(int_type one) override {
    if (traits_type::eq_int_type(one, traits_type::eof())) return traits_type::not_eof(one);
    const char letter = traits_type::to_char_type(one);
    return xsputn(&letter, 1) == 1 ? one : traits_type::eof();
  }
  int sync() override { return text_() == nullptr ? before_->pubsync() : 0; }

 private:
  std::streambuf* before_;
  std::string* (*text_)();
};

// Installed once for the lifetime of the process, because other threads may be writing.
void divide_streams() {
  static std::once_flag once;
  std::call_once(once, [] {
    new PerThread(std::cout, [] { return written_out; });
    new PerThread(std::cerr, [] { return written_remarks; });
  });
}

// Carries out a command; returns its exit status, its output, and its notes on standard error.
std::tuple<int, std::string, std::string> command(std::vector<std::string> words, const py::dict& flags) {
  words.insert(words.begin(), "fedstride");
  for (const auto& [name, setting] : settings_of(flags)) {
    const bool* on = std::get_if<bool>(&setting.value);
    if (on == nullptr || *on) words.push_back("--" + name + (on == nullptr ? "=" + value_text(setting.value) : ""));
  }
  divide_streams();
  std::string out, remarks;
  const int code = computed([&] {
    struct Writing {
      Writing(std::string& to, std::string& remarks) {
        written_out = &to;
        written_remarks = &remarks;
      }
      ~Writing() { written_out = written_remarks = nullptr; }
    } const writing(out, remarks);
    std::vector<char*> pointers = argument_pointers(words);
    return carry_out_command_line(static_cast<int>(words.size()), pointers.data());
  });
  return {code, out, remarks};
}

std::string evaluate_on(const std::string& model, const py::object& arrays, bool training_part, int threads) {
  const DataOptions options{.brought = bringer_of(arrays)};
  return computed([&] { return evaluation_json(evaluate_file(model, "", options, training_part, threads)); });
}

// Predicts the rows of a file, or of arrays if there is no file; returns the kind of answers, their names, and rows x names numbers.
std::tuple<std::string, std::vector<std::string>, std::vector<double>> predict(const std::string& model, const std::string& file,
                                                                               const py::object& arrays,
                                                                               std::optional<ClientId> client, int threads) {
  const DataOptions options{.data = file, .brought = bringer_of(arrays)};
  const Predictions found = computed([&] { return predict_file(model, options, client, threads); });
  return {std::string(choice_name(found.targets)), found.names, found.numbers};
}

// Carries out a sweep's cell that uses Python functions (python/fedstride/_own_sweep.py).
bool run_own(const Settings& settings, const std::string& folder) {
  const InPython in_python(true);
  py::dict texts;
  for (const auto& [name, setting] : settings) texts[py::str(name)] = value_text(setting.value);
  const std::string file = settings.contains("out") ? write_settings(resolve_unchecked(settings), settings) : std::string();
  const auto [is_done, error] =
      py::module_::import("fedstride._own_sweep").attr("run_cell")(texts, file, folder).cast<std::pair<bool, std::string>>();
  if (!error.empty()) throw failure(error);
  return is_done;
}

}  // namespace

void register_commands(py::module_& module) {
  module.def("command", command, py::arg("words"), py::arg("flags"));
  module.def("evaluate_on", evaluate_on, py::arg("model"), py::arg("arrays"), py::arg("training_part"), py::arg("threads"));
  module.def("predict", predict, py::arg("model"), py::arg("file"), py::arg("arrays"), py::arg("client"), py::arg("threads"));
  // Sets the path of the program: sweeps start it for cells of commands other than run, and the Python part of tables is beside it.
  module.def("set_program", [](const std::string& path) {
    set_host({.has_signals = true,
              .program =
                  [path] {
                    if (path.empty())
                      throw failure(
                          "the program 'fedstride' is neither beside the module nor on PATH; tables, and cells of commands other "
                          "than run, need it");
                    return path;
                  },
              .run_own = run_own});
  });
}

}  // namespace fedstride::python
