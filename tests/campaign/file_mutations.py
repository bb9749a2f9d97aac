"""Damage to files: to bytes, to the structure of model files and archives, to words of text."""

import io
import json
import math
import random
import struct
import zipfile

import numpy as np

NUMBERS = [0, 1, -1, 2, 3, 7, 255, 2**31 - 1, 2**31, 2**53 + 1, 2**62, 2**63, -(2**63), 10**30]
NUMBERS += [0.5, -0.5, 1e-320, 1e308, -1e308, 10**400]
WORDS = ["", "x", "rbf", "precomputed", "hinge", "squared", "poisson", "multinomial", "logistic"]
WORDS += ["ovo", "ovr", "balanced", "\ud800", "a\0b", "é" * 40, "__class__", "CONVERGED", "text"]
RBF = {"kernel": "RBF", "parameters": {"gamma": 0.5}}
DEEP = RBF
for _ in range(150):
    DEEP = {"kernel": "Sum", "parameters": {"left": DEEP, "right": RBF}}
NODES = [None, True, False, [], {}, [[]], [None], {"a": 1}, [1, 2], ["x"], [0.1, 0.9]]
NODES += [{"loss": "huber", "parameters": [1.0]}, {"loss": "hinge", "parameters": []}, RBF]
NODES += [
    {"tuple": [0.1, 0.9]},
    {"pairs": [["a", 2.0]]},
    {"pairs": [[[], 1]]},
    {"text": ["a", "b"]},
]
NODES += [
    {"kernel": "Sum", "parameters": {"left": RBF, "right": RBF}},
    {"objects": [1, None]},
    DEEP,
]
VALUES = [0.0, -1.0, 1e308, -1e308, 1e-320, math.nan, math.inf, -math.inf, 1e15]
TOKENS = [b"", b"nan", b"1e999", b"-inf", b"x", b'"', b",", b";", b"\t", b":", b"#", b"\n", b"\r"]
TOKENS += [b"\0", b"\xff", b"\xef\xbb\xbf", "é".encode(), b"9" * 400, b"1_0", b"0x1", b"2147483647"]
TOKENS += [
    b"1:",
    b"0:1",
    b"-1:2",
    b"99999999999:1",
    b"1:1",
    b"qid:1",
    b" ",
    b"'",
    b"1e308",
    b"-1e308",
]
TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
}


# ---- bytes ------------------------------------------------------------------------------------


def mutate_bytes(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """Change, cut, repeat or mix bytes in a few places."""
    data = bytearray(content)
    reach = rng.choice([64, 512, len(data)])  # the structure is mostly at the start
    for _ in range(rng.choice([1, 1, 2, 4, 8])):
        at = rng.randrange(min(reach, len(data))) if data else 0
        size = rng.choice([1, 1, 2, 4, 8, 32])
        match rng.randrange(8):
            case 0 | 1:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 2:
                data[at : at + 1] = bytes([(data[at] ^ 1 << rng.randrange(8)) if data else 0])
            case 3:
                del data[at : at + size]
            case 4:
                data[at:at] = bytes(rng.randrange(256) for _ in range(size))
            case 5:
                data[at : at + 8] = struct.pack(
                    rng.choice(["<q", ">q"]), rng.choice([0, -1, 2**31, 2**62])
                )
            case 6:
                other = rng.choice(others)
                start = rng.randrange(len(other))
                data[at : at + size] = other[start : start + size]
            case 7:
                del data[rng.randrange(len(data) + 1) :]
    return bytes(data)


def mutate_text(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """Replace, insert, repeat or drop words and lines."""
    lines = content.split(b"\n")
    for _ in range(rng.choice([1, 1, 2, 3])):
        k = rng.randrange(len(lines))
        line = lines[k]
        match rng.randrange(6):
            case 0:
                del lines[k]
            case 1:
                lines.insert(rng.randrange(len(lines)), line)
            case 2:
                lines[k] = rng.choice(rng.choice(others).split(b"\n"))
            case 3:
                at = rng.randrange(len(line) + 1)
                lines[k] = line[:at] + rng.choice(TOKENS) + line[at:]
            case _:
                mark = rng.choice([b",", b" ", b"\t", b":"])
                words = line.split(mark)
                words[rng.randrange(len(words))] = rng.choice(TOKENS)
                lines[k] = mark.join(words)
        lines = lines or [b""]
    return b"\n".join(lines)


# ---- model files --------------------------------------------------------------------------------


def parse_model(content: bytes):
    """Header and arrays, as [type, shape, bytes], of a model file."""
    size = struct.unpack("<Q", content[:8])[0]
    outer = json.loads(content[8 : 8 + size])
    header = json.loads(outer.pop("__metadata__")["resolvent"])
    body = content[8 + size :]
    arrays = {
        name: [entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])]]
        for name, entry in outer.items()
    }
    return header, arrays


