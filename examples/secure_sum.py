#!/usr/bin/env python3
"""A client's side of secure aggregation, written from docs/reference/WIRE.md and docs/secure-aggregation.md alone; client.py imports it.
Needs python3-cryptography."""
import hashlib
import hmac
import math
import os
import re
import secrets
import struct
import sys
from fractions import Fraction

import numpy as np
from cryptography import x509
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, x25519
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

RAW = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
NAME = b'fedstride secagg 1 '


class Refusal(Exception):
    """This client refuses to go on, for the given reason."""


class Unusable(Refusal):
    """Another client's keys cannot be used, so this client leaves the attempt."""


def require(good, what):
    if not good:
        raise Refusal(what)


def sha(*parts):
    return hashlib.sha256(b''.join(parts)).digest()


def u32(number):
    return struct.pack('<I', number)


def text(data):
    return u32(len(data)) + data


def derived(secret, salt, info):
    """HKDF-SHA256, 32 bytes."""
    return hmac.digest(hmac.digest(salt, secret, 'sha256'), info + b'\1', 'sha256')


def exchanged(secret, public):
    try:
        return x25519.X25519PrivateKey.from_private_bytes(secret).exchange(x25519.X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise Unusable('a key has small order, so every secret shared with it is known') from None


def public_of(secret):
    return x25519.X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes(*RAW)


def verifies(key, message, signature):
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        return True
    except InvalidSignature:
        return False


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def raw(self, size):
        require(self.at + size <= len(self.data), 'a message of secure aggregation ends early')
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self):
        return struct.unpack('<I', self.raw(4))[0]

    def list(self, *kinds):
        """Elements of numbers ('I'), texts ('T') and raw bytes (their size), ascending by their first number."""
        result = [tuple(self.number() if kind == 'I' else self.raw(self.number() if kind == 'T' else kind) for kind in kinds)
                  for _ in range(self.number())]
        require(all(a[0] < b[0] for a, b in zip(result, result[1:])), 'a list names a client twice, or is not in order')
        return result


# --- the plan: docs/secure-aggregation.md, secagg/plan.hpp ---

def log2_choose(n, k):
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def tail(population, marked, drawn, least):
    """log2 of the probability that at least this many of those drawn are marked."""
    lowest = max(0, drawn - (population - marked))
    if least <= lowest:
        return 0.0
    terms = [log2_choose(marked, hits) + log2_choose(population - marked, drawn - hits) - log2_choose(population, drawn)
             for hits in range(least, min(marked, drawn) + 1)]
    return min(0.0, math.log2(sum(2 ** term for term in terms))) if terms and max(terms) > -1000 else -math.inf


