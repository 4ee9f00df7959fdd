#include "client/model_coding.hpp"

#include "client/personal_at_client.hpp"

namespace fedstride {

std::string ModelCoding::advance(std::uint32_t round, const Vector& model, Vector& held) const {
  Vector wanted;
  Vector there;
  gather(sent, model, wanted);
  gather(sent, held, there);
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] -= there[i];
  std::string code;
  compression->encode(view(std::as_const(wanted)), {seed, round, CodeAddress::kServer, 2}, code);
  apply(code, round, held);
  return code;
}

bool ModelCoding::apply(std::string_view code, std::uint32_t round, Vector& held) const {
  Vector there;
  gather(sent, held, there);
  Vector change(there.size());
  if (!compression->decode(code, {seed, round, CodeAddress::kServer, 2}, view(change))) return false;
  for (std::size_t i = 0; i < there.size(); ++i) there[i] += change[i];
  scatter(sent, there, held);
  return true;
}

}  // namespace fedstride
