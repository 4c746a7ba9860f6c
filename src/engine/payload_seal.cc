#include "engine/payload_seal.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/planted.h"
#include "engine/exit_gate.h"

namespace wq {
namespace {

constexpr size_t at_nonce = 4;
constexpr size_t at_job = at_nonce + seal_nonce_bytes;
constexpr size_t at_data_key = at_job + 8;
constexpr size_t at_data_key_tag = at_data_key + seal_key_bytes;
static_assert(at_data_key_tag + seal_tag_bytes == seal_head_bytes);
// A data key serves one payload, so its nonce need not differ from that of others.
constexpr std::byte data_nonce[seal_nonce_bytes] = {};

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

// The errors of this thread are the host's as well: what we cause, we take away.
class ErrorScope {
 public:
  ErrorScope() { ERR_set_mark(); }
  ~ErrorScope() { ERR_pop_to_mark(); }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
};

// Looked up once: a look-up takes locks and costs more than to seal a key. Lives as long as the
// process; null if this libcrypto has no AES-GCM.
const EVP_CIPHER* aes_256_gcm() {
  static const EVP_CIPHER* const cipher = [] {
    const EVP_CIPHER* const fetched = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
    arm_exit_gate(nullptr);  // libcrypto has said by now what it wants done at exit()
    return fetched;
  }();
  return cipher;
}

Status cipher_failed() {
  return Status(Code::internal, "libcrypto refused AES-256-GCM");
}

Status no_key(std::string message) {
  return Status(Code::no_key, std::move(message));
}

std::string job_text(uint64_t job) {
  return "job " + std::to_string(job);
}

std::vector<std::byte> associated_data(const SealPlace& place) {
  constexpr std::string_view purpose = "wq payload 1";
  std::vector<std::byte> out(purpose.size() + 1 + 4 + 8 + place.queue_name.size());
  std::byte* end = std::copy_n(as_bytes(purpose).data(), purpose.size(), out.data());
  *end++ = static_cast<std::byte>(place.packing);
  store_le<uint32_t>(end, place.plain_bytes);
  store_le<uint64_t>(end + 4, WQ_PLANTED(seal_of_any_job) ? 0 : place.job);
  if (!place.queue_name.empty() && !WQ_PLANTED(seal_of_any_queue)) {
    std::memcpy(end + 12, place.queue_name.data(), place.queue_name.size());
  }
  return out;
}

}  // namespace

void SecretKey::wipe() {
  if (WQ_PLANTED(key_not_wiped)) return;
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

// ---- keyring

Status Keyring::add(KeyId id, Bytes key) {
  if (id == 0) return Status(Code::invalid, "keys: the id of a key is 0");
  if (key.size() != seal_key_bytes) {
    return Status(Code::invalid, "keys: key " + std::to_string(id) + " has " +
                                     std::to_string(key.size()) + " bytes, give 32");
  }
  if (find(id)) return Status(Code::invalid, "keys: key " + std::to_string(id) + " is there twice");
  auto entry = std::make_unique<Entry>();
  entry->id = id;
  std::copy(key.begin(), key.end(), entry->key.bytes().begin());
  keys_.push_back(std::move(entry));
  return {};
}

Status Keyring::make_current(KeyId id) {
  if (id != 0 && !find(id)) {
    return Status(Code::invalid, "current_key: no key " + std::to_string(id) + " was given");
  }
  current_ = id;
  return {};
}

const SecretKey* Keyring::find(KeyId id) const {
  for (const auto& entry : keys_) {
    if (entry->id == id) return &entry->key;
  }
  return nullptr;
}

std::vector<KeyId> Keyring::ids() const {
  std::vector<KeyId> ids;
  for (const auto& entry : keys_) ids.push_back(entry->id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

// ---- the cipher

// One key, one direction, any number of messages.
class GcmCipher {
 public:
  enum class Direction : int { open = 0, seal = 1 };
  GcmCipher(const SecretKey& key, Direction direction)
      : context_(EVP_CIPHER_CTX_new()), direction_(direction) {
    ready_ = context_ && aes_256_gcm() &&
             EVP_CipherInit_ex(context_, aes_256_gcm(), nullptr, raw(key.data()), nullptr,
                               static_cast<int>(direction)) == 1;
  }
  ~GcmCipher() { EVP_CIPHER_CTX_free(context_); }  // wipes the key
  GcmCipher(const GcmCipher&) = delete;
  GcmCipher& operator=(const GcmCipher&) = delete;
  bool ready() const { return ready_; }

  // As many bytes out as in. `tag` is made when sealing, and compared when opening.
  bool run(const std::byte* nonce, Bytes associated, Bytes in, std::byte* out, std::byte* tag) {
    int done = 0;
    unsigned char none[1];
    if (!ready_ || EVP_CipherInit_ex(context_, nullptr, nullptr, nullptr, raw(nonce), -1) != 1 ||
        !update(nullptr, associated) || !update(out, in)) {
      return false;
    }
    const bool opens = direction_ == Direction::open;
    constexpr int tag_bytes = seal_tag_bytes;
    if (opens && EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag) != 1) {
      return false;
    }
    if (EVP_CipherFinal_ex(context_, none, &done) != 1) return opens && WQ_PLANTED(tag_unchecked);
    return opens || EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag) == 1;
  }

 private:
  bool update(std::byte* out, Bytes in) {
    int done = 0;
    return in.empty() || EVP_CipherUpdate(context_, out ? raw(out) : nullptr, &done, raw(in.data()),
                                          static_cast<int>(in.size())) == 1;
  }

  EVP_CIPHER_CTX* context_;
  Direction direction_;
  bool ready_ = false;
};

// ---- sealing

struct PayloadSealer::Draft {
  SecretKey data_key;
  std::array<std::byte, seal_nonce_bytes> nonce{};
  bool bound = false;
};

PayloadSealer::PayloadSealer(const Keyring& keys, const RandomBytes& random)
    : keys_(keys), random_(random) {}
PayloadSealer::~PayloadSealer() {
  const GateStay stay;
  if (!stay.ok()) static_cast<void>(cipher_.release());
}

Status PayloadSealer::start() {
  if (cipher_) return {};
  key_id_ = keys_.current();
  if (key_id_ == 0) {
    return no_key("the payload is to be sealed, and the store was opened without a current key");
  }
  cipher_ = std::make_unique<GcmCipher>(*keys_.find(key_id_), GcmCipher::Direction::seal);
  return cipher_->ready() ? Status() : cipher_failed();
}

Status PayloadSealer::seal(Bytes payload, std::vector<std::byte>& sealed) {
  const GateStay stay;
  WQ_TRY(stay.status());
  const ErrorScope errors;
  WQ_TRY(start());
  Draft& draft = drafts_.emplace_back();
  random_(draft.data_key.bytes());
  random_(draft.nonce);
  if (WQ_PLANTED(nonce_reused)) draft.nonce.fill(std::byte{1});
  sealed.assign(seal_extra_bytes + payload.size(), std::byte{0});
  std::byte* const body = sealed.data() + seal_head_bytes;
  GcmCipher cipher(draft.data_key, GcmCipher::Direction::seal);
  if (!cipher.run(data_nonce, {}, payload, body, body + payload.size())) return cipher_failed();
  // Until it is bound the place of the job's id says which draft this is.
  store_le<uint64_t>(sealed.data() + at_job, drafts_.size() - 1);
  return {};
}

Status PayloadSealer::bind(std::byte* sealed, const SealPlace& place) {
  const GateStay stay;
  WQ_TRY(stay.status());
  const ErrorScope errors;
  const auto index = load_le<uint64_t>(sealed + at_job);
  WQ_CHECK(index < drafts_.size() && !drafts_[index].bound);
  Draft& draft = drafts_[index];
  draft.bound = true;
  const std::vector<std::byte> associated = associated_data(place);
  const Bytes data_key(draft.data_key.data(), seal_key_bytes);
  if (!cipher_->run(draft.nonce.data(), associated, data_key, sealed + at_data_key,
                    sealed + at_data_key_tag)) {
    return cipher_failed();
  }
  draft.data_key.wipe();
  store_le<uint32_t>(sealed, key_id_);
  std::copy(draft.nonce.begin(), draft.nonce.end(), sealed + at_nonce);
  store_le<uint64_t>(sealed + at_job, place.job);
  return {};
}

// ---- opening

KeyId seal_key_id(Bytes sealed) {
  return sealed.size() < seal_extra_bytes ? 0 : load_le<uint32_t>(sealed.data());
}

Status open_payload(const Keyring& keys, Bytes sealed, const SealPlace& place,
                    std::vector<std::byte>& payload) {
  payload.clear();
  const GateStay stay;
  WQ_TRY(stay.status());
  const ErrorScope errors;
  WQ_CHECK(sealed.size() >= seal_extra_bytes);  // a rule of the record, checked by its reader
  const KeyId id = seal_key_id(sealed);
  const SecretKey* key = keys.find(id);
  if (!key) {
    return no_key("the payload of " + job_text(place.job) + " is sealed with key " +
                  std::to_string(id) + ", which the store was not given");
  }
  const auto sealed_for = load_le<uint64_t>(sealed.data() + at_job);
  SealPlace bound = place;
  if (sealed_for == sealed_for_any_job) bound.job = sealed_for;
  if (sealed_for != bound.job && !WQ_PLANTED(seal_of_any_job)) {
    return no_key("the payload of " + job_text(place.job) + " was sealed as that of " +
                  job_text(sealed_for));
  }
  SecretKey data_key;
  std::array<std::byte, seal_tag_bytes> tag;
  const auto open = [&](const SecretKey& with, const std::byte* nonce, Bytes associated, Bytes in,
                        std::byte* out) {
    std::copy_n(in.data() + in.size() - seal_tag_bytes, seal_tag_bytes, tag.begin());
    GcmCipher cipher(with, GcmCipher::Direction::open);
    return cipher.run(nonce, associated, in.first(in.size() - seal_tag_bytes), out, tag.data());
  };
  const Bytes body = sealed.subspan(seal_head_bytes);
  payload.resize(body.size() - seal_tag_bytes);
  if (open(*key, sealed.data() + at_nonce, associated_data(bound),
           sealed.subspan(at_data_key, seal_key_bytes + seal_tag_bytes), data_key.bytes().data()) &&
      open(data_key, data_nonce, {}, body, payload.data())) {
    return {};
  }
  payload.clear();
  return no_key("the payload of " + job_text(place.job) + " does not open with key " +
                std::to_string(id) + ": it is another key, or the payload was altered");
}

}  // namespace wq