def plan(clients, dropouts, colluders, degree):
    """Degree, threshold and minimum number of clients, such that both failure probabilities are below 2^-40."""
    def any_of(log2):
        return min(0.0, math.log2(clients) + log2)

    def privacy(k, t):
        if k + 1 >= clients:
            return -math.inf if 2 * t > clients + colluders else 0
        if 2 * t <= k + 1:
            return 0
        roster = max(clients - dropouts, k + 1)
        both = any_of(tail(roster - 1, colluders, k, 2 * t - k - 1))
        row, removed = 0.0, colluders + dropouts
        for i in range(k // 2):
            row = row + math.log2((removed - i) / (clients - i)) if removed > i else -math.inf
        return max(both, any_of(row)) + 1 if max(both, any_of(row)) > -math.inf else -math.inf

    def completion(k, t):
        if k + 1 >= clients:
            return -math.inf if clients - dropouts >= t else 0
        return 0 if t > k else any_of(tail(clients - 1, dropouts, k, k - t + 1))

    most = min(clients - 1, 254)
    for k in [min(degree, most)] if degree else [*range(2, most, 2), most]:
        t = (k + 1) // 2 + 1
        while t <= k and privacy(k, t) > -40:
            t += 1
        if privacy(k, t) <= -40 and completion(k, t) <= -40:
            return k, t, max((clients + colluders) // 2 + 1, clients - dropouts)
    raise Refusal(f'no degree is secure enough for {clients} clients')


def plan_of(clients, settings):
    """The plan of these settings; automatic shares are halved where no degree is secure enough."""
    given = [settings.get(name, 'auto') for name in ('secure-dropouts', 'secure-colluders')]
    for part in (1, 0.5):
        shares = [part * usual if value == 'auto' else value for value, usual in zip(given, (0.2, 0.1))]
        try:
            return plan(clients, *(int(share * clients) for share in shares), settings.get('secure-degree', 0))
        except Refusal:
            if part == 0.5 or 'auto' not in given or clients <= 255:
                raise


# --- Shamir's sharing over GF(2^8) ---

def product(a, b):
    result = 0
    while b:
        if b & 1:
            result ^= a
        a, b = a << 1 ^ (0x11b if a & 0x80 else 0), b >> 1
    return result


def split(secret, threshold, count):
    coefficients = [secrets.token_bytes(32) for _ in range(threshold - 1)]
    shares = []
    for point in range(1, count + 1):
        share = bytes(32)
        for coefficient in reversed(coefficients):
            share = bytes(product(a ^ b, point) for a, b in zip(share, coefficient))
        shares.append(bytes(a ^ b for a, b in zip(share, secret)))
    return shares


class SecureSum:
    """A client's state across rounds and in the current one. `folder` keeps its key and the last list that it sent shares for."""

    def __init__(self, client, folder, bundle, key_file):
        self.client, self.folder, self.attempt = client, folder, None
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, 'signing.key')
        if not os.path.exists(path):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'wb') as file:
                file.write(secrets.token_bytes(32))
        with open(path, 'rb') as file:
            self.signing = ed25519.Ed25519PrivateKey.from_private_bytes(file.read())
        self.key = self.signing.public_key().public_bytes(*RAW)
        with open(bundle, 'rb') as file:
            pem = re.findall(b'-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----', file.read(), re.S)
        certificates = [x509.load_pem_x509_certificate(one) for one in pem]
        with open(key_file, 'rb') as file:
            own = serialization.load_pem_private_key(file.read(), None)
        self.authorities = certificates[1:]
        self.proof = (text(certificates[0].public_bytes(serialization.Encoding.DER)) +
                      text(own.sign(self.identity(client, self.key), ec.ECDSA(hashes.SHA256()))))

    @staticmethod
    def identity(client, key):
        return NAME + b'identity client-%d ' % client + key

    def check_proof(self, client, key, proof):
        """Checks that the key is signed by the certificate, and that an authority issued the certificate to that client."""
        reader = Reader(proof)
        certificate = x509.load_der_x509_certificate(reader.raw(reader.number()))
        name = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value
        require(name == f'client-{client}', f'the signing key of client {client} comes with the certificate of {name!r}')
        signature, digest = reader.raw(reader.number()), ec.ECDSA(hashes.SHA256())
        for authority in self.authorities:
            try:
                authority.public_key().verify(certificate.signature, certificate.tbs_certificate_bytes, digest)
                certificate.public_key().verify(signature, self.identity(client, key), digest)
                return
            except InvalidSignature:
                pass
        raise Refusal(f'the signing key of client {client} is not certified by any authority in the bundle')

    # --- the input ---

    def prepare(self, settings, asked, told, change, weight, examples, steps, loss):
        """Encodes the input to this round's sum; `change` is laid out as in model_hash. False if beyond the grid's limit."""
        self.round, self.settings = asked[0], settings
        self.model = sha(asked[1].encode(), np.asarray(told, '<f8').tobytes())
        grid = settings.get('secure-grid', '')
        limit, step, self.bits = (0.0, 2.0 ** -40, 128)
        if grid:
            limit, step, self.bits = grid.split(',')
            limit, self.bits = float(limit), int(self.bits)
            step = 2.0 ** int(step[2:]) if step.startswith('2^') else float(step)
        number = lambda value: repr(value).removesuffix('.0')
        self.grid = f'{number(limit)} {number(step)}'.encode()
        if limit and np.abs(change).max() > limit:
            return False
        scaled = change.astype(float) / step
        units = np.floor(scaled + np.random.random(len(scaled))) if limit else np.rint(scaled)
        modulus, half = 1 << self.bits, self.bits // 2
        values = [int(unit) * weight % modulus for unit in units]
        totals = [0, 0, int(Fraction(loss * examples) * 2 ** 1127)]
        if settings.get('server-optimizer', 'average') in ('fedexp', 'restore'):
            totals.append(int(Fraction(weight * float(np.square(change.astype(float)).sum())) * 2 ** 1127))
        for whole, bits in [(total, 2304) for total in totals] + [(count, 64) for count in (weight, examples, steps, 0, 0, 0, examples)]:
            values += [whole >> at & ((1 << half) - 1) for at in range(0, bits, half)]
        self.values, self.attempt = values, None
        return True

    def add_mask(self, values, key, sign):
        size = self.bits // 8
        stream = Cipher(ChaCha20(key, bytes(16)), None).encryptor().update(bytes(size * len(values)))
        for i in range(len(values)):
            values[i] = (values[i] + sign * int.from_bytes(stream[size * i:size * i + size], 'little')) % (1 << self.bits)

    def sign(self, name, *parts):
        return self.signing.sign(NAME + name + b''.join(parts))

    # --- the stages ---

    def answer(self, round_number, attempt, stage, message):
        """Returns the answer's stage and message; None for another round or attempt."""
        if not hasattr(self, 'round') or round_number != self.round or (stage != 0 and attempt != self.attempt):
            return None
        if stage == 0:
            self.attempt = attempt
        require(stage == 0 or stage == self.stage, 'a step of this attempt is requested twice or out of order')
        self.stage = None
        result = [self.advertise, self.share, self.mask, self.agree, self.open][stage](Reader(message))
        self.stage = stage + 1
        return stage + 1, result

    def advertise(self, reader):
        settings, planned = self.settings, reader.number()
        clients, cohort = settings.get('clients', planned), settings.get('cohort', 'all')
        sized = cohort in ('fixed', 'by-size', 'round-robin')
        most = settings.get('cohort-size', 10) if sized else clients
        least = most if sized or cohort == 'all' else 0  # fedstride's own clients check tighter bounds
        require(least <= planned <= most, f'the coordinator says that {planned} clients were drawn; it must be from {least} to {most}')
        self.degree, self.threshold, self.minimum = plan_of(planned, settings)
        members = reader.list('I', 32, 'T')
        require(len(members) <= planned, f'the cohort lists {len(members)} clients; the coordinator says that {planned} were drawn')
        for client, key, proof in members:
            if client != self.client:
                self.check_proof(client, key, proof)
        self.cohort = {client: key for client, key, _ in members}
        require(self.cohort.get(self.client) == self.key, 'the cohort does not list it with its key')
        self.seed, self.share_secret, self.mask_secret = (secrets.token_bytes(32) for _ in range(3))
        self.common = (u32(self.round) + self.model + sha(*(u32(client) + key for client, key, _ in members)) +
                       sha(struct.pack('<IIIQI', self.degree, self.threshold, self.minimum, len(self.values), self.bits), self.grid))
        mask_key = public_of(self.mask_secret)
        advert = u32(self.client) + self.common + public_of(self.share_secret) + mask_key + sha(NAME + b'seed ', self.seed, mask_key)
        self.advert = advert + self.sign(b'keys ', advert)
        return self.advert

    def share(self, reader):
        self.roster = sha(reader.data)
        self.adverts = {}
        for client, *rest in reader.list('I', 100, 32, 32, 32, 64):
            common, share_key, mask_key, commitment, signature = rest
            require(client in self.cohort, f'client {client} sent keys, but is not in the cohort')
            require(common == self.common, f'client {client} received another round, model, cohort or settings')
            signed = u32(client) + common + share_key + mask_key + commitment
            require(verifies(self.cohort[client], NAME + b'keys ' + signed, signature), f'the keys of client {client} are not signed with its key')
            require(client != self.client or signed + signature == self.advert, 'the list of keys does not contain its own keys')
            self.adverts[client] = share_key, mask_key
        clients = sorted(self.adverts)
        require(self.client in self.adverts, 'the list of keys does not contain its own keys')
        require(len(clients) >= self.minimum, f'only {len(clients)} clients sent keys; {self.minimum} are needed')
        self.holders = clients
        if self.degree + 1 < len(clients):
            order = sorted(clients, key=lambda one: sha(self.roster, u32(one)))
            at = order.index(self.client)
            self.holders = sorted(order[(at + step) % len(order)] for step in range(-(self.degree // 2), self.degree // 2 + 1))
        of_seed, of_mask = (split(secret, self.threshold, len(self.holders)) for secret in (self.seed, self.mask_secret))
        self.held, self.shared, boxes = {}, {}, []
        for holder, seed_share, mask_share in zip(self.holders, of_seed, of_mask):
            if holder == self.client:
                self.held[holder] = seed_share, mask_share
                continue
            self.shared[holder] = exchanged(self.share_secret, self.adverts[holder][0])
            box = ChaCha20Poly1305(self.box_key(self.client, holder)).encrypt(bytes(12), seed_share + mask_share, None)
            boxes.append(u32(holder) + text(box))
        return u32(self.client) + u32(len(boxes)) + b''.join(boxes)

    def box_key(self, sender, receiver):
        return derived(self.shared[receiver if sender == self.client else sender], self.roster, NAME + b'box ' + u32(sender) + u32(receiver))

    def mask(self, reader):
        self.sharers = [client for client, in reader.list('I')]
        require(self.client in self.sharers and set(self.sharers) <= set(self.adverts), 'the list of sharers leaves it out or has an unknown client')
        require(len(self.sharers) >= self.minimum, f'only {len(self.sharers)} clients sent shares; {self.minimum} are needed')
        unopened = []  # neighbors whose shares it does not hold, but with which it masks
        for client, box in reader.list('I', 'T'):
            require(client in self.shared and client in self.sharers, f'there is a box from client {client}, which is not a sharing neighbor')
            try:
                plain = ChaCha20Poly1305(self.box_key(client, self.client)).decrypt(bytes(12), box, None)
                self.held[client] = plain[:32], plain[32:]
            except InvalidTag:
                unopened.append(client)
                print(f'round {self.round}: the shares of client {client} cannot be decrypted', flush=True)
        sharing = [holder for holder in self.holders if holder in self.sharers]
        held = [holder for holder in sharing if holder in self.held]
        require(len(held) + len(unopened) == len(sharing), 'shares of a neighbor are missing')
        require(len(held) >= self.threshold, f'only {len(held)} of its neighborhood sent usable shares; {self.threshold} are needed')
        values = list(self.values)
        for other in sharing:
            if other != self.client:
                low, high = sorted((self.client, other))
                secret = exchanged(self.mask_secret, self.adverts[other][1])
                self.add_mask(values, derived(secret, self.roster, NAME + b'pair ' + u32(low) + u32(high)), 1 if self.client < other else -1)
        self.add_mask(values, derived(self.seed, self.roster, NAME + b'own'), 1)
        self.sharers_hash = sha(*map(u32, self.sharers))
        return (u32(self.client) + self.sign(b'masked ', self.roster, self.sharers_hash) + struct.pack('<BQ', self.bits, len(values)) +
                b''.join(value.to_bytes(self.bits // 8, 'little') for value in values))

    def check_signed(self, clients, among, message, what):
        require(len(clients) >= self.minimum, f'only {len(clients)} {what}; {self.minimum} are needed')
        for client, signature in clients:
            require(client in among, f'client {client} is listed, but may not be')
            require(verifies(self.cohort[client], message, signature), f'client {client} signed something else')

    def agree(self, reader):
        signed = reader.list('I', 64)
        self.check_signed(signed, self.sharers, NAME + b'masked ' + self.roster + self.sharers_hash, 'clients survived')
        self.survivors = [client for client, _ in signed]
        require(self.client in self.survivors, 'the list of survivors leaves it out, although it sent its input')
        self.list_hash = sha(*map(u32, self.survivors))
        return u32(self.client) + self.sign(b'survivors ', self.roster, self.sharers_hash, self.list_hash)

    def open(self, reader):
        path = os.path.join(self.folder, 'survivors')
        if os.path.exists(path):
            with open(path, encoding='ascii') as file:
                kept, kept_list = file.read().split()
            require(int(kept) <= self.round, f'it has already given shares in round {kept}')
            require(int(kept) < self.round or kept_list == self.list_hash.hex(), 'it has given shares in this round for another list of survivors')
        message = NAME + b'survivors ' + self.roster + self.sharers_hash + self.list_hash
        self.check_signed(reader.list('I', 64), self.survivors, message, 'clients signed')
        with open(path + '.new', 'w', encoding='ascii') as file:  # must be on disk before the shares are sent
            file.write(f'{self.round} {self.list_hash.hex()}')
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + '.new', path)
        shares = [u32(owner) + (b'\1' + self.held[owner][0] if owner in self.survivors else b'\0' + self.held[owner][1])
                  for owner in sorted(self.held) if owner in self.sharers]
        return u32(self.client) + u32(len(shares)) + b''.join(shares)


if __name__ == '__main__':
    sys.exit('secure_sum.py is a part of client.py, which starts it')
