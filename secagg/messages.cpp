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
  void flag(bool value) { number(static_cast<std::uint8_t>(value ? 1 : 0)); }
  void text(std::string_view text, std::size_t /*most*/) {
    number(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
  }
  void ring(const Ring& input) {
    number(static_cast<std::uint8_t>(input.bits())).number(static_cast<std::uint64_t>(input.size())).raw(input.bytes());
  }
  void list(auto& list, std::size_t /*least*/, const auto& code) {
    number(static_cast<std::uint32_t>(list.size()));
    for (auto& one : list) code(one);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  requires std::is_integral_v<T> Reader& number(T& value) {
    std::memcpy(&value, cut(sizeof value).data(), sizeof value);
    return *this;
  }
  template <std::size_t kSize>
  Reader& raw(std::array<std::uint8_t, kSize>& out) {
    std::memcpy(out.data(), cut(kSize).data(), kSize);
    return *this;
  }
  void flag(bool& value) {
    std::uint8_t byte = 0;
    number(byte);
    require(byte <= 1);
    value = byte == 1;
  }
  void text(std::string& text, std::size_t most) {
    std::uint32_t size = 0;
    number(size);
    require(size <= most);
    text = cut(size);
  }
  void ring(Ring& input) {
    std::uint8_t bits = 0;
    std::uint64_t length = 0;
    number(bits);
    require(bits == 32 || bits == 64 || bits == 128);
    number(length);
    require(length <= kMaxLength);
    const std::string_view bytes = cut(length * (bits / 8));
    input = Ring(length, bits);
    std::ranges::copy(bytes, input.bytes().begin());
  }
  /// Each of a list's elements has at least `least` bytes.
  void list(auto& list, std::size_t least, const auto& code) {
    std::uint32_t size = 0;
    number(size);
    require(size <= kMaxCohort && size <= bytes_.size() / least);
    list.resize(size);
    for (auto& one : list) code(one);
  }
  void end() const { require(bytes_.empty()); }

 private:
  std::string_view cut(std::size_t size) {
    require(size <= bytes_.size());
    const std::string_view piece = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return piece;
  }
  void require(bool good) const {
    if (!good) throw failure("a message of secure aggregation is damaged");
  }

  std::string_view bytes_;
};

// A message's fields in order, for a Writer and for a Reader.

void code(auto& coder, Advert& one) {
  coder.number(one.client).number(one.round).raw(one.model).raw(one.cohort).raw(one.settings);
  coder.raw(one.share_key).raw(one.mask_key).raw(one.commitment).raw(one.signature);
}
constexpr std::size_t kAdvertSize = 8 + 6 * 32 + 64;

void code(auto& coder, Signed& one) { coder.number(one.client).raw(one.signature); }
void code(auto& coder, std::vector<Signed>& list) {
  coder.list(list, 68, [&](Signed& one) { code(coder, one); });
}
void code(auto& coder, std::vector<Shares::Sealed>& boxes) {
  coder.list(boxes, 8, [&](Shares::Sealed& one) { coder.number(one.client).text(one.box, kMaxBox); });
}
void code(auto& coder, Invitation& message) {
  coder.number(message.planned);
  coder.list(message.members, 40,
             [&](Invitation::Invited& one) { coder.number(one.member.client).raw(one.member.key).text(one.proof, kMaxProof); });
}
void code(auto& coder, Roster& roster) {
  coder.list(roster.adverts, kAdvertSize, [&](Advert& one) { code(coder, one); });
}
void code(auto& coder, Shares& message) { code(coder.number(message.client), message.boxes); }
void code(auto& coder, Delivery& message) {
  coder.list(message.sharers, 4, [&](ClientId& one) { coder.number(one); });
  code(coder, message.boxes);
}
void code(auto& coder, Masked& message) { coder.number(message.client).raw(message.signature).ring(message.input); }
void code(auto& coder, Survivors& message) { code(coder, message.clients); }
void code(auto& coder, Agreements& message) { code(coder, message.clients); }
void code(auto& coder, Unmasking& message) {
  coder.number(message.client);
  coder.list(message.shares, 37, [&](Unmasking::Opened& one) {
    coder.number(one.owner).flag(one.of_seed);
    coder.raw(one.value.bytes);
  });
}

}  // namespace

template <class Message>
std::string encoded(const Message& message) {
  Writer to;
  code(to, const_cast<Message&>(message));  // one function for both directions
  return to.take();
}

template <class Message>
Message decode(std::string_view bytes) {
  Reader from(bytes);
  Message message;
  code(from, message);
  from.end();
  return message;
}

#define FEDSTRIDE_SECAGG_MESSAGE(Message)       \
  template std::string encoded(const Message&); \
  template Message decode(std::string_view)
FEDSTRIDE_SECAGG_MESSAGE(Invitation);
FEDSTRIDE_SECAGG_MESSAGE(Advert);
FEDSTRIDE_SECAGG_MESSAGE(Roster);
FEDSTRIDE_SECAGG_MESSAGE(Shares);
FEDSTRIDE_SECAGG_MESSAGE(Delivery);
FEDSTRIDE_SECAGG_MESSAGE(Masked);
FEDSTRIDE_SECAGG_MESSAGE(Survivors);
FEDSTRIDE_SECAGG_MESSAGE(Agreement);
FEDSTRIDE_SECAGG_MESSAGE(Agreements);
FEDSTRIDE_SECAGG_MESSAGE(Unmasking);
#undef FEDSTRIDE_SECAGG_MESSAGE

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
