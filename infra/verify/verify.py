#!/usr/bin/env python3
"""Verifies anchored market data by recomputing every step; needs Python 3.9 or newer and nothing else.

usage: verify PROOF.json... [--rpc URL]
       verify DAY.json FILE... [--rpc URL]

PROOF.json  an answer of GET /v2/anchors/proof: one row and its path to the root of its day
DAY.json    an answer of GET /v2/anchors/{day}, followed by all final archive files of one table
            (Parquet, csv.zst, jsonl.zst, csv or jsonl)
--rpc URL   a node of the chain that the answer names; without it only the offline steps are checked

Exit code: 0 everything holds, 1 a step fails, 2 an argument is wrong, a file cannot be opened, or is no answer at all.
"""
import datetime
import hashlib
import http.client
import json
import re
import signal
import sys
import urllib.request

try:
    from compression import zstd as zstd_library  # Python 3.14 and newer
except ImportError:
    zstd_library = None

# --- What is published once and for all ---

BASE = 'eip155:8453'
# Any chain may claim the id of Base; its first block tells which it is.
BASE_GENESIS = '0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd'
ROOTS_SELECTOR = '0x081dc681'  # roots(uint32)
ANCHORED_TOPIC = '0xc65c085fad1f04cace9334a961f4b11c9ba3cd3e53ac7e3d686d950cc8c32b42'  # Anchored(uint32,bytes32,uint64)
# SHA-256 of the code of the contract AnchorRoots on the chain.
CODE_SHA256 = '5959dac1874988187ae02094b7078a84f58f1b2e7a9a0704672b4ee7c22c7a1d'

