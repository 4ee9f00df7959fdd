// Commands of the program in this process.
#include <pybind11/stl.h>

#include <iostream>
#include <mutex>
#include <streambuf>
#include <string>
#include <tuple>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/terminal/host.hpp"
#include "core/argument_pointers.hpp"
#include "core/error.hpp"
#include "python/bindings.hpp"
#include "python/data.hpp"
#include "python/guard.hpp"
#include "run/evaluate.hpp"

namespace fedstride::python {
namespace {

// The texts that this thread's command writes, while there is one.
thread_local std::string* written_out = nullptr;
thread_local std::string* written_remarks = nullptr;

// Stands before a stream's own buffer: a thread that carries out a command writes to a text of its own, all others to where the
// stream goes.
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

// Once, and for as long as the process lives: other threads may be writing.
void divide_streams() {
  static std::once_flag once;
  std::call_once(once, [] {
    new PerThread(std::cout, [] { return written_out; });
    new PerThread(std::cerr, [] { return written_remarks; });
  });
}

// The exit status of a command, what it wrote, and what it remarked on standard error.
std::tuple<int, std::string, std::string> command(const std::vector<std::string>& words) {
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
    std::vector<std::string> all{"fedstride"};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> pointers = argument_pointers(all);
    return carry_out_command_line(static_cast<int>(all.size()), pointers.data());
  });
  return {code, out, remarks};
}

std::string evaluate_on(const std::string& model, const py::object& arrays, bool training_part, int threads) {
  const DataOptions options{.brought = bringer_of(arrays)};
  return computed([&] { return evaluation_json(evaluate_file(model, "", options, training_part, threads)); });
}

}  // namespace

void register_commands(py::module_& module) {
  module.def("command", command, py::arg("words"));
  module.def("evaluate_on", evaluate_on, py::arg("model"), py::arg("arrays"), py::arg("training_part"), py::arg("threads"));
  // Where Python finds the program; called in a sweep whose cells need it.
  module.def("set_program", [](const std::string& path) {
    set_host(
        {.has_signals = true, .program = [path] {
           if (path.empty())
             throw failure(
                 "the program 'fedstride' is neither beside the module nor on PATH; cells of commands other than run need it");
           return path;
         }});
  });
}

}  // namespace fedstride::python
