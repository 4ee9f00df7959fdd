#!/usr/bin/env python3
"""A client of a fedstride federation, written from docs/reference/WIRE.md alone: Python's ssl and numpy train softmax regression
('logistic', plain SGD) on its own rows, a table of numbers with the label in the last column.

    client.py roster --client 2 --data rows.csv
        prints the client's line for the coordinator's roster
    client.py join --connect HOST:PORT --client 2 --data rows.csv --bundle client-2.bundle.pem
        takes part; the coordinator: fedstride serve --partition own --roster FILE --accept-other-builds ...

With secure aggregation it needs secure_sum.py next to it and python3-cryptography, and keeps its key in --folder.

A bundle has the client's certificate first, then the authorities, and its key, unless CLIENT.key is next to it.
"""
import argparse
import hashlib
import json
import os
import re
import select
import socket
import ssl
import struct
import sys
import time
import tomllib

import numpy as np

try:
    import secure_sum
except ImportError:  # without python3-cryptography
    secure_sum = None

VERSION = 13
HELLO, WELCOME, READY, MODEL, TRAIN, UPDATE, RECEIVED, HEARTBEAT, REFUSED, FINISHED = range(1, 11)
SECURE, SECURED, MASKED = 13, 14, 15
MAX_BODY = 1 << 28  # more than any message for a model of this kind


class Over(Exception):
    """The coordinator has refused permanently."""


# --- bodies: docs/reference/WIRE.md, "Bodies" ---

def text(value):
    data = value.encode('ascii', 'replace')[:1024]
    return struct.pack('<I', len(data)) + data


class Fields:
    """Reads the fields of a body, in order."""

    def __init__(self, body):
        if body[:1] != b'\1':
            raise ConnectionError('the body is not little-endian')
        self.body, self.at = body, 1

    def bytes(self, size):
        if self.at + size > len(self.body):
            raise ConnectionError('the body ends early')
        self.at += size
        return self.body[self.at - size:self.at]

    def number(self, kind):
        return struct.unpack('<' + kind, self.bytes(struct.calcsize('<' + kind)))[0]

    def text(self):
        return self.bytes(self.number('I')).decode()

    def numbers(self, kind, count='I'):
        size = self.number(count)
        return np.frombuffer(self.bytes(size * np.dtype(kind).itemsize), kind)


# --- the connection: docs/reference/WIRE.md, "Header" ---

class Connection:
    def __init__(self, address, bundle, client):
        host, port = address.rsplit(':', 1)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks the certificate and, below, its name
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        with open(bundle, encoding='ascii') as file:
            pem = file.read()
        authorities = re.findall('-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----', pem, re.S)[1:]
        context.load_verify_locations(cadata='\n'.join(authorities))
        beside = os.path.join(os.path.dirname(bundle), f'client-{client}.key')
        context.load_cert_chain(bundle, bundle if 'PRIVATE KEY' in pem else beside)
        raw = socket.create_connection((host.strip('[]'), int(port)), timeout=10)
        self.socket = context.wrap_socket(raw, server_hostname='coordinator')
        self.beat_every = None
        self.last_beat = time.monotonic()

    def send(self, kind, fields):
        body = b'\1' + fields
        head = b'FSTR' + struct.pack('<HHQ', VERSION, kind, len(body))
        self.socket.settimeout(60)
        self.socket.sendall(head + hashlib.sha256(head + body).digest()[:16] + body)

    def beat(self, examples=0):
        """A heartbeat, if one is due."""
        if self.beat_every and time.monotonic() - self.last_beat > self.beat_every:
            self.last_beat = time.monotonic()
            self.send(HEARTBEAT, struct.pack('<Q', examples))

    def receive(self, size):
        data = bytearray()
        silent_since = time.monotonic()
        while len(data) < size:
            self.beat()
            ready = self.socket.pending() or select.select([self.socket], [], [], 0.05)[0]
            if not ready:
                if time.monotonic() - silent_since > 4 * (self.beat_every or 5) + 5:
                    raise ConnectionError('the coordinator is silent')
                continue
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise ConnectionError('the coordinator closed the connection')
            data += piece
            silent_since = time.monotonic()
        return bytes(data)

    def next(self):
        header = self.receive(32)
        magic, version, kind, length = struct.unpack('<4sHHQ', header[:16])
        if magic != b'FSTR' or version != VERSION or length > MAX_BODY:
            raise ConnectionError(f'the frame is of another protocol: {header[:16].hex()}')
        body = self.receive(length)
        if hashlib.sha256(header[:16] + body).digest()[:16] != header[16:]:
            raise ConnectionError('the frame is damaged')
        return kind, Fields(body)


# --- the model: docs/reference/WIRE.md, "The model" and "Hashes" ---