READING = 'window_end window_start status gap_cause received_at venue_ts'
EVENT = 'received_at gap_start status gap_cause venue_ts id'
BANDS = ' '.join(
    f'depth_bid_{band} depth_ask_{band} depth_bid_value_{band} depth_ask_value_{band} levels_bid_{band} levels_ask_{band}'
    for band in ('10bps', '25bps', '50bps', '100bps')
)
CANDLE = 'open_time price_type status gap_cause open high low close volume volume_unit turnover trades received_at'
INSTANTS = {'window_end', 'window_start', 'open_time', 'gap_start', 'received_at', 'venue_ts', 'next_funding_at', 'recorded_at'}
NOT_HASHED = ('recorded_at', 'leaf_index')
INSTANT = re.compile(r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z')


class Table:
    """Columns of an anchored table, the order of the rows of one listing, and the column that decides the day."""

    def __init__(self, name, layer, columns, order):
        self.name, self.layer = name, layer
        self.columns = ['segment', 'symbol', *columns.split(), 'seq', 'late']
        self.order = order.split()
        self.time = self.order[0]


SCHEMA_VERSION = 1
TABLES = {
    table.name: table
    for table in (
        Table('book_bands', 'book_bands', f'{READING} mid {BANDS} quantity_unit', 'window_end seq'),
        Table('candles', 'candles', CANDLE, 'open_time price_type seq'),
        Table('funding', 'funding', f'{READING} funding funding_interval_ms next_funding_at', 'window_end seq'),
        Table('liquidations', 'liquidation', f'{EVENT} side price price_kind quantity quantity_unit', 'received_at id seq'),
        Table('mark', 'mark', f'{READING} mark index', 'window_end seq'),
        Table('open_interest', 'oi', f'{READING} oi oi_unit', 'window_end seq'),
        Table('stats', 'stats', f'{READING} volume_24h volume_unit turnover_24h change_24h', 'window_end seq'),
        Table('ticker', 'ticker', f'{READING} last', 'window_end seq'),
        Table('trades', 'trades', f'{EVENT} side price quantity quantity_unit', 'received_at id seq'),
    )
}

# --- Steps and their report ---


class Refused(Exception):
    """A step does not hold. `expected` is what the answer states, `found` what was computed or read."""

    def __init__(self, reason, expected=None, found=None):
        super().__init__(reason)
        self.expected, self.found = expected, found


class Unusable(Exception):
    """The arguments or a file are not what this program takes."""


class Broken(Exception):
    """Bytes that do not follow their format."""


def shown(value):
    """Control characters and lone surrogates as escapes: nothing in a file can steer the terminal."""
    return re.sub('[\x00-\x1f\x7f-\x9f\ud800-\udfff]', lambda found: f'\\u{ord(found[0]):04x}', str(value))


def say(text):
    print(shown(text))


class Report:
    """Prints a line for each step and records those that fail."""

    def __init__(self):
        self.failed = []
        # Whether the root lies on another chain than Base.
        self.rehearsal = False

    def step(self, name, claim, check):
        try:
            check()
        except (Refused, Broken) as refused:
            self.failed.append(name)
            say(f'FAIL {name}: {claim}')
            say(f'     {refused}')
            for word, value in (('expected', 'expected'), ('found   ', 'found')):
                if getattr(refused, value, None) is not None:
                    say(f'     {word} {getattr(refused, value)}')
            return False
        say(f'ok   {name}: {claim}')
        return True

    def skip(self, name, reason):
        say(f'skip {name}: {reason}')


def require_equal(reason, expected, found):
    if expected != found:
        raise Refused(reason, expected, found)


# --- JSON: members that appear twice and lone surrogates are found; numbers other than whole ones below 2^53 are marked ---


DEEPEST = 100
MOST_WHOLE = 2**53 - 1


class NotWhole:
    """A number that is not a whole number below 2^53."""


class Members(dict):
    """An object of the file; `twice` names a member that appears more than once."""

    twice = None


def to_members(pairs):
    members = Members(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        members.twice = next(name for at, name in enumerate(names) if name in names[:at])
    return members


def to_whole(digits):
    return int(digits) if len(digits) < 18 and abs(int(digits)) < 2**53 else NotWhole()


def refuse_constant(word):
    raise ValueError(word)


def require_depth(value, left):
    """Refuses lists and objects that are nested deeper than any answer."""
    if left < 0:
        raise ValueError('nested too deep')
    if isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            require_depth(item, left - 1)


def parse_json(data):
    """Raises Broken for what is not JSON text in UTF-8."""
    try:
        value = json.loads(
            data.decode('utf-8'),
            object_pairs_hook=to_members,
            parse_int=to_whole,
            parse_float=lambda digits: NotWhole(),
            parse_constant=refuse_constant,
        )
        require_depth(value, DEEPEST)
        return value
    except (ValueError, RecursionError):
        raise Broken('not JSON') from None


def is_well_formed(text):
    return not any('\ud800' <= unit <= '\udfff' for unit in text)


def require_clean(value, place=''):
    """Refuses members that appear twice, and lone surrogates."""
    if isinstance(value, str) and not is_well_formed(value):
        raise Refused(f'{place} has a lone surrogate')
    if isinstance(value, list):
        for at, item in enumerate(value):
            require_clean(item, f'{place}[{at}]')
    if isinstance(value, Members):
        prefix = f'{place}.' if place else ''
        if value.twice is not None:
            raise Refused(f'{prefix}{value.twice} appears twice')
        for name, member in value.items():
            require_clean(name, f'a name in {place or "the answer"}')
            require_clean(member, prefix + name)


def is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# --- Canonical text (RFC 8785) of objects that hold only texts, booleans, null and whole numbers ---

quote = json.JSONEncoder(ensure_ascii=False).encode


def member_order(name):
    return name.encode('utf-16-be', 'surrogatepass')


def canonical_value(value, name):
    if value is None or isinstance(value, bool):
        return {None: 'null', True: 'true', False: 'false'}[value]
    if not isinstance(value, str):
        raise Refused(f'{name} is not a text, a boolean or null')
    if not is_well_formed(value):
        raise Refused(f'{name} has a lone surrogate')
    return quote(value)


def canonical_row(row):
    names = sorted(row, key=member_order)
    return '{' + ','.join(f'{quote(name)}:{canonical_value(row[name], name)}' for name in names) + '}'


def partition_text(day, partition, table, schema_version):
    """Text of a leaf of the day tree; the members below are in canonical order."""
    root, rows = quote(partition['root']), partition['rows']
    return f'{{"day":{quote(day)},"root":{root},"rows":{rows},"schema_version":{schema_version},"table":{quote(table)}}}'


# --- Merkle tree (RFC 6962 section 2.1) and audit path (RFC 9162 section 2.1.3.2) over SHA-256 ---


def hash_leaf(text):
    if not is_well_formed(text):
        raise Refused('the text has a lone surrogate')
    return hashlib.sha256(b'\x00' + text.encode('utf-8')).digest()


def hash_node(left, right):
    return hashlib.sha256(b'\x01' + left + right).digest()


def read_hash(text, name):
    if not re.fullmatch('[0-9a-f]{64}', text):
        raise Refused(f'{name} is not 64 lower-case hex digits (32 bytes)', None, text)
    return bytes.fromhex(text)


def root_from_path(leaf, index, size, path):
    """The root that a leaf and its path lead to, in a tree of `size` leaves."""
    if index >= size:
        raise Refused(f'leaf {index} is not in a tree of {size} leaves')
    place, last, node = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            raise Refused('the path is longer than the tree is high')
        if place % 2 == 1 or place == last:
            node = hash_node(sibling, node)
            while place % 2 == 0 and place != 0:
                place, last = place // 2, last // 2
        else:
            node = hash_node(node, sibling)
        place, last = place // 2, last // 2
    if last != 0:
        raise Refused('the path is shorter than the tree is high')
    return node


class Tree:
    """Grows leaf by leaf; holds one hash for each level."""

    def __init__(self):
        self.complete = []  # (height, hash) of complete subtrees, largest first

    def append(self, leaf):
        height = 0
        while self.complete and self.complete[-1][0] == height:
            leaf = hash_node(self.complete.pop()[1], leaf)
            height += 1
        self.complete.append((height, leaf))

    def root(self):
        nodes = [node for _, node in self.complete]
        while len(nodes) > 1:
            right = nodes.pop()
            nodes[-1] = hash_node(nodes[-1], right)
        return nodes[0].hex()


# --- zstd (RFC 8878), for Python without compression.zstd. No dictionaries; checksums are passed over, for leaves bind rows. ---

LITERAL_BITS = [0] * 16 + [1] * 4 + [2] * 2 + [3] * 2 + [4] + list(range(6, 17))
MATCH_BITS = [0] * 32 + [1] * 4 + [2] * 2 + [3] * 2 + [4] * 2 + [5] + list(range(7, 17))
LITERAL_DEFAULT = [4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4
MATCH_DEFAULT = [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7
OFFSET_DEFAULT = [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5
BLOCK_LIMIT = 128 * 1024
# What zstd itself takes unless it is told otherwise.
WINDOW_LIMIT = 128 * 1024 * 1024


def little(data, at, count):
    if at + count > len(data):
        raise Broken('data ends early')
    return int.from_bytes(data[at : at + count], 'little')


def base_values(first, bits):
    """Smallest value of each code: ranges follow one another."""
    values = [first]
    for width in bits[:-1]:
        values.append(values[-1] + (1 << width))
    return values


LITERAL_BASE, MATCH_BASE = base_values(0, LITERAL_BITS), base_values(3, MATCH_BITS)


class BackwardBits:
    """A bit stream read from its last byte on; bits before its begin read as zero."""

    PAD = 64

    def __init__(self, data):
        if not data or data[-1] == 0:
            raise Broken('a bit stream without its end mark')
        self.data = bytes(self.PAD // 8) + data
        self.at = self.PAD + 8 * (len(data) - 1) + data[-1].bit_length() - 1

    def read(self, count):
        self.at = at = self.at - count
        if at < 0:
            raise Broken('a bit stream ends early')
        return (int.from_bytes(self.data[at >> 3 : (at >> 3) + 5], 'little') >> (at & 7)) & ((1 << count) - 1)

    def left(self):
        return self.at - self.PAD


def read_counts(data, at, longest):
    """Normalised counts of a table description; returns them, their accuracy and the end of the description."""
    bit = at * 8

    def peek(count):
        start = bit >> 3
        return (int.from_bytes(data[start : start + 4], 'little') >> (bit & 7)) & ((1 << count) - 1)

    accuracy = peek(4) + 5
    bit += 4
    if accuracy > longest:
        raise Broken('an FSE table is too large')
    left, counts = 1 << accuracy, []
    while left > 0:
        width = (left + 1).bit_length()
        value, low = peek(width), (1 << (width - 1)) - 1
        threshold = (1 << width) - 2 - left
        if (value & low) < threshold:
            value &= low
            bit += width - 1
        else:
            value -= threshold if value > low else 0
            bit += width
        counts.append(value - 1)
        left -= abs(value - 1)
        while value == 1:
            zeros = peek(2)
            bit += 2
            counts += [0] * zeros
            if zeros < 3:
                break
    end = (bit + 7) >> 3
    if left < 0 or len(counts) > 256 or end > len(data):
        raise Broken('an FSE table description')
    return counts, accuracy, end


def build_table(counts, accuracy):
    """FSE decoding table: of each state its symbol, the bits to read, and the state they are added to."""
    size = 1 << accuracy
    symbols, top = [0] * size, size
    for symbol, count in enumerate(counts):
        if count == -1:
            top -= 1
            symbols[top] = symbol
    place, stride = 0, (size >> 1) + (size >> 3) + 3
    for symbol, count in enumerate(counts):
        for _ in range(count):
            symbols[place] = symbol
            place = (place + stride) % size
            while place >= top:
                place = (place + stride) % size
    following, table = [abs(count) for count in counts], []
    for symbol in symbols:
        state = following[symbol]
        following[symbol] += 1
        width = accuracy + 1 - state.bit_length()
        table.append((symbol, width, (state << width) - size))
    return table, accuracy


def read_weights(data):
    """Huffman weights compressed by FSE: two states take turns until the bits are used up."""
    counts, accuracy, end = read_counts(data, 0, 6)
    table, _ = build_table(counts, accuracy)
    bits = BackwardBits(data[end:])
    states, weights = [bits.read(accuracy), bits.read(accuracy)], []
    while len(weights) < 255:
        turn = len(weights) % 2
        symbol, width, base = table[states[turn]]
        weights.append(symbol)
        if bits.left() < width:
            weights.append(table[states[1 - turn]][0])
            return weights
        states[turn] = base + bits.read(width)
    raise Broken('too many Huffman weights')


def read_huffman(data, at):
    """Huffman table: of each prefix of the longest code its symbol and the bits it uses; and the end of the description."""
    head = little(data, at, 1)
    at += 1
    if head < 128:
        end = at + head
        weights = read_weights(data[at:end])
    else:
        end = at + (head - 126) // 2
        weights = [part for byte in data[at:end] for part in (byte >> 4, byte & 15)][: head - 127]
    total = sum(1 << (weight - 1) for weight in weights if weight)
    longest = total.bit_length()
    rest = (1 << longest) - total
    if not 0 < longest <= 11 or rest & (rest - 1) or end > len(data):
        raise Broken('a Huffman table')
    weights.append(rest.bit_length())
    table = []
    for weight in range(1, longest + 1):
        for symbol, own in enumerate(weights):
            if own == weight:
                table += [(symbol, longest + 1 - weight)] * (1 << (weight - 1))
    return (table, longest), end


def read_huffman_stream(data, huffman, size, out):
    table, longest = huffman
    bits = BackwardBits(data)
    held, at, mask = bits.data, bits.at, (1 << longest) - 1
    for _ in range(size):
        low = at - longest
        if low < 0:
            break
        symbol, used = table[(int.from_bytes(held[low >> 3 : (low >> 3) + 3], 'little') >> (low & 7)) & mask]
        out.append(symbol)
        at -= used
    if at != BackwardBits.PAD:
        raise Broken('a Huffman stream of another length')


class Frame:
    """Decodes the blocks of one frame; tables and offsets go on from block to block."""

    def __init__(self, out):
        self.out, self.begin = out, len(out)
        self.recent = [1, 4, 8]
        self.huffman = None
        self.tables = [None, None, None]

    def read_literals(self, data):
        kind, form = data[0] & 3, data[0] >> 2 & 3
        if kind < 2:
            head = (1, 2, 1, 3)[form]
            size = little(data, 0, head) >> (3 if head == 1 else 4)
            if kind == 1:
                return data[head : head + 1] * size, head + 1
            return data[head : head + size], head + size
        head, width = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
        sizes = little(data, 0, head) >> 4
        size, held = sizes & ((1 << width) - 1), sizes >> width
        at, end = head, head + held
        if kind == 2:
            self.huffman, at = read_huffman(data[:end], at)
        if self.huffman is None or end > len(data) or size > BLOCK_LIMIT:
            raise Broken('literals')
        return self.read_streams(data[at:end], size, form), end

    def read_streams(self, data, size, form):
        out = bytearray()
        if form == 0:
            read_huffman_stream(data, self.huffman, size, out)
            return out
        begin, part = 6, (size + 3) // 4
        for jump in (0, 2, 4):
            length = little(data, jump, 2)
            read_huffman_stream(data[begin : begin + length], self.huffman, part, out)
            begin += length
        read_huffman_stream(data[begin:], self.huffman, size - 3 * part, out)
        return out

    def read_table(self, place, mode, data, at):
        default, accuracy, longest = (
            (LITERAL_DEFAULT, 6, 9),
            (OFFSET_DEFAULT, 5, 8),
            (MATCH_DEFAULT, 6, 9),
        )[place]
        if mode == 0:
            self.tables[place] = build_table(default, accuracy)
        elif mode == 1:
            self.tables[place] = [(little(data, at, 1), 0, 0)], 0
            at += 1
        elif mode == 2:
            counts, accuracy, at = read_counts(data, at, longest)
            self.tables[place] = build_table(counts, accuracy)
        elif self.tables[place] is None:
            raise Broken('a table is repeated that was never given')
        return at

    def read_block(self, data):
        if not data:
            raise Broken('an empty block')
        literals, at = self.read_literals(data)
        count = little(data, at, 1)
        at += 1
        if count == 255:
            count, at = little(data, at, 2) + 0x7F00, at + 2
        elif count > 127:
            count, at = ((count - 128) << 8) + little(data, at, 1), at + 1
        if count == 0:
            self.out += literals
            return
        modes = little(data, at, 1)
        at += 1
        for place, shift in enumerate((6, 4, 2)):
            at = self.read_table(place, modes >> shift & 3, data, at)
        self.run_sequences(literals, count, BackwardBits(data[at:]))

    def run_sequences(self, literals, count, bits):
        (lengths, length_log), (offsets, offset_log), (matches, match_log) = self.tables
        length_state, offset_state, match_state = bits.read(length_log), bits.read(offset_log), bits.read(match_log)
        used = 0
        for left in range(count - 1, -1, -1):
            length_code, length_width, length_base = lengths[length_state]
            offset_code, offset_width, offset_base = offsets[offset_state]
            match_code, match_width, match_base = matches[match_state]
            if length_code > 35 or match_code > 52 or offset_code > 31:
                raise Broken('a sequence code')
            offset = (1 << offset_code) + bits.read(offset_code)
            match = MATCH_BASE[match_code] + bits.read(MATCH_BITS[match_code])
            length = LITERAL_BASE[length_code] + bits.read(LITERAL_BITS[length_code])
            if left:
                length_state = length_base + bits.read(length_width)
                match_state = match_base + bits.read(match_width)
                offset_state = offset_base + bits.read(offset_width)
            self.out += literals[used : used + length]
            used += length
            self.copy(self.resolve_offset(offset, length), match)
        if used > len(literals) or bits.left() != 0:
            raise Broken('sequences of another length')
        self.out += literals[used:]

    def resolve_offset(self, value, length):
        """Values 1 to 3 name one of the last three offsets; after no literals the next of them."""
        recent = self.recent
        if value > 3:
            self.recent = [value - 3, recent[0], recent[1]]
            return value - 3
        place = value - 1 + (length == 0)
        offset = recent[place] if place < 3 else recent[0] - 1
        if place > 0:
            self.recent = [offset, recent[0], recent[1] if place > 1 else recent[2]]
        return offset

    def copy(self, offset, length):
        out = self.out
        begin = len(out) - offset
        if offset < 1 or begin < self.begin:
            raise Broken('a match before the begin')
        if offset >= length:
            out += out[begin : begin + length]
        else:
            out += (out[begin:] * (length // offset + 1))[:length]


def read_window(descriptor):
    """Size of the window, which no block of the frame exceeds."""
    base = 1 << 10 + (descriptor >> 3)
    window = base + base // 8 * (descriptor & 7)
    if window > WINDOW_LIMIT:
        raise Broken('a window that is too large')
    return window


def read_frame(data, at, out, most):
    """Decodes the frame whose descriptor is at `at`; returns its end. `out` grows to at most `most` bytes."""
    descriptor = little(data, at, 1)
    single, checked = descriptor >> 5 & 1, descriptor >> 2 & 1
    block_limit = BLOCK_LIMIT if single else min(BLOCK_LIMIT, read_window(little(data, at + 1, 1)))
    at += 1 + (1 - single)
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    if descriptor & 8 or (dictionary and little(data, at, dictionary)):
        raise Broken('a frame that needs a dictionary')
    size_bytes = (single, 2, 4, 8)[descriptor >> 6]
    stated = little(data, at + dictionary, size_bytes) + (256 if size_bytes == 2 else 0)
    at += dictionary + size_bytes
    frame, last = Frame(out), 0
    while not last:
        head = little(data, at, 3)
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        at += 3
        held, before = 1 if kind == 1 else size, len(out)
        block = data[at : at + held]
        if kind == 3 or size > block_limit or len(block) < held:
            raise Broken('a block')
        if kind == 2:
            frame.read_block(block)
        else:
            out += block * size if kind == 1 else block
        if len(out) - before > block_limit or len(out) > most:
            raise Broken('a block')
        at += held
    if size_bytes and len(out) - frame.begin != stated:
        raise Broken('a frame of another length')
    return at + 4 * checked


def zstd_decode(data, most=MOST_WHOLE):
    out, at = bytearray(), 0
    while at < len(data):
        magic = little(data, at, 4)
        if magic >> 4 == 0x184D2A5:  # a frame to pass over
            at += 8 + little(data, at + 4, 4)
        elif magic == 0xFD2FB528:
            at = read_frame(data, at + 4, out, most)
        else:
            raise Broken('no zstd frame')
    if at > len(data):
        raise Broken('a frame ends early')
    return bytes(out)


def zstd_decompress(data, most=MOST_WHOLE):
    """Raises Broken for what is not zstd, or has more than `most` bytes."""
    try:
        out = zstd_decode(data, most) if zstd_library is None else zstd_library.decompress(data)
        if len(out) > most:
            raise Broken('zstd')
        return out
    except (IndexError, ValueError):
        raise Broken('zstd') from None
    except Exception as error:
        if zstd_library is not None and isinstance(error, (zstd_library.ZstdError, EOFError)):
            raise Broken('zstd') from None
        raise


# --- Parquet: flat schemas of BOOLEAN, INT64 and BYTE_ARRAY columns; codecs none and zstd ---

BOOLEAN, INT64, BYTE_ARRAY = 0, 2, 6
DATA_V1, DICTIONARY_PAGE, DATA_V2 = 0, 2, 3
PLAIN, PLAIN_DICTIONARY, RLE, DELTA, RLE_DICTIONARY = 0, 2, 3, 5, 8
# Of a row group; the service writes 10,000. A run of one value has any length in a few bytes.
MOST_ROWS = 2**20
# Of a page, decompressed.
MOST_BYTES = 2**28


class Bytes:
    """Reads forward through bytes."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        part = self.data[self.at : self.at + count]
        if count < 0 or len(part) < count:
            raise Broken('data ends early')
        self.at += count
        return part

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise Broken('a number that is too long')

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def count(self):
        count = self.varint()
        if count > MOST_WHOLE:
            raise Broken('a count that is too large')
        return count


def read_thrift(source, kind):
    """A value of the compact protocol of Thrift; a struct is a dict keyed by field number."""
    if kind in (1, 2):
        return kind == 1
    if kind == 3:
        return source.byte()
    if kind in (4, 5, 6):
        return source.zigzag()
    if kind == 7:
        return source.take(8)
    if kind == 8:
        return source.take(source.count())
    if kind in (9, 10):
        head = source.byte()
        count = head >> 4 if head >> 4 < 15 else source.count()
        if head & 15 in (1, 2):
            return [source.byte() == 1 for _ in range(count)]
        return [read_thrift(source, head & 15) for _ in range(count)]
    if kind == 12:
        return read_struct(source)
    raise Broken('a Thrift value')


def read_struct(source):
    fields, number = {}, 0
    while True:
        head = source.byte()
        if head == 0:
            return fields
        number = number + (head >> 4) if head >> 4 else source.zigzag()
        fields[number] = read_thrift(source, head & 15)


def member_of(struct, number):
    if not isinstance(struct, dict):
        raise Broken('a Thrift struct')
    return struct.get(number)


def whole_of(struct, number, most=MOST_WHOLE, other=None):
    """A whole number from 0 to `most`; `other` where it is absent."""
    value = member_of(struct, number)
    value = other if value is None else value
    if not is_whole(value) or value > most:
        raise Broken('a Thrift number')
    return value


def list_of(struct, number):
    value = member_of(struct, number)
    if not isinstance(value, list):
        raise Broken('a Thrift list')
    return value


def text_of(struct, number):
    value = member_of(struct, number)
    if not isinstance(value, bytes):
        raise Broken('a Thrift text')
    return value.decode('utf-8')


def read_hybrid(source, width, count):
    """Values by runs: one value repeated, or groups of eight packed into bits."""
    if width > 32:
        raise Broken('a width')
    values, mask = [], (1 << width) - 1
    while len(values) < count:
        head = source.count()
        if head & 1 == 0:
            values += [int.from_bytes(source.take((width + 7) // 8), 'little')] * min(head >> 1, count - len(values))
            continue
        packed = source.take((head >> 1) * width)
        for at in range(min(head >> 1, (count - len(values) + 7) // 8)):
            group = int.from_bytes(packed[at * width : (at + 1) * width], 'little')
            values += [group >> place * width & mask for place in range(8)]
    return values[:count]


def read_deltas(source, count):
    """DELTA_BINARY_PACKED: a first value, then blocks of differences."""
    block, parts, total, value = source.count(), source.count(), source.count(), source.zigzag()
    if total != count or parts == 0 or block % (8 * parts):
        raise Broken('deltas')
    values = [value] if count else []
    while len(values) < count:
        least, widths = source.zigzag(), source.take(parts)
        for width in widths:
            for _ in range(block // parts // 8):
                if len(values) >= count:
                    break
                group, mask = int.from_bytes(source.take(width), 'little'), (1 << width) - 1
                for place in range(8):
                    value += least + (group >> place * width & mask)
                    values.append((value + 2**63) % 2**64 - 2**63)
    return values[:count]


def read_plain(source, kind, count):
    if kind == BOOLEAN:
        packed = source.take((count + 7) // 8)
        return [bool(packed[at >> 3] >> (at & 7) & 1) for at in range(count)]
    if kind == INT64:
        packed = source.take(8 * count)
        return [int.from_bytes(packed[at : at + 8], 'little', signed=True) for at in range(0, 8 * count, 8)]
    if kind == BYTE_ARRAY:
        return [source.take(int.from_bytes(source.take(4), 'little')).decode('utf-8') for _ in range(count)]
    raise Broken('a column of another type')


def read_values(source, encoding, kind, count, dictionary):
    if count == 0:
        return []
    if encoding == PLAIN:
        return read_plain(source, kind, count)
    if encoding in (RLE_DICTIONARY, PLAIN_DICTIONARY):
        return [dictionary[place] for place in read_hybrid(source, source.byte(), count)]
    if encoding == RLE and kind == BOOLEAN:
        source.take(4)
        return [value == 1 for value in read_hybrid(source, 1, count)]
    if encoding == DELTA and kind == INT64:
        return read_deltas(source, count)
    raise Broken('an encoding that is not known')


def decompress_page(data, codec, size):
    """At most `size` bytes, which is what the header of the page states."""
    if codec == 0 or not data:
        return data
    if codec == 6:
        return zstd_decompress(data, max(1, size))
    raise Broken('a codec that is not known')


def read_levels(levels, count):
    """Whether each cell is there: 1, or 0 for a null."""
    present = read_hybrid(Bytes(levels), 1, count)
    if any(level > 1 for level in present):
        raise Broken('a level')
    return present


def read_data_page(header, data, column, dictionary):
    """Cells of one page; of column, kind and codec are given, and whether a cell may be null."""
    kind, codec, nullable = column
    is_second = member_of(header, 1) == DATA_V2
    facts = member_of(header, 8 if is_second else 5)
    count = whole_of(facts, 1, MOST_ROWS)
    encoding = whole_of(facts, 4 if is_second else 2)
    size = whole_of(header, 2, MOST_BYTES)
    if is_second:
        begin = whole_of(facts, 6, other=0)
        end = begin + whole_of(facts, 5)
        is_packed = member_of(facts, 7)
        if is_packed not in (None, True, False) or isinstance(is_packed, int) and not isinstance(is_packed, bool):
            raise Broken('a Thrift flag')
        levels = data[begin:end]
        source = Bytes(decompress_page(data[end:], 0 if is_packed is False else codec, size))
    else:
        source = Bytes(decompress_page(data, codec, size))
        levels = source.take(int.from_bytes(source.take(4), 'little')) if nullable else None
    present = read_levels(levels, count) if nullable else [1] * count
    values = iter(read_values(source, encoding, kind, sum(present), dictionary))
    return [next(values) if level else None for level in present]


def read_chunk(data, facts, nullable):
    """Cells of one column of one row group."""
    kind, codec, count = whole_of(facts, 1), whole_of(facts, 4), whole_of(facts, 5, MOST_ROWS)
    first = whole_of(facts, 9)
    source = Bytes(data, min(whole_of(facts, 11, other=first), first))
    cells, dictionary = [], []
    while len(cells) < count:
        header = read_struct(source)
        page = source.take(whole_of(header, 3))
        page_type = whole_of(header, 1)
        if page_type == DICTIONARY_PAGE:
            size = whole_of(header, 2, MOST_BYTES)
            words = whole_of(member_of(header, 7), 1, MOST_ROWS)
            dictionary = read_plain(Bytes(decompress_page(page, codec, size)), kind, words)
        elif page_type in (DATA_V1, DATA_V2):
            cells += read_data_page(header, page, (kind, codec, nullable), dictionary)
    return cells


def instant_text(micros):
    if not 0 <= micros < 253402300800000000:
        raise Broken('an instant outside 1970 to 9999')
    instant = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micros)
    return instant.strftime('%Y-%m-%dT%H:%M:%S.%fZ')


def to_cells(name, cells):
    """Integers as digits and instants as text, as they are hashed."""
    write = instant_text if name in INSTANTS else str
    return [write(cell) if isinstance(cell, int) and not isinstance(cell, bool) else cell for cell in cells]


def open_parquet(data):
    """Names of the columns, and the rows one by one."""
    if len(data) < 12 or data[-4:] != b'PAR1':
        raise Broken('no footer')
    length = int.from_bytes(data[-8:-4], 'little')
    if length > len(data) - 12:
        raise Broken('no footer')
    footer = read_struct(Bytes(data, len(data) - 8 - length))
    columns = list_of(footer, 2)[1:]
    forms = [whole_of(column, 3, other=0) for column in columns]
    if any(whole_of(column, 5, other=0) > 0 for column in columns) or 2 in forms:
        raise Broken('a schema that is not flat')
    names = [text_of(column, 4) for column in columns]
    groups = list_of(footer, 4)

    def rows():
        for group in groups:
            count = whole_of(group, 3, MOST_ROWS)
            parts = list_of(group, 1)
            chunks = [read_chunk(data, member_of(part, 3), form == 1) for part, form in zip(parts, forms)]
            if len(chunks) != len(names) or any(len(cells) != count for cells in chunks):
                raise Broken('columns of different lengths')
            yield from zip(*(to_cells(name, cells) for name, cells in zip(names, chunks)))

    return names, rows()


# --- CSV and JSONL ---


def csv_records(data):
    """Records as text: a line feed inside quotes ends none."""
    held = b''
    for line in data.split(b'\n'):
        held = held + b'\n' + line if held else line
        if held.count(b'"') % 2 == 0:
            yield held.decode('utf-8')
            held = b''
    if held:
        raise Broken('a quote that does not end')


CSV_CELL = re.compile(r'(?:"((?:[^"]|"")*)"|([^",]*))(,|\Z)')


def split_record(record):
    if '"' not in record:
        return record.split(',')
    cells, at, comma = [], 0, ','
    while comma:
        found = CSV_CELL.match(record, at)
        if found is None:
            raise Broken('a cell')
        cells.append(found[2] if found[1] is None else found[1].replace('""', '"'))
        at, comma = found.end(), found[3]
    return cells


def open_csv(data):
    records = csv_records(data[:-1] if data.endswith(b'\n') else data)
    names = split_record(next(records))
    words = {'': None, 'true': True, 'false': False}

    def rows():
        for record in records:
            cells = split_record(record)
            if len(cells) != len(names):
                raise Broken('a row of another length')
            yield [words.get(cell, cell) if name == 'late' else cell or None for name, cell in zip(names, cells)]

    return names, rows()


def open_jsonl(data):
    lines = (data[:-1] if data.endswith(b'\n') else data).split(b'\n')
    first = parse_json(lines[0])
    if not isinstance(first, Members):
        raise Broken('a line that is not an object')
    names = list(first)

    def rows():
        for line in lines:
            row = parse_json(line)
            if not isinstance(row, Members) or row.twice is not None or row.keys() != first.keys():
                raise Broken('a row with other members')
            yield [str(row[name]) if name == 'leaf_index' and is_whole(row[name]) else row[name] for name in names]

    return names, rows()


def open_archive(data):
    """Columns and rows of an archive file, whatever its format; found by its first bytes."""
    if data[:4] == b'PAR1':
        return open_parquet(data)
    if data[:4] == b'\x28\xb5\x2f\xfd':
        data = zstd_decompress(data)
    return open_jsonl(data) if data[:1] == b'{' else open_csv(data)


# --- Rules of rows ---


def next_day(day):
    return (datetime.date.fromisoformat(day) + datetime.timedelta(days=1)).isoformat()


def require_in_day(table, at, day):
    """Sampling windows belong to the day in which they end, 24:00 included; candles and events to [00:00, 24:00)."""
    begin, end = f'{day}T00:00:00.000000Z', f'{next_day(day)}T00:00:00.000000Z'
    if not isinstance(at, str) or not INSTANT.fullmatch(at):
        raise Refused(f'{table.time} is not an instant with six digits of a second')
    ends_in = table.time == 'window_end'
    if not (begin < at <= end if ends_in else begin <= at < end):
        bounds = f'after {begin}, until {end}' if ends_in else f'from {begin}, before {end}'
        raise Refused(f'{table.time} is not in the day', bounds, at)


def order_key(cells, places):
    """Place of a row among those of its listing: null before texts, texts by bytes, seq as a number."""
    key = [cells[place] for place in places]
    if not isinstance(key[-1], str) or not re.fullmatch('[0-9]{1,15}', key[-1]):
        raise Refused('a row has no seq')
    if not all(text is None or isinstance(text, str) for text in key):
        raise Refused('a row has no order')
    return [(text is not None, (text or '').encode('utf-8', 'surrogatepass')) for text in key[:-1]] + [int(key[-1])]


class Run:
    """Rows of one listing whose leaf_index rises by one."""

    def __init__(self, name, listing, first, key):
        self.name, self.listing, self.first, self.key = name, listing, first, key
        self.last_key = key
        self.hashes = []


class Leaves:
    """The rows of all files of a table as leaves; faults that still allow reading are kept for their step."""

    def __init__(self, day):
        self.day, self.table, self.runs = day, None, []
        self.faults = {}

    def keep(self, step, refused):
        self.faults.setdefault(step, refused)

    def require(self, step):
        if step in self.faults:
            raise self.faults[step]

    def add_file(self, name, data):
        number = 0
        try:
            columns, rows = open_archive(data)
            places = self.find_table(name, columns)
            for cells in rows:
                number += 1
                self.add_row(f'row {number} of {name}', name, cells, places)
        except (Refused, Unusable):
            raise
        except Exception:  # bytes that break their format do so in many ways
            raise Refused(f'{name} cannot be read after row {number}') from None

    def find_table(self, name, columns):
        table = next((table for table in TABLES.values() if sorted(columns) == sorted([*table.columns, *NOT_HASHED])), None)
        if table is None:
            raise Refused(f'the columns of {name} are those of no table')
        if self.table not in (None, table):
            raise Refused(f'{name} is of another table', self.table.name, table.name)
        self.table = table
        return {column: place for place, column in enumerate(columns)}

    def add_row(self, where, name, cells, places):
        table = self.table
        index = cells[places['leaf_index']]
        if not isinstance(index, str) or not re.fullmatch('0|[1-9][0-9]{0,14}', index):
            self.keep('leaf_index', Refused(f'{where} has no leaf_index: the file is not final'))
            return
        index, listing = int(index), (cells[places['segment']], cells[places['symbol']])
        if not all(isinstance(text, str) for text in listing):
            raise Refused(f'{where} has no listing')
        try:
            leaf = hash_leaf(canonical_row({column: cells[places[column]] for column in table.columns}))
        except Refused as refused:
            raise Refused(f'{where}: {refused}') from None
        key = None
        try:
            key = order_key(cells, [places[column] for column in table.order])
        except Refused as refused:
            self.keep('order', Refused(f'{where}: {refused}'))
        try:
            require_in_day(table, cells[places[table.time]], self.day)
        except Refused as refused:
            self.keep('row day', Refused(f'{where}: {refused}', refused.expected, refused.found))
        self.append(where, (name, listing, index, key), leaf)

    def append(self, where, place, leaf):
        name, listing, index, key = place
        run = self.runs[-1] if self.runs else None
        if run is None or run.listing != listing or run.first + len(run.hashes) != index:
            self.runs.append(Run(name, listing, index, key))
        else:
            self.require_order(where, run.last_key, key)
        self.runs[-1].last_key = key
        self.runs[-1].hashes.append(leaf)

    def require_order(self, where, before, key):
        if before is not None and key is not None and not before < key:
            self.keep('order', Refused(f'{where} is not after the row before it'))

    def require_complete(self, rows):
        self.require('leaf_index')
        if rows == 0:
            raise Refused('the partition has no rows: an empty table has none')
        self.runs.sort(key=lambda run: run.first)
        count, expected = sum(len(run.hashes) for run in self.runs), 0
        for run in self.runs:
            if run.first < expected:
                raise Refused(f'leaf_index {run.first} appears twice, in {run.name}', f'{rows} rows', f'{count} rows')
            if run.first > expected:
                break
            expected += len(run.hashes)
        if expected < rows:
            raise Refused(f'leaf_index {expected} is missing', f'{rows} rows', f'{count} rows')
        require_equal(f'leaf_index {rows} is beyond the partition', f'{rows} rows', f'{count} rows')

    def require_listings(self):
        """Listings ascend by segment and symbol within each of three classes, and the rows of each are together."""
        seen, before, classes = set(), None, 1
        for run in self.runs:
            if run.listing == before:
                continue
            if run.listing in seen:
                raise Refused(f'rows of {":".join(run.listing)} are not together')
            if before is not None and [part.encode() for part in run.listing] < [part.encode() for part in before]:
                classes += 1
            seen.add(run.listing)
            before = run.listing
        if classes > 3:
            raise Refused('the listings do not ascend', 'at most 3 classes', f'{classes} classes')

    def require_leaf_order(self):
        for before, run in zip(self.runs, self.runs[1:]):
            if before.listing == run.listing:
                self.require_order(f'leaf_index {run.first}', before.last_key, run.key)
        self.require('order')

    def root(self):
        tree = Tree()
        for run in self.runs:
            for leaf in run.hashes:
                tree.append(leaf)
        return tree.root()


# --- Form of the answers ---

FORMS = {
    'text': lambda value: isinstance(value, str),
    'text or null': lambda value: value is None or isinstance(value, str),
    'whole number': is_whole,
    'whole number or null': lambda value: value is None or is_whole(value),
    'object': lambda value: isinstance(value, Members),
    'list of texts': lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    'list of objects': lambda value: isinstance(value, list) and all(isinstance(item, Members) for item in value),
}
ANCHOR_FORM = {'contract': 'text or null', 'tx_hash': 'text or null', 'block': 'whole number or null', 'anchored_at': 'text or null'}
COMMON_FORM = {'day': 'text', 'network': 'text or null', 'schema_version': 'whole number', 'day_root': 'text', 'anchor': 'object'}
PROOF_FORM = {
    **COMMON_FORM,
    'layer': 'text',
    'table': 'text',
    'row': 'object',
    'canonical': 'text',
    'leaf_hash': 'text',
    'index': 'whole number',
    'rows': 'whole number',
    'path': 'list of texts',
    'partition': 'object',
}
PARTITION_FORM = {'root': 'text', 'leaf': 'text', 'index': 'whole number', 'count': 'whole number', 'path': 'list of texts'}
DAY_FORM = {**COMMON_FORM, 'partitions': 'list of objects'}
DAY_PARTITION_FORM = {'table': 'text', 'rows': 'whole number', 'root': 'text', 'leaf': 'text', 'index': 'whole number'}


def require_members(value, form, prefix=''):
    for member, kind in form.items():
        if member not in value or not FORMS[kind](value[member]):
            raise Refused(f'{prefix}{member} is missing or is not a {kind}')


def require_form(answer):
    """Refuses an answer that lacks a member that is verified, or has one of another kind."""
    require_members(answer, PROOF_FORM if 'row' in answer else DAY_FORM)
    require_members(answer['anchor'], ANCHOR_FORM, 'anchor.')
    if 'row' in answer:
        require_members(answer['partition'], PARTITION_FORM, 'partition.')
    else:
        for at, partition in enumerate(answer['partitions']):
            require_members(partition, DAY_PARTITION_FORM, f'partitions[{at}].')
    if not is_date(answer['day']):
        raise Refused('day is not a date YYYY-MM-DD')


def has_form(report, answer):
    """The first step. Without its members there is nothing to compute, and the answer is not verified."""
    if report.step('form', 'every member that is verified is there and of its kind', lambda: require_form(answer)):
        return True
    say('NOT VERIFIED: form')
    return False


def is_date(text):
    try:
        return re.fullmatch('[0-9]{4}-[0-9]{2}-[0-9]{2}', text) and next_day(text)
    except (ValueError, OverflowError):
        return False


def read_file(name):
    try:
        with open(name, 'rb') as file:
            return file.read()
    except (OSError, ValueError):
        raise Unusable(f'{name} cannot be opened') from None


def read_refusal_code(answer):
    """The code of an error answer that was saved in place of a proof; None of anything else."""
    errors = answer.get('errors') if isinstance(answer, Members) else None
    first = errors[0] if isinstance(errors, list) and errors else None
    code = first.get('code') if isinstance(first, Members) else None
    return code if isinstance(code, str) and re.fullmatch('[A-Z0-9_]{1,64}', code) else None


def read_answer(name):
    try:
        answer = parse_json(read_file(name))
    except Broken:
        raise Unusable(f'{name} is not JSON') from None
    refused = read_refusal_code(answer)
    if refused is not None:
        raise Unusable(f'{name} is a refusal of the service ({refused}), not an answer to verify')
    if not isinstance(answer, Members) or not ('row' in answer or 'partitions' in answer):
        raise Unusable(f'{name} is neither a proof answer (member row) nor an answer for a day (member partitions)')
    return answer


# --- Steps on the chain ---

CHAIN_STEPS = {
    'chain id': 'the RPC serves the network of the answer',
    'contract code': 'the code at anchor.contract is that of AnchorRoots',
    'chain root': 'the contract holds day_root for the day',
    'transaction': 'anchor.tx_hash posted day_root for the day in anchor.block',
}


def ask_rpc(url, method, params):
    body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params}).encode()
    try:
        request = urllib.request.Request(url, body, {'Content-Type': 'application/json', 'User-Agent': 'verify'})
        with urllib.request.urlopen(request, timeout=30) as response:
            answer = json.loads(response.read())
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        raise Refused(f'the RPC did not answer {method}') from None
    if not isinstance(answer, dict) or 'result' not in answer:
        raise Refused(f'the RPC refused {method}')
    return answer['result']


def read_quantity(value, method):
    if not isinstance(value, str) or not re.fullmatch('0x[0-9a-fA-F]{1,64}', value):
        raise Refused(f'the RPC did not answer {method} with a number')
    return int(value, 16)


def read_data(value, method):
    if not isinstance(value, str) or not re.fullmatch('0x(?:[0-9a-fA-F]{2})*', value):
        raise Refused(f'the RPC did not answer {method} with bytes')
    return value[2:].lower()


def require_hex(name, value, digits):
    if value is None:
        raise Refused(f'{name} is null: the day is not posted yet')
    if not re.fullmatch(f'0x[0-9a-fA-F]{{{digits}}}', value):
        raise Refused(f'{name} is not 0x and {digits} hex digits', None, value)
    return value.lower()


class Chain:
    """Requests to a node of the chain, each a check of one step."""

    def __init__(self, answer, url):
        self.answer, self.anchor, self.url = answer, answer['anchor'], url
        self.day_word = f'{int(answer["day"].replace("-", "")):064x}'

    def ask(self, method, *params):
        return ask_rpc(self.url, method, params)

    def contract(self):
        return require_hex('anchor.contract', self.anchor['contract'], 40)

    def check_id(self):
        if self.answer['network'] is None:
            raise Refused('network is null: the day is not posted yet')
        found = f'eip155:{read_quantity(self.ask("eth_chainId"), "eth_chainId")}'
        require_equal('the RPC serves another chain', self.answer['network'], found)

    def has_other_genesis(self):
        """Whether the first block of the node's chain is another than that of Base. A node that does not tell it is believed."""
        try:
            block = self.ask('eth_getBlockByNumber', '0x0', False)
        except Refused:
            return False
        found = block.get('hash') if isinstance(block, dict) else None
        return isinstance(found, str) and re.fullmatch('0x[0-9a-fA-F]{64}', found) is not None and found.lower() != BASE_GENESIS

    def check_code(self):
        code = read_data(self.ask('eth_getCode', self.contract(), 'latest'), 'eth_getCode')
        if code == '':
            raise Refused('there is no contract at this address')
        found = hashlib.sha256(bytes.fromhex(code)).hexdigest()
        require_equal('the contract has other code (SHA-256 of its bytes)', CODE_SHA256, found)

    def check_root(self):
        root = read_hash(self.answer['day_root'], 'day_root').hex()
        call = {'to': self.contract(), 'data': ROOTS_SELECTOR + self.day_word}
        found = read_data(self.ask('eth_call', call, 'latest'), 'eth_call')
        if re.fullmatch('0{64}', found):
            raise Refused('the contract holds no root for this day', root, found)
        require_equal('the contract holds another root for this day', root, found)

    def check_transaction(self):
        name = require_hex('anchor.tx_hash', self.anchor['tx_hash'], 64)
        receipt = self.ask('eth_getTransactionReceipt', name)
        if not isinstance(receipt, dict):
            raise Refused('the chain has no such transaction', name)
        require_equal('the transaction did not succeed', '0x1', receipt.get('status'))
        if self.anchor['block'] is not None:
            block = read_quantity(receipt.get('blockNumber'), 'eth_getTransactionReceipt')
            require_equal('the transaction is in another block', self.anchor['block'], block)
        self.check_event(receipt.get('logs'))

    def check_event(self, logs):
        logs = [log for log in logs if isinstance(log, dict)] if isinstance(logs, list) else []
        ours = (self.contract(), [ANCHORED_TOPIC, '0x' + self.day_word])
        found = [log.get('data') for log in logs if (str(log.get('address')).lower(), log.get('topics')) == ours]
        if not found or not re.fullmatch('0x[0-9a-f]{128}', str(found[0])):
            raise Refused('the transaction has no event Anchored of this contract and day')
        require_equal('the transaction posted another root', self.answer['day_root'], found[0][2:66])
        stated = self.anchor['anchored_at']
        if stated is not None:
            mined = instant_text(int(found[0][66:], 16) * 1000000)
            require_equal('the block has another time', stated, f'{mined[:19]}.000Z')


def is_rehearsal(answer):
    """A root on another chain than Base binds nobody: the steps hold there too."""
    return answer['network'] != BASE or answer.get('binding') is False


def note_rehearsal(report, network):
    other = f'the chain ({"not known yet" if network is None else network}) is not Base ({BASE})'
    chain = f'the chain has the id of Base ({BASE}) and is another one' if network == BASE else other
    say(f'note rehearsal: {chain}, so the anchor binds nobody')
    report.rehearsal = True


def check_chain(report, answer, url):
    """The steps on the chain; skipped without a URL."""
    if is_rehearsal(answer):
        note_rehearsal(report, answer['network'])
    chain = Chain(answer, url)
    checks = (chain.check_id, chain.check_code, chain.check_root, chain.check_transaction)
    for (name, claim), check in zip(CHAIN_STEPS.items(), checks):
        if url is None:
            report.skip(name, 'no --rpc URL is given')
        elif name == 'transaction' and answer['anchor']['tx_hash'] is None:
            report.skip(name, 'the answer names no transaction')
        else:
            report.step(name, claim, check)
    if url is not None and not report.rehearsal and 'chain id' not in report.failed and chain.has_other_genesis():
        note_rehearsal(report, answer['network'])


def conclude(report, answer, what, url):
    root = answer['day_root']
    rehearsal = ' in a rehearsal' if report.rehearsal else ''
    if report.failed:
        say(f'NOT VERIFIED: {", ".join(report.failed)}')
    elif url is None:
        say(f'Only the offline part was checked: {what} leads to day_root {root}. Give --rpc URL to check the chain.')
    else:
        contract = answer['anchor']['contract'].lower()
        say(f'VERIFIED{rehearsal}: {what} leads to the root that {contract} on {answer["network"]} holds for {answer["day"]}.')
    return 1 if report.failed else 0


# --- Steps of a proof answer ---


class Proof:
    def __init__(self, answer):
        self.answer, self.partition = answer, answer['partition']

    def check_canonical(self):
        answer = self.answer
        require_equal('the row has another canonical text', answer['canonical'], canonical_row(answer['row']))

    def check_leaf(self):
        leaf = read_hash(self.answer['leaf_hash'], 'leaf_hash').hex()
        require_equal('the text has another hash', leaf, hash_leaf(self.answer['canonical']).hex())

    def check_path(self):
        answer, partition = self.answer, self.partition
        check_path(('leaf_hash', answer['leaf_hash']), (answer['index'], answer['rows']), ('path', answer['path']),
                   ('partition.root', partition['root']))

    def check_partition(self):
        answer, partition = self.answer, self.partition
        read_hash(partition['root'], 'partition.root')
        text = partition_text(answer['day'], {'root': partition['root'], 'rows': answer['rows']}, answer['table'],
                              answer['schema_version'])
        leaf = read_hash(partition['leaf'], 'partition.leaf').hex()
        require_equal(f'the text {text} has another hash', leaf, hash_leaf(text).hex())

    def check_day_root(self):
        partition = self.partition
        check_path(('partition.leaf', partition['leaf']), (partition['index'], partition['count']),
                   ('partition.path', partition['path']), ('day_root', self.answer['day_root']))

    def check_columns(self):
        answer = self.answer
        require_equal('this program knows no other schema_version', SCHEMA_VERSION, answer['schema_version'])
        table = find_named_table(answer['table'])
        require_equal('the layer is not that of the table', table.layer, answer['layer'])
        missing = [name for name in table.columns if name not in answer['row']]
        other = [name for name in answer['row'] if name not in table.columns]
        if missing or other:
            raise Refused(f'{missing[0]} is missing' if missing else f'{other[0]} is not a column of {table.name}')

    def check_row_day(self):
        table, row = find_named_table(self.answer['table']), self.answer['row']
        for name in ('segment', 'symbol'):
            if not isinstance(row.get(name), str):
                raise Refused(f'{name} is not a text')
        require_in_day(table, row.get(table.time), self.answer['day'])


def find_named_table(name):
    if name not in TABLES:
        raise Refused('the table is none of the anchored ones', ', '.join(TABLES), name)
    return TABLES[name]


def check_path(leaf, place, path, root):
    """Leaf, path and root are given with their names."""
    hashes = [read_hash(text, f'{path[0]}[{at}]') for at, text in enumerate(path[1])]
    expected = read_hash(root[1], root[0]).hex()
    found = root_from_path(read_hash(leaf[1], leaf[0]), place[0], place[1], hashes).hex()
    require_equal('the path leads to another root', expected, found)


def verify_proof(name, answer, url):
    say(f'proof {name}')
    report = Report()
    if not has_form(report, answer):
        return 1
    proof = Proof(answer)
    report.step('text', 'no member appears twice, no text has a lone surrogate', lambda: require_clean(answer))
    report.step('canonical', 'row in canonical form (RFC 8785) is canonical', proof.check_canonical)
    report.step('leaf_hash', 'SHA-256(0x00 || canonical) is leaf_hash', proof.check_leaf)
    report.step('path', 'leaf_hash, index, rows and path lead to partition.root', proof.check_path)
    report.step('partition.leaf', 'day, table, schema_version, rows and partition.root hash to partition.leaf', proof.check_partition)
    report.step('day_root', 'partition.leaf, index, count and path lead to day_root', proof.check_day_root)
    report.step('row day', 'the row is of the day', proof.check_row_day)
    report.step('columns', 'table, layer and columns of the row belong together', proof.check_columns)
    check_chain(report, answer, url)
    return conclude(report, answer, f'row {answer["index"]} of {answer["rows"]} of {answer["table"]}', url)


# --- Steps of a day and the files of one table ---


def find_partition(answer, table):
    found = [partition for partition in answer['partitions'] if partition['table'] == table]
    if len(found) != 1:
        raise Refused(f'the day has not one partition {table}', '1', len(found))
    return found[0]


def check_leaf_text(answer, partition):
    name = f'the leaf of {partition["table"]}'
    text = partition_text(answer['day'], partition, partition['table'], answer['schema_version'])
    leaf = read_hash(partition['leaf'], name).hex()
    require_equal(f'the text {text} has another hash', leaf, hash_leaf(text).hex())


def check_day_tree(answer):
    partitions = answer['partitions']
    if not partitions:
        raise Refused('the day has no partition')
    names = [partition['table'] for partition in partitions]
    require_equal('the tables do not ascend', ', '.join(sorted(set(names))), ', '.join(names))
    tree = Tree()
    for at, partition in enumerate(partitions):
        require_equal(f'the index of {partition["table"]}', partition['index'], at)
        check_leaf_text(answer, partition)
        tree.append(bytes.fromhex(partition['leaf']))
    require_equal('the leaves have another root', read_hash(answer['day_root'], 'day_root').hex(), tree.root())


def read_files(answer, leaves, names):
    require_equal('this program knows no other schema_version', SCHEMA_VERSION, answer['schema_version'])
    for name in names:
        leaves.add_file(name, read_file(name))
    find_partition(answer, leaves.table.name)


def check_partition_root(partition, leaves):
    root = read_hash(partition['root'], 'the root of the partition').hex()
    require_equal('the rows have another root', root, leaves.root())


def verify_rows(report, answer, leaves):
    """Steps that need the rows. Without all of them there is no root to compute."""
    partition = find_partition(answer, leaves.table.name)
    rows = partition['rows']
    complete = report.step('leaf_index', 'leaf_index is 0 to rows - 1, each once', lambda: leaves.require_complete(rows))
    report.step('row day', 'every row is of the day', lambda: leaves.require('row day'))
    if complete:
        report.step('listings', 'rows of a listing are together, listings ascend', leaves.require_listings)
        report.step('order', 'rows of a listing are in leaf order', leaves.require_leaf_order)
        report.step('partition.root', 'the rows as leaves have the root of the partition',
                    lambda: check_partition_root(partition, leaves))
    else:
        for step in ('listings', 'order', 'partition.root'):
            report.skip(step, 'not every row is there once')
    report.step('partition.leaf', 'day, table, schema_version, rows and root hash to the leaf of the partition',
                lambda: check_leaf_text(answer, partition))


def verify_day(name, answer, files, url):
    say(f'day {name}, {len(files)} files')
    report = Report()
    if not has_form(report, answer):
        return 1
    leaves = Leaves(answer['day'])
    report.step('text', 'no member appears twice, no text has a lone surrogate', lambda: require_clean(answer))
    if report.step('files', 'every file can be read and is of one table of the day', lambda: read_files(answer, leaves, files)):
        verify_rows(report, answer, leaves)
    else:
        for step in ('leaf_index', 'row day', 'listings', 'order', 'partition.root', 'partition.leaf'):
            report.skip(step, 'the files cannot be used')
    report.step('day_root', 'the partitions, ascending by table, have day_root', lambda: check_day_tree(answer))
    check_chain(report, answer, url)
    table = 'the table' if leaves.table is None else f'all of {leaves.table.name}'
    return conclude(report, answer, table, url)


# --- Command line ---

USAGE = 'usage: verify PROOF.json... [--rpc URL]\n       verify DAY.json FILE... [--rpc URL]'


def read_arguments(arguments):
    files, url, rest = [], None, list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == '--rpc':
            if url is not None or not rest:
                raise Unusable('--rpc takes one URL')
            url = rest.pop(0)
            if not re.match('https?://.', url):
                raise Unusable('--rpc takes an http or https URL')
        elif argument.startswith('--'):
            raise Unusable(f'{argument} is not an option')
        else:
            files.append(argument)
    if not files:
        raise Unusable('no file is given')
    return files, url


def run(arguments):
    files, url = read_arguments(arguments)
    first = read_answer(files[0])
    if 'row' not in first:
        if len(files) == 1:
            raise Unusable('the files of a table are missing')
        for name in files[1:]:
            with_file(name)
        return verify_day(files[0], first, files[1:], url)
    answers = [first] + [read_answer(name) for name in files[1:]]
    for name, answer in zip(files, answers):
        if 'row' not in answer:
            raise Unusable(f'{name} is an answer for a day: it comes first, and files of a table after it')
    return max([verify_proof(name, answer, url) for name, answer in zip(files, answers)])


def with_file(name):
    try:
        open(name, 'rb').close()
    except (OSError, ValueError):
        raise Unusable(f'{name} cannot be opened') from None


def main(arguments):
    """Prints the report; returns the exit code."""
    if '--help' in arguments or '-h' in arguments:
        print(USAGE)
        return 0
    try:
        return run(arguments)
    except Unusable as unusable:
        print(f'{shown(unusable)}\n{USAGE}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    # Ctrl-C, or a reader of the report that goes away, ends it without a word, as every other program.
    for name in ('SIGINT', 'SIGPIPE'):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    sys.stdout.reconfigure(encoding='utf-8')
    sys.stderr.reconfigure(encoding='utf-8')
    sys.exit(main(sys.argv[1:]))
