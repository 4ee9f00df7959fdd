"""examples/secure_sum.py: a client in another language binds what its coordinator says of a cohort, as fedstride's own clients do."""
import sys

import pytest

from conftest import SOURCE

pytest.importorskip("cryptography")
from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: E402

sys.path.insert(0, str(SOURCE / "examples"))
sys.dont_write_bytecode = True
import secure_sum  # noqa: E402


def invited(settings, planned, clients):
    """The advert of client 0, or a Refusal, when these clients are listed and so many are said to have been drawn."""
    client = object.__new__(secure_sum.SecureSum)
    client.client, client.settings, client.round, client.model = 0, settings, 1, bytes(32)
    client.grid, client.bits, client.values = b"0 1", 128, [0]
    client.signing = ed25519.Ed25519PrivateKey.generate()
    client.key = client.signing.public_key().public_bytes(*secure_sum.RAW)
    client.check_proof = lambda *anything: None
    members = b"".join(secure_sum.u32(one) + (client.key if one == 0 else bytes([one]) * 32) + secure_sum.text(b"") for one in clients)
    return client.advertise(secure_sum.Reader(secure_sum.u32(planned) + secure_sum.u32(len(clients)) + members))


@pytest.mark.parametrize("settings, planned, clients, says", [
    ({"cohort": "poisson", "clients": 10}, 3, range(10), "lists 10 clients.*3 were drawn"),
    ({"cohort": "all", "clients": 10}, 3, range(10), "3 clients were drawn.*from 10 to 10"),
    ({"cohort": "fixed", "cohort-size": 10, "clients": 20}, 10, range(12), "lists 12 clients.*10 were drawn"),
    ({"cohort": "poisson", "clients": 10}, 11, range(10), "11 clients were drawn.*from 0 to 10"),
    ({"cohort": "poisson", "clients": 10}, 10, [0, 2, 1], "twice, or is not in order")])
def test_what_a_coordinator_says_of_a_cohort_is_bound(settings, planned, clients, says):
    with pytest.raises(secure_sum.Refusal, match=says):
        invited(settings, planned, list(clients))


def test_an_honest_cohort_is_taken_and_a_key_of_small_order_is_not():
    assert len(invited({"cohort": "all", "clients": 10}, 10, list(range(10)))) == 264
    assert invited({"cohort": "poisson", "clients": 20}, 10, list(range(8)))
    with pytest.raises(secure_sum.Unusable, match="small order"):
        secure_sum.exchanged(b"\1" * 32, bytes(32))