def model_hash(tensors):
    data = hashlib.sha256()
    for tensor in tensors:
        raw = tensor.astype('<f4').tobytes()
        data.update(raw + bytes(-len(raw) % 64))
    return data.hexdigest()


def probabilities(weight, bias, inputs):
    scores = inputs @ weight + bias
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


class Client:
    def __init__(self, number, data, folder=None, bundle=None):
        self.number, self.folder, self.bundle = number, folder, bundle
        self.secure = None
        with open(data, 'rb') as file:
            self.data_hash = hashlib.sha256(file.read()).hexdigest()
        table = np.loadtxt(data, delimiter=',', ndmin=2)
        self.raw, self.labels = table[:, :-1].astype(np.float32), table[:, -1].astype(int)
        self.last_round = 0
        self.model = None
        self.answer = None  # (round, hash of the model), the update's bytes
        self.random = np.random.default_rng()

    def roster_line(self):
        return '{"client": %d, "rows": %d, "data": "%s"}' % (self.number, len(self.labels), self.data_hash)

    def hello(self):
        return struct.pack('<I', self.number) + text('client.py') + text('unfused') + struct.pack('<I', 0)

    def welcome(self, fields):
        for _ in range(2):
            fields.text()  # fedstride's build, which this client need not match
        fields.number('I')
        self.settings = tomllib.loads(fields.text())
        fields.text()  # the experiment
        heartbeat = fields.number('I') / 1000
        line = fields.text()
        schema = json.loads(fields.text())
        form, mean, deviation = schema['form'], *(np.array(schema[name], np.float32) for name in ('mean', 'deviation'))
        if line != 'dense classes' or self.settings['optimizer'] != 'sgd' or self.settings.get('dp', 'none') != 'none':
            raise Over('this client supports only the model logistic and the optimizer sgd, without dp')
        table = {'height': 1, 'width': 1, 'channels': self.raw.shape[1]}  # without a header: columns by number
        if form['targets'] != 'classes' or form['shape'] != table or self.labels.max() >= form['outputs']:
            raise Over(f"the experiment has {form['shape']['channels']} columns and {form['outputs']} classes")
        if self.settings.get('secure-aggregation', 'none') != 'none' and not self.secure:
            if secure_sum is None:
                raise Over('the experiment uses secure aggregation, which needs python3-cryptography')
            beside = os.path.join(os.path.dirname(self.bundle), f'client-{self.number}.key')
            self.secure = secure_sum.SecureSum(self.number, self.folder, self.bundle, beside if os.path.exists(beside) else self.bundle)
        self.inputs = (self.raw - mean) / deviation
        self.classes = form['outputs']
        return heartbeat

    def ready(self):
        rows_hash = hashlib.sha256(np.arange(len(self.labels), dtype='<u4').tobytes()).hexdigest()
        return text(self.data_hash) + text(rows_hash) + struct.pack('<QI?I', len(self.labels), self.last_round, False, 0) + (
            text(self.secure.key.hex()) + struct.pack('<Q', len(self.secure.proof)) + self.secure.proof if self.secure else
            text('') + struct.pack('<Q', 0))

    def take_model(self, fields):
        round_number, name = fields.number('I'), fields.text()
        fields.number('I'), fields.numbers('u1', 'Q')  # changes, sent only to clients that hold a model
        values = fields.numbers('<f4', 'Q')
        columns = self.inputs.shape[1]
        if len(values) != (columns + 1) * self.classes:
            raise ConnectionError('the model has another size')
        weight, bias = values[:columns * self.classes].reshape(columns, self.classes), values[columns * self.classes:]
        if model_hash([weight, bias]) != name:
            raise ConnectionError('the model does not have the hash that it names')
        self.model = (round_number, name), weight, bias

    def train(self, fields, beat):
        """The update as bytes; the same bytes if requested again."""
        asked = fields.number('I'), fields.text()
        if self.answer and self.answer[0] == asked:
            return self.answer[1]
        if not self.model or self.model[0] != asked:
            raise ConnectionError('the coordinator asks for training on a model that it has not sent')
        fields.number('B'), fields.number('Q')
        told = fields.numbers('<f8')
        weight, bias = self.model[1].copy(), self.model[2].copy()
        rate, size = np.float32(self.settings['learning-rate']), int(self.settings['batch'])
        rows, examples, steps, loss = len(self.labels), 0, 0, 0.0
        for _ in range(int(self.settings['local-epochs'])):
            order = self.random.permutation(rows)
            for begin in range(0, rows, size):
                batch = order[begin:begin + size]
                inputs, labels = self.inputs[batch], self.labels[batch]
                error = probabilities(weight, bias, inputs)
                loss -= float(np.log(np.maximum(error[np.arange(len(batch)), labels], 1e-30)).mean())
                error[np.arange(len(batch)), labels] -= 1
                weight -= rate / len(batch) * inputs.T @ error
                bias -= rate * error.mean(axis=0)
                examples, steps = examples + len(batch), steps + 1
                beat(0 if self.secure else examples)
        change = np.concatenate([(weight - self.model[1]).ravel(), bias - self.model[2]]).astype('<f4')
        diverged = not np.isfinite(change).all() or np.abs(change).max() >= 2 ** 22
        floats = b'' if diverged else change.tobytes()
        nan = float('nan')
        if self.secure:
            floats, spread = b'', np.concatenate([np.pad(part, (0, -len(part) % 16)) for part in
                                                  ((weight - self.model[1]).ravel(), bias - self.model[2])])
            examples_weight = rows if self.settings.get('weights', 'automatic') in ('automatic', 'examples') else 1
            diverged = diverged or not self.secure.prepare(self.settings, asked, told, spread, examples_weight, examples, steps, loss / steps)
        update = (struct.pack('<I', asked[0]) + text(asked[1]) + struct.pack('<IQQ', self.number, rows, 0 if self.secure else examples) +
                  struct.pack('<ddQQ', *((nan, nan, 0, 0) if self.secure else (loss / steps if np.isfinite(loss) else nan, rate, steps, 0))) + struct.pack('<I', 0) +
                  struct.pack('<QQdddQdQdddQQdB', 0, 0, nan, nan, 0.0, 0, 0.0, 0, 0.0, 0.0, 0.0, 0, 0, 0.0, diverged) + struct.pack('<Q', len(floats) // 4) + floats +
                  struct.pack('<Q', 0))
        accuracy = (probabilities(self.model[1], self.model[2], self.inputs).argmax(axis=1) == self.labels).mean()
        print(f'round {asked[0]}: loss {loss / steps:.4f}, accuracy of the model on these rows {accuracy:.3f}', flush=True)
        self.answer, self.last_round = (asked, update), asked[0]
        return update

    def answer_secure(self, connection, fields):
        number, attempt, stage = (fields.number('I') for _ in range(3))
        try:
            answer = self.secure.answer(number, attempt, stage, fields.bytes(fields.number('Q')))
        except secure_sum.Unusable as reason:
            return print(f'round {number}: {reason}; this client takes no part in this attempt', flush=True)
        except secure_sum.Refusal as reason:
            why = f'round {number}: client {self.number} refuses: {reason}'
            connection.send(REFUSED, text(why) + b'\1')
            raise Over(why) from None
        if answer:
            stage, message = answer
            kind, head = (MASKED, struct.pack('<II', number, attempt)) if stage == 3 else (SECURED, struct.pack('<III', number, attempt, stage))
            connection.send(kind, head + struct.pack('<Q', len(message)) + message)

    def take_part(self, connection):
        connection.send(HELLO, self.hello())
        while True:
            kind, fields = connection.next()
            if kind == WELCOME:
                connection.beat_every = self.welcome(fields) / 2
                connection.send(READY, self.ready())
            elif kind == MODEL:
                self.take_model(fields)
            elif kind == TRAIN:
                connection.send(UPDATE, self.train(fields, connection.beat))
            elif kind == SECURE and self.secure:
                self.answer_secure(connection, fields)
            elif kind == REFUSED:
                reason = fields.text()
                raise Over(reason) if fields.number('B') else ConnectionError(reason)
            elif kind == FINISHED:
                print(f'finished after round {fields.number("I")}, model {fields.text()}', flush=True)
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=['roster', 'join'])
    parser.add_argument('--client', type=int, required=True)
    parser.add_argument('--data', required=True, help='a CSV file of numbers, the label in the last column')
    parser.add_argument('--connect', help='HOST:PORT')
    parser.add_argument('--bundle', help='PEM file: certificate, authorities and optionally the key')
    parser.add_argument('--folder', help='folder for the key and the state of secure aggregation (default: client-K)')
    arguments = parser.parse_args()
    folder = arguments.folder or f'client-{arguments.client}'
    client = Client(arguments.client, arguments.data, folder, arguments.bundle)
    if arguments.what == 'roster':
        print(client.roster_line())
        return
    pause = 0.2
    while True:
        try:
            client.take_part(Connection(arguments.connect, arguments.bundle, arguments.client))
            return
        except Over as reason:
            sys.exit(f'client.py: {reason}')
        except OSError as reason:  # including a broken connection: retried after a growing pause
            print(f'{reason}; trying again', file=sys.stderr, flush=True)
        time.sleep(pause * (0.5 + np.random.random()))
        pause = min(1.6 * pause, 10)


if __name__ == '__main__':
    main()
