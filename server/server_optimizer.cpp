#include "server/server_optimizer.hpp"

#include <cereal/archives/portable_binary.hpp>
#include <sstream>

#include "core/error.hpp"
#include "core/serialize.hpp"

namespace fedstride {

struct Server::AtWork {
  virtual ~AtWork() = default;
  virtual void apply(Vector& model, const Vector& mean_change) = 0;
  virtual std::string save() const = 0;
  virtual void load(const std::string& bytes) = 0;
};

template <ServerOpt T>
struct Server::Of final : AtWork {
  Of(const T& kind, std::size_t size) : optimizer(kind) { optimizer.start(state, size); }

  void apply(Vector& model, const Vector& mean_change) override { optimizer.apply(state, model, mean_change); }
  std::string save() const override {
    std::ostringstream stream;
    cereal::PortableBinaryOutputArchive archive(stream);
    archive(state);
    return stream.str();
  }
  void load(const std::string& bytes) override {
    const auto refused = [] {
      return failure("the checkpoint's state of server-optimizer '" + std::string(T::kName) +
                     "' is damaged, or of another optimizer or model");
    };
    if (bytes.size() != save().size()) throw refused();
    try {
      std::istringstream stream(bytes);
      cereal::PortableBinaryInputArchive archive(stream);
      archive(state);
    } catch (const std::exception&) {
      throw refused();
    }
  }

  T optimizer;
  typename T::State state = {};
};

Server::Server(const ServerOptimizer& kind, std::size_t size)
    : at_work_(std::visit([&]<class T>(const T& chosen) -> std::unique_ptr<AtWork> {
        return std::make_unique<Of<T>>(chosen, size);
      }, kind)) {}

Server::~Server() = default;

void Server::apply(Vector& model, const Vector& mean_change) { at_work_->apply(model, mean_change); }
std::string Server::save() const { return at_work_->save(); }
void Server::load(const std::string& bytes) { at_work_->load(bytes); }

}  // namespace fedstride