def write_model(header, arrays) -> bytes:
    """Write a model file of any header and any arrays, also of ones that do not fit."""
    outer, body = {"__metadata__": {"resolvent": json.dumps(header)}}, b""
    for name, (dtype, shape, data) in arrays.items():
        offsets = [len(body), len(body) + len(data)]
        outer[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        body += data
    text = json.dumps(outer).encode()
    return struct.pack("<Q", len(text)) + text + body


def mutate_model(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """Edit the header and the arrays of a model file, which stays one of the format."""
    header, arrays = parse_model(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.6 or not arrays:
            mutate_tree(rng, header, parse_model(rng.choice(others))[0])
        else:
            _mutate_arrays(rng, arrays, others)
    return write_model(header, arrays)


def mutate_tree(rng: random.Random, tree, donor) -> None:
    """Delete, replace, wrap or exchange a node of a JSON tree."""
    nodes = [(tree, key) for key in tree]
    for parent, key in nodes:  # grows as it goes: all nodes below
        child = parent[key]
        if isinstance(child, dict | list):
            nodes += [(child, k) for k in (child if isinstance(child, dict) else range(len(child)))]
    if not nodes:
        return
    parent, key = rng.choice(nodes)
    match rng.randrange(9):
        case 0 | 1:
            del parent[key]
        case 2 | 3:
            parent[key] = rng.choice(NUMBERS)
        case 4:
            parent[key] = rng.choice(WORDS)
        case 5:
            parent[key] = json.loads(json.dumps(rng.choice(NODES)))
        case 6:
            parent[key] = rng.choice([[parent[key]], {"a": parent[key]}, {"tuple": [parent[key]]}])
        case 7:
            other, name = rng.choice(nodes)
            parent[key] = json.loads(json.dumps(other[name]))
        case 8:
            name = rng.choice(list(donor))
            tree[name] = donor[name]


@np.errstate(all="ignore")
def _mutate_arrays(rng: random.Random, arrays, others) -> None:
    name = rng.choice(list(arrays))
    dtype, shape, data = arrays[name]
    values = np.frombuffer(data, TYPES.get(dtype, "u1"))
    if math.prod(shape) == values.size and min(shape, default=0) >= 0:  # not so after case 7
        values = values.reshape(shape)
    match rng.randrange(9):
        case 0:
            del arrays[name]
            return
        case 1:
            arrays[rng.choice(["rows", "support", "coef", "classes", "table.fill", name + "x"])] = (
                arrays.pop(name)
            )
            return
        case 2:
            donor = parse_model(rng.choice(others))[1]
            other = rng.choice(list(donor))
            arrays[rng.choice([name, other])] = donor[other]
            return
        case 3:
            values = values[: rng.randrange(len(values) + 1)] if values.ndim else values
        case 4:
            values = np.repeat(values, 2, axis=0) if values.ndim else values
        case 5:
            values = rng.choice([values.T, values.ravel(), values[..., None], values.ravel()[:0]])
        case 6:
            values = values.astype(rng.choice(list(TYPES.values())))
        case 7:
            arrays[name] = [
                dtype,
                rng.choice([[], [0], [-1], [2**62], [2**32, 2**32], shape[:1]]),
                data,
            ]
            return
        case 8:
            values = values.copy()
            with np.errstate(all="ignore"):
                new = np.array(rng.choice(VALUES)).astype(values.dtype)
                values.reshape(-1)[rng.randrange(values.size + 1) :: rng.choice([1, 7, 10**6])] = (
                    new
                )
    kind = next((k for k, v in TYPES.items() if np.dtype(v) == values.dtype), dtype)
    arrays[name] = [kind, list(values.shape), values.tobytes()]


# ---- archives -----------------------------------------------------------------------------------


def mutate_npz(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """Change the arrays inside an archive, whose checksums are then right again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice(list(members))
        member = members[name]
        match rng.randrange(5):
            case 0:
                del members[name]
            case 1:
                members[rng.choice(["X.npy", "y.npy", "X", "../X.npy"])] = member
            case 2 | 3:
                members[name] = mutate_bytes(rng, member, others)
            case 4:
                shape = rng.choice(
                    ["()", "(0,)", "(2, 2**40)", "(-1, 3)", "(5,)", "(3, 5)", "(99**9,)"]
                )
                dtype = rng.choice(["<f8", "|O", "<U1", "<M8[s]", "<c16", "|V8", "<f4", "|b1", "x"])
                head = (
                    f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
                )
                members[name] = (
                    b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + member[-120:]
                )
        if not members:
            break
    buffer = io.BytesIO()
    with zipfile.ZipFile(
        buffer, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    ) as new:
        for name, member in members.items():
            new.writestr(name, member)
    return buffer.getvalue()
