#include "secagg/messages.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"

namespace fedstride::secagg {
namespace {

constexpr std::size_t kMaxBox = 256;

class Writer {
 public:
  template <class T>
  requires std::is_integral_v<T> Writer& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& raw(std::span<const std::uint8_t> bytes) {
    bytes_.append(text_of(bytes));
    return *this;
  }
  Writer& text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  template <class List, class Write>
  Writer& list(const List& list, const Write& write) {
    number(static_cast<std::uint32_t>(list.size()));
    for (const auto& one : list) write(one);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
    requires std::is_integral_v<T> T number() {
      T value{};
      std::memcpy(&value, cut(sizeof value).data(), sizeof value);
      return value;
    }
  template <std::size_t kSize>
  void raw(std::array<std::uint8_t, kSize>& out) {
    std::memcpy(out.data(), cut(kSize).data(), kSize);
  }
  std::string_view text(std::size_t most) {
    const auto size = number<std::uint32_t>();
    require(size <= most);
    return cut(size);
  }
  /// Reads the number of elements that follow, each of at least `least` bytes.
  std::size_t count(std::size_t least) {
    const auto number = this->number<std::uint32_t>();
    require(number <= kMaxCohort && number <= bytes_.size() / least);
    return number;
  }
  std::string_view cut(std::size_t size) {
    require(size <= bytes_.size());
    const std::string_view piece = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return piece;
  }
  void end() const { require(bytes_.empty()); }
  void require(bool good) const {
    if (!good) throw failure("a message of secure aggregation is damaged");
  }

 private:
  std::string_view bytes_;
};

void write(Writer& to, const Advert& one) {
  to.number(one.client).number(one.round).raw(one.model).raw(one.cohort).raw(one.settings);
  to.raw(one.share_key).raw(one.mask_key).raw(one.commitment).raw(one.signature);
}
void read(Reader& from, Advert& one) {
  one.client = from.number<ClientId>();
  one.round = from.number<std::uint32_t>();
  for (Bytes32* field : {&one.model, &one.cohort, &one.settings, &one.share_key, &one.mask_key, &one.commitment})
    from.raw(*field);
  from.raw(one.signature);
}
constexpr std::size_t kAdvertSize = 8 + 6 * 32 + 64;

void write(Writer& to, const Signed& one) { to.number(one.client).raw(one.signature); }
void read(Reader& from, Signed& one) {
  one.client = from.number<ClientId>();
  from.raw(one.signature);
}

void write(Writer& to, const std::vector<Shares::Sealed>& boxes) {
  to.list(boxes, [&](const Shares::Sealed& one) { to.number(one.client).text(one.box); });
}
void read(Reader& from, std::vector<Shares::Sealed>& boxes) {
  boxes.resize(from.count(8));
  for (Shares::Sealed& one : boxes) {
    one.client = from.number<ClientId>();
    one.box = from.text(kMaxBox);
  }
}

void write(Writer& to, const std::vector<Signed>& list) {
  to.list(list, [&](const Signed& one) { write(to, one); });
}
void read(Reader& from, std::vector<Signed>& list) {
  list.resize(from.count(68));
  for (Signed& one : list) read(from, one);
}

void read(Reader& from, Invitation& message) {
  message.planned = from.number<std::uint32_t>();
  message.members.resize(from.count(40));
  for (Invitation::Invited& one : message.members) {
    one.member.client = from.number<ClientId>();
    from.raw(one.member.key);
    one.proof = from.text(kMaxProof);
  }
}
void read(Reader& from, Roster& roster) {
  roster.adverts.resize(from.count(kAdvertSize));
  for (Advert& one : roster.adverts) read(from, one);
}
void read(Reader& from, Shares& message) {
  message.client = from.number<ClientId>();
  read(from, message.boxes);
}
void read(Reader& from, Delivery& message) {
  message.sharers.resize(from.count(4));
  for (ClientId& one : message.sharers) one = from.number<ClientId>();
  read(from, message.boxes);
}
void read(Reader& from, Masked& message) {
  message.client = from.number<ClientId>();
  from.raw(message.signature);
  const auto bits = from.number<std::uint8_t>();
  from.require(bits == 32 || bits == 64 || bits == 128);
  const auto length = from.number<std::uint64_t>();
  from.require(length <= kMaxLength);
  const std::string_view bytes = from.cut(length * (bits / 8));
  message.input = Ring(length, bits);
  std::ranges::copy(bytes, message.input.bytes().begin());
}
void read(Reader& from, Survivors& message) { read(from, message.clients); }
void read(Reader& from, Agreements& message) { read(from, message.clients); }
void read(Reader& from, Unmasking& message) {
  message.client = from.number<ClientId>();
  message.shares.resize(from.count(37));
  for (Unmasking::Opened& one : message.shares) {
    one.owner = from.number<ClientId>();
    const auto kind = from.number<std::uint8_t>();
    from.require(kind <= 1);
    one.of_seed = kind == 1;
    from.raw(one.value.bytes);
  }
}

}  // namespace

std::string encoded(const Invitation& message) {
  Writer to;
  to.number(message.planned);
  to.list(message.members,
          [&](const Invitation::Invited& one) { to.number(one.member.client).raw(one.member.key).text(one.proof); });
  return to.take();
}
std::string encoded(const Advert& message) {
  Writer to;
  write(to, message);
  return to.take();
}
std::string encoded(const Roster& message) {
  Writer to;
  to.list(message.adverts, [&](const Advert& one) { write(to, one); });
  return to.take();
}
std::string encoded(const Shares& message) {
  Writer to;
  to.number(message.client);
  write(to, message.boxes);
  return to.take();
}
std::string encoded(const Delivery& message) {
  Writer to;
  to.list(message.sharers, [&](ClientId one) { to.number(one); });
  write(to, message.boxes);
  return to.take();
}
std::string encoded(const Masked& message) {
  Writer to;
  to.number(message.client).raw(message.signature).number(static_cast<std::uint8_t>(message.input.bits()));
  to.number(static_cast<std::uint64_t>(message.input.size())).raw(message.input.bytes());
  return to.take();
}
std::string encoded(const Survivors& message) {
  Writer to;
  write(to, message.clients);
  return to.take();
}
std::string encoded(const Agreement& message) {
  Writer to;
  write(to, message);
  return to.take();
}
std::string encoded(const Agreements& message) {
  Writer to;
  write(to, message.clients);
  return to.take();
}
std::string encoded(const Unmasking& message) {
  Writer to;
  to.number(message.client);
  to.list(message.shares, [&](const Unmasking::Opened& one) {
    to.number(one.owner).number(static_cast<std::uint8_t>(one.of_seed ? 1 : 0)).raw(one.value.bytes);
  });
  return to.take();
}

template <class Message>
Message decode(std::string_view bytes) {
  Reader from(bytes);
  Message message;
  read(from, message);
  from.end();
  return message;
}
template Invitation decode<Invitation>(std::string_view);
template Advert decode<Advert>(std::string_view);
template Roster decode<Roster>(std::string_view);
template Shares decode<Shares>(std::string_view);
template Delivery decode<Delivery>(std::string_view);
template Masked decode<Masked>(std::string_view);
template Survivors decode<Survivors>(std::string_view);
template Agreement decode<Agreement>(std::string_view);
template Agreements decode<Agreements>(std::string_view);
template Unmasking decode<Unmasking>(std::string_view);

std::string advert_text(const Advert& advert) {
  const std::string all = encoded(advert);
  return "fedstride secagg 1 keys " + all.substr(0, all.size() - advert.signature.size());
}

std::string masked_text(const Bytes32& roster, const Bytes32& sharers) {
  return Writer().raw(roster).raw(sharers).take().insert(0, "fedstride secagg 1 masked ");
}

std::string agreement_text(const Bytes32& roster, const Bytes32& sharers, const Bytes32& survivors) {
  return Writer().raw(roster).raw(sharers).raw(survivors).take().insert(0, "fedstride secagg 1 survivors ");
}

Bytes32 hash_of(const Roster& roster) { return Hash().text(encoded(roster)).digest(); }

Bytes32 hash_of(std::span<const ClientId> clients) { return Hash().values(clients).digest(); }

Bytes32 commitment_to(const Secret& seed, const Bytes32& mask_key) {
  return Hash().text("fedstride secagg 1 seed ").text(text_of(seed.bytes)).text(text_of(mask_key)).digest();
}

Secret pair_mask_key(const Secret& shared, const Bytes32& roster, ClientId one, ClientId other) {
  return derived(shared, text_of(roster),
                 Writer().number(std::min(one, other)).number(std::max(one, other)).take().insert(0, "fedstride secagg 1 pair "));
}

Secret own_mask_key(const Secret& seed, const Bytes32& roster) {
  return derived(seed, text_of(roster), "fedstride secagg 1 own");
}

Secret box_key(const Secret& shared, const Bytes32& roster, ClientId from, ClientId to) {
  return derived(shared, text_of(roster), Writer().number(from).number(to).take().insert(0, "fedstride secagg 1 box "));
}

Bytes32 Session::cohort_hash() const {
  Hash hash;
  for (const Member& member : cohort) hash.value(member.client).text(text_of(member.key));
  return hash.digest();
}

Bytes32 Session::settings_hash() const {
  return Hash().value(plan.degree).value(plan.threshold).value(plan.minimum).value(length).value(bits).text(settings).digest();
}

bool Session::is_signed(ClientId client, std::string_view message, const Signature& signature) const {
  const Bytes32& key = find(client)->key;
  return verified ? verified->verifies(key, message, signature) : verifies(key, message, signature);
}

const Member* Session::find(ClientId client) const {
  const auto found = std::ranges::lower_bound(cohort, client, {}, &Member::client);
  return found != cohort.end() && found->client == client ? &*found : nullptr;
}

}  // namespace fedstride::secagg
