#!/usr/bin/env node
// Verifies anchored market data by recomputing every step; needs Node 22.15 or newer and nothing else.
//
// usage: verify PROOF.json... [--rpc URL]
//        verify DAY.json FILE... [--rpc URL]
//
// PROOF.json  an answer of GET /v2/anchors/proof: one row and its path to the root of its day
// DAY.json    an answer of GET /v2/anchors/{day}, followed by all final archive files of one table
//             (Parquet, csv.zst, jsonl.zst, csv or jsonl)
// --rpc URL   a node of the chain that the answer names; without it only the offline steps are checked
//
// Exit code: 0 everything holds, 1 a step fails, 2 an argument is wrong, a file cannot be opened, or is no answer at all.
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as zlib from 'node:zlib';

// --- What is published once and for all ---

const BASE = 'eip155:8453';
// Any chain may claim the id of Base; its first block tells which it is.
const BASE_GENESIS = '0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd';
const ROOTS_SELECTOR = '0x081dc681'; // roots(uint32)
const ANCHORED_TOPIC = '0xc65c085fad1f04cace9334a961f4b11c9ba3cd3e53ac7e3d686d950cc8c32b42'; // Anchored(uint32,bytes32,uint64)
// SHA-256 of the code of the contract AnchorRoots on the chain.
const CODE_SHA256 = '5959dac1874988187ae02094b7078a84f58f1b2e7a9a0704672b4ee7c22c7a1d';

const READING = 'window_end window_start status gap_cause received_at venue_ts';
const EVENT = 'received_at gap_start status gap_cause venue_ts id';
const BANDS = ['10bps', '25bps', '50bps', '100bps']
  .map((band) => ['depth_bid', 'depth_ask', 'depth_bid_value', 'depth_ask_value', 'levels_bid', 'levels_ask'].map((name) => `${name}_${band}`))
  .flat()
  .join(' ');
const CANDLE = 'open_time price_type status gap_cause open high low close volume volume_unit turnover trades received_at';
const INSTANTS = new Set(['window_end', 'window_start', 'open_time', 'gap_start', 'received_at', 'venue_ts', 'next_funding_at', 'recorded_at']);
const NOT_HASHED = ['recorded_at', 'leaf_index'];
const INSTANT = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$/;

/** Columns of an anchored table, the order of the rows of one listing, and the column that decides the day. */
const makeTable = (name, layer, columns, order) => ({
  name,
  layer,
  columns: ['segment', 'symbol', ...columns.split(' '), 'seq', 'late'],
  order: order.split(' '),
  time: order.split(' ')[0],
});

const SCHEMA_VERSION = 1;
const TABLES = [
  makeTable('book_bands', 'book_bands', `${READING} mid ${BANDS} quantity_unit`, 'window_end seq'),
  makeTable('candles', 'candles', CANDLE, 'open_time price_type seq'),
  makeTable('funding', 'funding', `${READING} funding funding_interval_ms next_funding_at`, 'window_end seq'),
  makeTable('liquidations', 'liquidation', `${EVENT} side price price_kind quantity quantity_unit`, 'received_at id seq'),
  makeTable('mark', 'mark', `${READING} mark index`, 'window_end seq'),
  makeTable('open_interest', 'oi', `${READING} oi oi_unit`, 'window_end seq'),
  makeTable('stats', 'stats', `${READING} volume_24h volume_unit turnover_24h change_24h`, 'window_end seq'),
  makeTable('ticker', 'ticker', `${READING} last`, 'window_end seq'),
  makeTable('trades', 'trades', `${EVENT} side price quantity quantity_unit`, 'received_at id seq'),
];

// --- Steps and their report ---

/** A step does not hold. `expected` is what the answer states, `found` what was computed or read. */
class Refused extends Error {
  constructor(reason, expected = null, found = null) {
    super(reason);
    Object.assign(this, { expected, found });
  }
}
/** The arguments or a file are not what this program takes. */
class Unusable extends Error {}
/** Bytes that do not follow their format. */
class Broken extends Error {}

const refuse = (reason, expected, found) => {
  throw new Refused(reason, expected, found);
};
const breakOff = (reason) => {
  throw new Broken(reason);
};

/** Control characters and lone surrogates as escapes: nothing in a file can steer the terminal. */
const shown = (value) =>
  String(value).replace(/[\x00-\x1f\x7f-\x9f\p{Cs}]/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
const say = (text) => console.log(shown(text));

/** Reports a line for each step and records the outcomes. */
class Report {
  failed = [];
  steps = [];
  /** Whether the root lies on another chain than Base. */
  rehearsal = false;

  constructor(tell = say) {
    this.tell = tell;
  }

  async step(name, claim, check) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Broken)) throw error;
      const { message: reason, expected = null, found = null } = error;
      this.failed.push(name);
      this.steps.push({ name, outcome: 'failed', claim, reason, expected, found });
      this.tell(`FAIL ${name}: ${claim}`);
      this.tell(`     ${reason}`);
      if (expected !== null) this.tell(`     expected ${expected}`);
      if (found !== null) this.tell(`     found    ${found}`);
      return false;
    }
    this.steps.push({ name, outcome: 'ok', claim });
    this.tell(`ok   ${name}: ${claim}`);
    return true;
  }

  skip(name, reason) {
    this.steps.push({ name, outcome: 'skipped', reason });
    this.tell(`skip ${name}: ${reason}`);
  }
}

const requireEqual = (reason, expected, found) => {
  if (expected !== found) refuse(reason, expected, found);
};

// --- JSON: members that appear twice and lone surrogates are found; numbers other than whole ones below 2^53 are marked ---

const DEEPEST = 100;
const NOT_WHOLE = Symbol('a number that is not a whole number below 2^53');
/** Names a member that appears more than once in its object. */
const TWICE = Symbol('twice');

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const WORDS = [['null', null], ['true', true], ['false', false]];

const isMembers = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads one JSON text. */
class JsonReader {
  at = 0;

  constructor(text) {
    this.text = text;
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at = pattern.lastIndex;
    return found;
  }

  /** Whether the next character that is not white space is this one; consumes it. */
  takes(character) {
    this.match(SPACE);
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  string() {
    const found = this.match(STRING);
    return found === null ? breakOff('not JSON') : JSON.parse(found[0]);
  }

  /** `left` levels of lists and objects may be nested below; no answer has more. */
  value(left = DEEPEST) {
    if (left < 0) breakOff('nested too deep');
    if (this.takes('{')) return this.members(left - 1);
    if (this.takes('[')) return this.list(left - 1);
    if (this.text[this.at] === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    const number = this.match(NUMBER);
    if (number === null) breakOff('not JSON');
    const isWhole = number[1] === undefined && number[2] === undefined && number[0].length < 18;
    return isWhole && Number.isSafeInteger(Number(number[0])) ? Number(number[0]) + 0 : NOT_WHOLE;
  }

  members(left) {
    const members = Object.create(null);
    if (this.takes('}')) return members;
    do {
      this.match(SPACE);
      const name = this.string();
      if (!this.takes(':')) breakOff('not JSON');
      if (name in members) members[TWICE] ??= name;
      members[name] = this.value(left);
    } while (this.takes(','));
    return this.takes('}') ? members : breakOff('not JSON');
  }

  list(left) {
    const list = [];
    if (this.takes(']')) return list;
    do list.push(this.value(left));
    while (this.takes(','));
    return this.takes(']') ? list : breakOff('not JSON');
  }
}

const decodeText = (data) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);

/** Throws Broken for what is not JSON text in UTF-8. */
const parseJson = (data) => {
  try {
    const reader = new JsonReader(decodeText(data));
    const value = reader.value();
    reader.match(SPACE);
    return reader.at === reader.text.length ? value : breakOff('not JSON');
  } catch {
    throw new Broken('not JSON');
  }
};

/** Refuses members that appear twice, and lone surrogates. */
const requireClean = (value, place = '') => {
  if (typeof value === 'string' && !value.isWellFormed()) refuse(`${place} has a lone surrogate`);
  if (Array.isArray(value)) value.forEach((item, at) => requireClean(item, `${place}[${at}]`));
  if (!isMembers(value)) return;
  const prefix = place === '' ? '' : `${place}.`;
  if (value[TWICE] !== undefined) refuse(`${prefix}${value[TWICE]} appears twice`);
  for (const [name, member] of Object.entries(value)) {
    requireClean(name, `a name in ${place || 'the answer'}`);
    requireClean(member, prefix + name);
  }
};

const isWhole = (value) => Number.isSafeInteger(value) && value >= 0;

// --- Canonical text (RFC 8785) of objects that hold only texts, booleans, null and whole numbers ---

const quote = JSON.stringify;

const canonicalValue = (value, name) => {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') refuse(`${name} is not a text, a boolean or null`);
  if (!value.isWellFormed()) refuse(`${name} has a lone surrogate`);
  return quote(value);
};

/** Members ascend by UTF-16 code units, which is JavaScript's own order. */
const canonicalRow = (row) =>
  `{${Object.keys(row)
    .sort()
    .map((name) => `${quote(name)}:${canonicalValue(row[name], name)}`)
    .join(',')}}`;

/** Text of a leaf of the day tree; the members below are in canonical order. */
const partitionText = (day, { root, rows }, table, schemaVersion) =>
  `{"day":${quote(day)},"root":${quote(root)},"rows":${rows},"schema_version":${schemaVersion},"table":${quote(table)}}`;

// --- Merkle tree (RFC 6962 section 2.1) and audit path (RFC 9162 section 2.1.3.2) over SHA-256 ---

const sha256 = (...parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);

const hashLeaf = (text) => (text.isWellFormed() ? sha256(LEAF, text) : refuse('the text has a lone surrogate'));
const hashNode = (left, right) => sha256(NODE, left, right);
const toHex = (hash) => hash.toString('hex');

const readHash = (text, name) =>
  /^[0-9a-f]{64}$/.test(text) ? Buffer.from(text, 'hex') : refuse(`${name} is not 64 lower-case hex digits (32 bytes)`, null, text);

/** The root that a leaf and its path lead to, in a tree of `size` leaves. */
const rootFromPath = (leaf, index, size, path) => {
  if (index >= size) refuse(`leaf ${index} is not in a tree of ${size} leaves`);
  let [place, last, node] = [index, size - 1, leaf];
  const half = (number) => Math.floor(number / 2);
  for (const sibling of path) {
    if (last === 0) refuse('the path is longer than the tree is high');
    if (place % 2 === 1 || place === last) {
      node = hashNode(sibling, node);
      while (place % 2 === 0 && place !== 0) [place, last] = [half(place), half(last)];
    } else {
      node = hashNode(node, sibling);
    }
    [place, last] = [half(place), half(last)];
  }
  if (last !== 0) refuse('the path is shorter than the tree is high');
  return node;
};

/** Grows leaf by leaf; holds one hash for each level. */
class Tree {
  complete = []; // [height, hash] of complete subtrees, largest first

  append(leaf) {
    let [height, node] = [0, leaf];
    for (; this.complete.at(-1)?.[0] === height; height += 1) node = hashNode(this.complete.pop()[1], node);
    this.complete.push([height, node]);
  }

  root() {
    return toHex(this.complete.map(([, node]) => node).reduceRight((right, left) => hashNode(left, right)));
  }
}

// --- Parquet: flat schemas of BOOLEAN, INT64 and BYTE_ARRAY columns; codecs none and zstd ---

const [BOOLEAN, INT64, BYTE_ARRAY] = [0, 2, 6];
const [DATA_V1, DICTIONARY_PAGE, DATA_V2] = [0, 2, 3];
const [PLAIN, PLAIN_DICTIONARY, RLE, DELTA, RLE_DICTIONARY] = [0, 2, 3, 5, 8];
/** Of a row group; the service writes 10,000. A run of one value has any length in a few bytes. */
const MOST_ROWS = 2 ** 20;
/** Of a page, decompressed. */
const MOST_BYTES = 2 ** 28;

/** Reads forward through bytes. */
class Bytes {
  constructor(data, at = 0) {
    Object.assign(this, { data, at });
  }

  take(count) {
    if (!(count >= 0) || this.at + count > this.data.length) breakOff('data ends early');
    this.at += count;
    return this.data.subarray(this.at - count, this.at);
  }

  byte() {
    return this.take(1)[0];
  }

  varint() {
    for (let value = 0n, shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    return breakOff('a number that is too long');
  }

  zigzag() {
    const value = this.varint();
    return (value >> 1n) ^ -(value & 1n);
  }

  count() {
    const count = Number(this.varint());
    return isWhole(count) ? count : breakOff('a count that is too large');
  }

  length() {
    return this.take(4).readUInt32LE();
  }
}

/** A value of the compact protocol of Thrift; a struct is a map by field number. */
const readThrift = (source, kind) => {
  if (kind === 1 || kind === 2) return kind === 1;
  if (kind === 3) return source.byte();
  if (kind >= 4 && kind <= 6) return Number(source.zigzag());
  if (kind === 7) return source.take(8);
  if (kind === 8) return source.take(source.count());
  if (kind === 12) return readStruct(source);
  if (kind !== 9 && kind !== 10) breakOff('a Thrift value');
  const head = source.byte();
  const count = head >> 4 < 15 ? head >> 4 : source.count();
  const list = [];
  while (list.length < count) {
    const isFlag = (head & 15) === 1 || (head & 15) === 2;
    list.push(isFlag ? source.byte() === 1 : readThrift(source, head & 15));
  }
  return list;
};

const readStruct = (source) => {
  const fields = new Map();
  for (let number = 0, head = source.byte(); head !== 0; head = source.byte()) {
    number = head >> 4 > 0 ? number + (head >> 4) : Number(source.zigzag());
    fields.set(number, readThrift(source, head & 15));
  }
  return fields;
};

const memberOf = (struct, number) => (struct instanceof Map ? struct.get(number) : breakOff('a Thrift struct'));

/** A whole number from 0 to `most`; `other` where it is absent. */
const wholeOf = (struct, number, { most = Number.MAX_SAFE_INTEGER, other } = {}) => {
  const value = memberOf(struct, number) ?? other;
  return isWhole(value) && value <= most ? value : breakOff('a Thrift number');
};

const listOf = (struct, number) => {
  const value = memberOf(struct, number);
  return Array.isArray(value) ? value : breakOff('a Thrift list');
};

const textOf = (struct, number) => {
  const value = memberOf(struct, number);
  return Buffer.isBuffer(value) ? decodeText(value) : breakOff('a Thrift text');
};

/** `width` bits at place `bit`, for widths up to 32. */
const bitsAt = (bytes, bit, width) => {
  let value = 0;
  for (let at = 0; at * 8 < (bit & 7) + width; at += 1) value += bytes[(bit >> 3) + at] * 2 ** (8 * at);
  return Math.floor(value / 2 ** (bit & 7)) % 2 ** width;
};

/** Values by runs: one value repeated, or groups of eight packed into bits. */
const readHybrid = (source, width, count) => {
  if (width > 32) breakOff('a width');
  const values = [];
  while (values.length < count) {
    const head = source.count();
    const rows = Math.floor(head / 2);
    if (head % 2 === 0) {
      const bytes = source.take((width + 7) >> 3);
      const value = bitsAt(bytes, 0, 8 * bytes.length);
      for (let left = Math.min(rows, count - values.length); left > 0; left -= 1) values.push(value);
      continue;
    }
    const packed = source.take(rows * width);
    for (let at = 0; at < rows * 8 && values.length < count; at += 1) values.push(bitsAt(packed, at * width, width));
  }
  return values;
};

/** Eight numbers of `width` bits. */
const readEight = (source, width) => {
  const bits = source.take(width).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return Array.from({ length: 8 }, (_, at) => BigInt.asUintN(width, bits >> BigInt(at * width)));
};

/** DELTA_BINARY_PACKED: a first value, then blocks of differences. */
const readDeltas = (source, count) => {
  const [block, parts, total] = [source.count(), source.count(), source.count()];
  let value = source.zigzag();
  if (total !== count || parts === 0 || block % (8 * parts) !== 0) breakOff('deltas');
  const values = count > 0 ? [value] : [];
  while (values.length < count) {
    const least = source.zigzag();
    for (const width of source.take(parts)) {
      for (let left = block / parts; left > 0 && values.length < count; left -= 8) {
        for (const difference of readEight(source, width)) {
          value = BigInt.asIntN(64, value + least + difference);
          values.push(value);
        }
      }
    }
  }
  return values.slice(0, count);
};

const readPlain = (source, kind, count) => {
  const each = (read) => Array.from({ length: count }, (_, at) => read(at));
  if (kind === BOOLEAN) {
    const packed = source.take((count + 7) >> 3);
    return each((at) => ((packed[at >> 3] >> (at & 7)) & 1) === 1);
  }
  if (kind === INT64) {
    const packed = source.take(8 * count);
    return each((at) => packed.readBigInt64LE(8 * at));
  }
  if (kind === BYTE_ARRAY) return each(() => decodeText(source.take(source.length())));
  return breakOff('a column of another type');
};

const readValues = (source, encoding, kind, count, dictionary) => {
  if (count === 0) return [];
  if (encoding === PLAIN) return readPlain(source, kind, count);
  if (encoding === RLE_DICTIONARY || encoding === PLAIN_DICTIONARY)
    return readHybrid(source, source.byte(), count).map((place) => dictionary[place] ?? breakOff('a dictionary'));
  if (encoding === RLE && kind === BOOLEAN) {
    source.take(4);
    return readHybrid(source, 1, count).map((value) => value === 1);
  }
  return encoding === DELTA && kind === INT64 ? readDeltas(source, count) : breakOff('an encoding that is not known');
};

/** At most `size` bytes, which is what the header of the page states. */
const decompressPage = (data, codec, size) => {
  if (codec === 0 || data.length === 0) return data;
  return codec === 6 ? zlib.zstdDecompressSync(data, { maxOutputLength: Math.max(1, size) }) : breakOff('a codec that is not known');
};

/** Whether each cell is there: 1, or 0 for a null. */
const readLevels = (levels, count) => {
  const present = readHybrid(new Bytes(levels), 1, count);
  return present.every((level) => level <= 1) ? present : breakOff('a level');
};

/** Cells of one page; of column, kind and codec are given, and whether a cell may be null. */
const readDataPage = (header, data, { kind, codec, nullable }, dictionary) => {
  const isSecond = memberOf(header, 1) === DATA_V2;
  const facts = memberOf(header, isSecond ? 8 : 5);
  const count = wholeOf(facts, 1, { most: MOST_ROWS });
  const encoding = wholeOf(facts, isSecond ? 4 : 2);
  const size = wholeOf(header, 2, { most: MOST_BYTES });
  let source;
  let levels;
  if (isSecond) {
    const begin = wholeOf(facts, 6, { other: 0 });
    const end = begin + wholeOf(facts, 5);
    const isPacked = memberOf(facts, 7) ?? true;
    if (typeof isPacked !== 'boolean') breakOff('a Thrift flag');
    levels = data.subarray(begin, end);
    source = new Bytes(decompressPage(data.subarray(end), isPacked ? codec : 0, size));
  } else {
    source = new Bytes(decompressPage(data, codec, size));
    levels = nullable ? source.take(source.length()) : null;
  }
  const present = nullable ? readLevels(levels, count) : Array(count).fill(1);
  const filled = present.reduce((sum, level) => sum + level, 0);
  const values = readValues(source, encoding, kind, filled, dictionary).values();
  return present.map((level) => (level === 1 ? values.next().value : null));
};

/** Cells of one column of one row group. */
const readChunk = (data, facts, nullable) => {
  const [kind, codec, count] = [wholeOf(facts, 1), wholeOf(facts, 4), wholeOf(facts, 5, { most: MOST_ROWS })];
  const first = wholeOf(facts, 9);
  const source = new Bytes(data, Math.min(wholeOf(facts, 11, { other: first }), first));
  const cells = [];
  let dictionary = [];
  while (cells.length < count) {
    const header = readStruct(source);
    const page = source.take(wholeOf(header, 3));
    const type = wholeOf(header, 1);
    if (type === DICTIONARY_PAGE) {
      const size = wholeOf(header, 2, { most: MOST_BYTES });
      const words = wholeOf(memberOf(header, 7), 1, { most: MOST_ROWS });
      dictionary = readPlain(new Bytes(decompressPage(page, codec, size)), kind, words);
    } else if (type === DATA_V1 || type === DATA_V2) {
      for (const cell of readDataPage(header, page, { kind, codec, nullable }, dictionary)) cells.push(cell);
    }
  }
  return cells;
};

const instantText = (micros) => {
  if (micros < 0n || micros >= 253402300800000000n) breakOff('an instant outside 1970 to 9999');
  const instant = new Date(Number(micros / 1000n)).toISOString();
  return `${instant.slice(0, -1)}${String(micros % 1000n).padStart(3, '0')}Z`;
};

/** Integers as digits and instants as text, as they are hashed. */
const toCells = (name, cells) => {
  const write = INSTANTS.has(name) ? instantText : String;
  return cells.map((cell) => (typeof cell === 'bigint' ? write(cell) : cell));
};

/** Names of the columns, and the rows one by one. */
const openParquet = (data) => {
  if (data.length < 12 || data.toString('latin1', data.length - 4) !== 'PAR1') breakOff('no footer');
  const length = data.readUInt32LE(data.length - 8);
  if (length > data.length - 12) breakOff('no footer');
  const footer = readStruct(new Bytes(data, data.length - 8 - length));
  const columns = listOf(footer, 2).slice(1);
  const forms = columns.map((column) => wholeOf(column, 3, { other: 0 }));
  if (columns.some((column) => wholeOf(column, 5, { other: 0 }) > 0) || forms.includes(2)) breakOff('a schema that is not flat');
  const names = columns.map((column) => textOf(column, 4));
  const groups = listOf(footer, 4);
  const rows = function* () {
    for (const group of groups) {
      const count = wholeOf(group, 3, { most: MOST_ROWS });
      const parts = listOf(group, 1);
      const chunks = forms.map((form, at) => readChunk(data, memberOf(parts[at], 3), form === 1));
      if (chunks.some((cells) => cells.length !== count)) breakOff('columns of different lengths');
      const cells = chunks.map((chunk, at) => toCells(names[at], chunk));
      for (let row = 0; row < count; row += 1) yield cells.map((column) => column[row]);
    }
  };
  return { names, rows: rows() };
};

// --- CSV and JSONL ---

/** Lines without their line feed. */
const splitLines = function* (data) {
  const text = data.at(-1) === 10 ? data.subarray(0, -1) : data;
  for (let at = 0; at <= text.length; ) {
    const end = text.indexOf(10, at);
    yield text.subarray(at, end < 0 ? text.length : end);
    at = end < 0 ? text.length + 1 : end + 1;
  }
};

const countQuotes = (line) => {
  let count = 0;
  for (let at = line.indexOf(34); at >= 0; at = line.indexOf(34, at + 1)) count += 1;
  return count;
};

/** Records as text: a line feed inside quotes ends none. */
const csvRecords = function* (data) {
  let held = null;
  let quotes = 0;
  for (const line of splitLines(data)) {
    held = held === null ? line : Buffer.concat([held, Buffer.from('\n'), line]);
    quotes += countQuotes(line);
    if (quotes % 2 === 1) continue;
    yield decodeText(held);
    [held, quotes] = [null, 0];
  }
  if (held !== null) breakOff('a quote that does not end');
};

const splitRecord = (record) => {
  if (!record.includes('"')) return record.split(',');
  const pattern = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  const cells = [];
  for (let comma = ','; comma === ','; ) {
    const found = pattern.exec(record) ?? breakOff('a cell');
    cells.push(found[1] === undefined ? found[2] : found[1].replaceAll('""', '"'));
    comma = found[3];
  }
  return cells;
};

const FLAGS = new Map([['true', true], ['false', false]]);
const toCsvCell = (name, cell) => {
  if (cell === '') return null;
  return name === 'late' ? (FLAGS.get(cell) ?? cell) : cell;
};

const openCsv = (data) => {
  const records = csvRecords(data);
  const names = splitRecord(records.next().value);
  const rows = function* () {
    for (const record of records) {
      const cells = splitRecord(record);
      if (cells.length !== names.length) breakOff('a row of another length');
      yield cells.map((cell, at) => toCsvCell(names[at], cell));
    }
  };
  return { names, rows: rows() };
};

const openJsonl = (data) => {
  const first = parseJson(splitLines(data).next().value);
  if (!isMembers(first)) breakOff('a line that is not an object');
  const names = Object.keys(first);
  const rows = function* () {
    for (const line of splitLines(data)) {
      const row = parseJson(line);
      const isAlike = isMembers(row) && row[TWICE] === undefined && Object.keys(row).length === names.length;
      if (!isAlike || !names.every((name) => name in row)) breakOff('a row with other members');
      yield names.map((name) => (name === 'leaf_index' && isWhole(row[name]) ? String(row[name]) : row[name]));
    }
  };
  return { names, rows: rows() };
};

/** Columns and rows of an archive file, whatever its format; found by its first bytes. */
const openArchive = (data) => {
  if (data.toString('latin1', 0, 4) === 'PAR1') return openParquet(data);
  const text = data.length >= 4 && data.readUInt32LE(0) === 0xfd2fb528 ? zlib.zstdDecompressSync(data) : data;
  return text[0] === 0x7b ? openJsonl(text) : openCsv(text);
};

// --- Rules of rows ---

const DAY_MS = 86_400_000;
const nextDay = (day) => new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);

/** Sampling windows belong to the day in which they end, 24:00 included; candles and events to [00:00, 24:00). */
const requireInDay = (table, at, day) => {
  const [begin, end] = [day, nextDay(day)].map((date) => `${date}T00:00:00.000000Z`);
  if (typeof at !== 'string' || !INSTANT.test(at)) refuse(`${table.time} is not an instant with six digits of a second`);
  const endsIn = table.time === 'window_end';
  if (endsIn ? begin < at && at <= end : begin <= at && at < end) return;
  refuse(`${table.time} is not in the day`, endsIn ? `after ${begin}, until ${end}` : `from ${begin}, before ${end}`, at);
};

const compareTexts = (a, b) => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)));

/** Place of a row among those of its listing: null before texts, texts by bytes, seq as a number. */
const orderKey = (cells, places) => {
  const key = places.map((place) => cells[place]);
  const seq = key.pop();
  if (typeof seq !== 'string' || !/^[0-9]{1,15}$/.test(seq)) refuse('a row has no seq');
  if (!key.every((text) => text === null || typeof text === 'string')) refuse('a row has no order');
  return [...key, Number(seq)];
};

const compareKeys = (a, b) => {
  for (const [at, x] of a.entries()) {
    const y = b[at];
    if (x === y) continue;
    if (typeof x === 'number') return x - y;
    return x === null || y === null ? Number(x !== null) - Number(y !== null) : compareTexts(x, y);
  }
  return 0;
};

/** The rows of all files of a table as leaves; faults that still allow reading are kept for their step. */
class Leaves {
  table = null;
  /** Rows of one listing whose leaf_index rises by one. */
  runs = [];
  faults = new Map();

  constructor(day) {
    this.day = day;
  }

  /** Runs a check of a row; the first refusal of a step is kept. */
  keep(step, where, check) {
    try {
      return check();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!this.faults.has(step)) this.faults.set(step, new Refused(where + error.message, error.expected, error.found));
      return null;
    }
  }

  require(step) {
    if (this.faults.has(step)) throw this.faults.get(step);
  }

  addFile(name, data) {
    let number = 0;
    try {
      const { names, rows } = openArchive(data);
      const places = this.findTable(name, names);
      for (const cells of rows) {
        number += 1;
        this.addRow(`row ${number} of ${name}`, name, cells, places);
      }
    } catch (error) {
      throw error instanceof Refused ? error : new Refused(`${name} cannot be read after row ${number}`);
    }
  }

  findTable(name, columns) {
    const sorted = (names) => JSON.stringify([...names].sort());
    const table = TABLES.find((known) => sorted([...known.columns, ...NOT_HASHED]) === sorted(columns));
    if (table === undefined) refuse(`the columns of ${name} are those of no table`);
    if (this.table !== null && this.table !== table) refuse(`${name} is of another table`, this.table.name, table.name);
    this.table = table;
    return Object.fromEntries(columns.map((column, place) => [column, place]));
  }

  addRow(where, name, cells, places) {
    const { columns, order, time } = this.table;
    const index = cells[places.leaf_index];
    if (typeof index !== 'string' || !/^(?:0|[1-9][0-9]{0,14})$/.test(index)) {
      this.keep('leaf_index', where, () => refuse(' has no leaf_index: the file is not final'));
      return;
    }
    const listing = [cells[places.segment], cells[places.symbol]];
    if (!listing.every((text) => typeof text === 'string')) refuse(`${where} has no listing`);
    const row = Object.fromEntries(columns.map((column) => [column, cells[places[column]]]));
    let leaf;
    try {
      leaf = hashLeaf(canonicalRow(row));
    } catch (error) {
      refuse(`${where}: ${error.message}`);
    }
    const key = this.keep('order', `${where}: `, () => orderKey(cells, order.map((column) => places[column])));
    this.keep('row day', `${where}: `, () => requireInDay(this.table, row[time], this.day));
    this.append(where, { name, listing, first: Number(index), key }, leaf);
  }

  append(where, place, leaf) {
    let run = this.runs.at(-1);
    const isNext = run !== undefined && isSameListing(run, place) && run.first + run.hashes.length === place.first;
    if (isNext) {
      this.requireOrder(where, run.lastKey, place.key);
    } else {
      run = { ...place, hashes: [] };
      this.runs.push(run);
    }
    run.lastKey = place.key;
    run.hashes.push(leaf);
  }

  requireOrder(where, before, key) {
    if (before !== null && key !== null && compareKeys(before, key) >= 0)
      this.keep('order', where, () => refuse(' is not after the row before it'));
  }

  requireComplete(rows) {
    this.require('leaf_index');
    if (rows === 0) refuse('the partition has no rows: an empty table has none');
    this.runs.sort((a, b) => a.first - b.first);
    const count = this.runs.reduce((sum, { hashes }) => sum + hashes.length, 0);
    const refuseRows = (reason) => refuse(reason, `${rows} rows`, `${count} rows`);
    let expected = 0;
    for (const { first, hashes, name } of this.runs) {
      if (first < expected) refuseRows(`leaf_index ${first} appears twice, in ${name}`);
      if (first > expected) break;
      expected += hashes.length;
    }
    if (expected < rows) refuseRows(`leaf_index ${expected} is missing`);
    if (count !== rows) refuseRows(`leaf_index ${rows} is beyond the partition`);
  }

  /** Listings ascend by segment and symbol within each of three classes, and the rows of each are together. */
  requireListings() {
    const seen = new Set();
    let before = null;
    let classes = 1;
    for (const run of this.runs) {
      if (before !== null && isSameListing(before, run)) continue;
      const name = JSON.stringify(run.listing);
      if (seen.has(name)) refuse(`rows of ${run.listing.join(':')} are not together`);
      if (before !== null && compareKeys(run.listing, before.listing) < 0) classes += 1;
      seen.add(name);
      before = run;
    }
    if (classes > 3) refuse('the listings do not ascend', 'at most 3 classes', `${classes} classes`);
  }

  requireLeafOrder() {
    for (const [at, run] of this.runs.entries()) {
      const before = this.runs[at - 1];
      if (before !== undefined && isSameListing(before, run))
        this.requireOrder(`leaf_index ${run.first}`, before.lastKey, run.key);
    }
    this.require('order');
  }

  root() {
    const tree = new Tree();
    for (const { hashes } of this.runs) for (const leaf of hashes) tree.append(leaf);
    return tree.root();
  }
}

const isSameListing = (a, b) => a.listing[0] === b.listing[0] && a.listing[1] === b.listing[1];

// --- Form of the answers ---

const isText = (value) => typeof value === 'string';
const FORMS = {
  'text': isText,
  'text or null': (value) => value === null || isText(value),
  'whole number': isWhole,
  'whole number or null': (value) => value === null || isWhole(value),
  'object': isMembers,
  'list of texts': (value) => Array.isArray(value) && value.every(isText),
  'list of objects': (value) => Array.isArray(value) && value.every(isMembers),
};
const ANCHOR_FORM = { contract: 'text or null', tx_hash: 'text or null', block: 'whole number or null', anchored_at: 'text or null' };
const COMMON_FORM = { day: 'text', network: 'text or null', schema_version: 'whole number', day_root: 'text', anchor: 'object' };
const PROOF_FORM = {
  ...COMMON_FORM,
  layer: 'text',
  table: 'text',
  row: 'object',
  canonical: 'text',
  leaf_hash: 'text',
  index: 'whole number',
  rows: 'whole number',
  path: 'list of texts',
  partition: 'object',
};
const PARTITION_FORM = { root: 'text', leaf: 'text', index: 'whole number', count: 'whole number', path: 'list of texts' };
const DAY_FORM = { ...COMMON_FORM, partitions: 'list of objects' };
const DAY_PARTITION_FORM = { table: 'text', rows: 'whole number', root: 'text', leaf: 'text', index: 'whole number' };

const unusable = (reason) => {
  throw new Unusable(reason);
};

const requireMembers = (value, form, prefix = '') => {
  for (const [member, kind] of Object.entries(form))
    if (!(member in value) || !FORMS[kind](value[member])) refuse(`${prefix}${member} is missing or is not a ${kind}`);
};

/** A date of the calendar that has a next day. */
const isDate = (text) => {
  const at = /^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text) && text < '9999-12-31';
};

/** Refuses an answer that lacks a member that is verified, or has one of another kind. */
const requireForm = (answer) => {
  requireMembers(answer, 'row' in answer ? PROOF_FORM : DAY_FORM);
  requireMembers(answer.anchor, ANCHOR_FORM, 'anchor.');
  if ('row' in answer) requireMembers(answer.partition, PARTITION_FORM, 'partition.');
  else answer.partitions.forEach((partition, at) => requireMembers(partition, DAY_PARTITION_FORM, `partitions[${at}].`));
  if (!isDate(answer.day)) refuse('day is not a date YYYY-MM-DD');
};

/** The first step. Without its members there is nothing to compute, and the answer is not verified. */
const hasForm = async (report, answer) => {
  if (await report.step('form', 'every member that is verified is there and of its kind', () => requireForm(answer))) return true;
  report.tell('NOT VERIFIED: form');
  return false;
};

const readFile = (name) => {
  try {
    return readFileSync(name);
  } catch {
    return unusable(`${name} cannot be opened`);
  }
};

/** The code of an error answer that was saved in place of a proof; null of anything else. */
const readRefusalCode = (answer) => {
  const first = isMembers(answer) && Array.isArray(answer.errors) ? answer.errors[0] : null;
  return isMembers(first) && typeof first.code === 'string' && /^[A-Z0-9_]{1,64}$/.test(first.code) ? first.code : null;
};

const readAnswer = (name) => checkAnswer(name, readFile(name));

const checkAnswer = (name, data) => {
  let answer;
  try {
    answer = parseJson(data);
  } catch {
    unusable(`${name} is not JSON`);
  }
  const refused = readRefusalCode(answer);
  if (refused !== null) unusable(`${name} is a refusal of the service (${refused}), not an answer to verify`);
  if (!isMembers(answer) || !('row' in answer || 'partitions' in answer))
    unusable(`${name} is neither a proof answer (member row) nor an answer for a day (member partitions)`);
  return answer;
};

// --- Steps on the chain ---

const CHAIN_STEPS = {
  'chain id': 'the RPC serves the network of the answer',
  'contract code': 'the code at anchor.contract is that of AnchorRoots',
  'chain root': 'the contract holds day_root for the day',
  'transaction': 'anchor.tx_hash posted day_root for the day in anchor.block',
};
const RPC_TIMEOUT_MS = 30_000;

const askRpc = async (url, method, params) => {
  let answer;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'verify' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(RPC_TIMEOUT_MS),
    });
    answer = response.ok ? JSON.parse(await response.text()) : breakOff('status');
  } catch {
    refuse(`the RPC did not answer ${method}`);
  }
  if (!isMembers(answer) || !('result' in answer)) refuse(`the RPC refused ${method}`);
  return answer.result;
};

const readQuantity = (value, method) =>
  isText(value) && /^0x[0-9a-fA-F]{1,64}$/.test(value) ? BigInt(value).toString() : refuse(`the RPC did not answer ${method} with a number`);

const readData = (value, method) =>
  isText(value) && /^0x(?:[0-9a-fA-F]{2})*$/.test(value) ? value.slice(2).toLowerCase() : refuse(`the RPC did not answer ${method} with bytes`);

const requireHex = (name, value, digits) => {
  if (value === null) refuse(`${name} is null: the day is not posted yet`);
  if (!new RegExp(`^0x[0-9a-fA-F]{${digits}}$`).test(value)) refuse(`${name} is not 0x and ${digits} hex digits`, null, value);
  return value.toLowerCase();
};

class Chain {
  constructor(answer, url) {
    const dayWord = Number(answer.day.replaceAll('-', '')).toString(16).padStart(64, '0');
    Object.assign(this, { answer, anchor: answer.anchor, url, dayWord });
  }

  ask(method, ...params) {
    return askRpc(this.url, method, params);
  }

  contract() {
    return requireHex('anchor.contract', this.anchor.contract, 40);
  }

  async checkId() {
    if (this.answer.network === null) refuse('network is null: the day is not posted yet');
    const found = `eip155:${readQuantity(await this.ask('eth_chainId'), 'eth_chainId')}`;
    requireEqual('the RPC serves another chain', this.answer.network, found);
  }

  /** Whether the first block of the node's chain is another than that of Base. A node that does not tell it is believed. */
  async hasOtherGenesis() {
    const block = await this.ask('eth_getBlockByNumber', '0x0', false).catch((error) => {
      if (!(error instanceof Refused)) throw error;
      return null;
    });
    const found = isMembers(block) ? block.hash : null;
    return isText(found) && /^0x[0-9a-fA-F]{64}$/.test(found) && found.toLowerCase() !== BASE_GENESIS;
  }

  async checkCode() {
    const code = readData(await this.ask('eth_getCode', this.contract(), 'latest'), 'eth_getCode');
    if (code === '') refuse('there is no contract at this address');
    const found = toHex(sha256(Buffer.from(code, 'hex')));
    requireEqual('the contract has other code (SHA-256 of its bytes)', CODE_SHA256, found);
  }

  async checkRoot() {
    const root = toHex(readHash(this.answer.day_root, 'day_root'));
    const call = { to: this.contract(), data: ROOTS_SELECTOR + this.dayWord };
    const found = readData(await this.ask('eth_call', call, 'latest'), 'eth_call');
    if (/^0{64}$/.test(found)) refuse('the contract holds no root for this day', root, found);
    requireEqual('the contract holds another root for this day', root, found);
  }

  async checkTransaction() {
    const name = requireHex('anchor.tx_hash', this.anchor.tx_hash, 64);
    const receipt = await this.ask('eth_getTransactionReceipt', name);
    if (!isMembers(receipt)) refuse('the chain has no such transaction', name);
    requireEqual('the transaction did not succeed', '0x1', receipt.status);
    if (this.anchor.block !== null) {
      const block = readQuantity(receipt.blockNumber, 'eth_getTransactionReceipt');
      requireEqual('the transaction is in another block', String(this.anchor.block), block);
    }
    this.checkEvent(Array.isArray(receipt.logs) ? receipt.logs.filter(isMembers) : []);
  }

  checkEvent(logs) {
    const topics = JSON.stringify([ANCHORED_TOPIC, `0x${this.dayWord}`]);
    const isOurs = (log) => String(log.address).toLowerCase() === this.contract() && JSON.stringify(log.topics) === topics;
    const data = String(logs.find(isOurs)?.data);
    if (!/^0x[0-9a-f]{128}$/.test(data)) refuse('the transaction has no event Anchored of this contract and day');
    requireEqual('the transaction posted another root', this.answer.day_root, data.slice(2, 66));
    const stated = this.anchor.anchored_at;
    if (stated === null) return;
    const found = instantText(BigInt(`0x${data.slice(66)}`) * 1_000_000n);
    requireEqual('the block has another time', stated, `${found.slice(0, 19)}.000Z`);
  }
}

/** A root on another chain than Base binds nobody: the steps hold there too. */
const isRehearsal = (answer) => answer.network !== BASE || answer.binding === false;

/** A chain that is not Base itself: another id, or another history under the same one. */
const describeChain = ({ network }) =>
  network === BASE ? `the chain has the id of Base (${BASE}) and is another one` : `the chain (${network ?? 'not known yet'}) is not Base (${BASE})`;

const noteRehearsal = (report, answer) => {
  report.tell(`note rehearsal: ${describeChain(answer)}, so the anchor binds nobody`);
  report.rehearsal = true;
};

/** The steps on the chain; skipped without a URL. */
const checkChain = async (report, answer, url) => {
  if (isRehearsal(answer)) noteRehearsal(report, answer);
  const chain = new Chain(answer, url);
  const checks = [() => chain.checkId(), () => chain.checkCode(), () => chain.checkRoot(), () => chain.checkTransaction()];
  for (const [at, [name, claim]] of Object.entries(CHAIN_STEPS).entries()) {
    if (url === null) report.skip(name, 'no --rpc URL is given');
    else if (name === 'transaction' && answer.anchor.tx_hash === null) report.skip(name, 'the answer names no transaction');
    else await report.step(name, claim, checks[at]);
  }
  if (url !== null && !report.rehearsal && !report.failed.includes('chain id') && (await chain.hasOtherGenesis())) noteRehearsal(report, answer);
};

const conclude = (report, answer, what, url) => {
  const { day, day_root, network } = answer;
  if (report.failed.length > 0) report.tell(`NOT VERIFIED: ${report.failed.join(', ')}`);
  else if (url === null)
    report.tell(`Only the offline part was checked: ${what} leads to day_root ${day_root}. Give --rpc URL to check the chain.`);
  else {
    const verified = report.rehearsal ? 'VERIFIED in a rehearsal' : 'VERIFIED';
    report.tell(`${verified}: ${what} leads to the root that ${answer.anchor.contract.toLowerCase()} on ${network} holds for ${day}.`);
  }
  return report.failed.length > 0 ? 1 : 0;
};

// --- Steps of a proof answer ---

const findNamedTable = (name) =>
  TABLES.find((table) => table.name === name) ??
  refuse('the table is none of the anchored ones', TABLES.map((table) => table.name).join(', '), name);

/** Leaf, path and root are given with their names. */
const checkPath = (leaf, [index, size], path, root) => {
  const hashes = path[1].map((text, at) => readHash(text, `${path[0]}[${at}]`));
  const expected = toHex(readHash(root[1], root[0]));
  const found = toHex(rootFromPath(readHash(leaf[1], leaf[0]), index, size, hashes));
  requireEqual('the path leads to another root', expected, found);
};

const checkText = (text, leaf, name) =>
  requireEqual(`the text ${text} has another hash`, toHex(readHash(leaf, name)), toHex(hashLeaf(text)));

const requireKnownVersion = ({ schema_version }) =>
  requireEqual('this program knows no other schema_version', SCHEMA_VERSION, schema_version);

const checkPartitionLeaf = ({ day, partition, rows, table, schema_version }) => {
  readHash(partition.root, 'partition.root');
  checkText(partitionText(day, { root: partition.root, rows }, table, schema_version), partition.leaf, 'partition.leaf');
};

const checkColumns = (answer) => {
  requireKnownVersion(answer);
  const table = findNamedTable(answer.table);
  requireEqual('the layer is not that of the table', table.layer, answer.layer);
  const missing = table.columns.find((name) => !(name in answer.row));
  if (missing !== undefined) refuse(`${missing} is missing`);
  const other = Object.keys(answer.row).find((name) => !table.columns.includes(name));
  if (other !== undefined) refuse(`${other} is not a column of ${table.name}`);
};

const checkRowDay = ({ table, row, day }) => {
  const { time } = findNamedTable(table);
  for (const name of ['segment', 'symbol']) if (!isText(row[name])) refuse(`${name} is not a text`);
  requireInDay({ time }, row[time], day);
};

const verifyProof = async (name, answer, url, report = new Report()) => {
  report.tell(`proof ${name}`);
  if (!(await hasForm(report, answer))) return 1;
  const { partition } = answer;
  await report.step('text', 'no member appears twice, no text has a lone surrogate', () => requireClean(answer));
  await report.step('canonical', 'row in canonical form (RFC 8785) is canonical', () =>
    requireEqual('the row has another canonical text', answer.canonical, canonicalRow(answer.row)),
  );
  await report.step('leaf_hash', 'SHA-256(0x00 || canonical) is leaf_hash', () =>
    requireEqual('the text has another hash', toHex(readHash(answer.leaf_hash, 'leaf_hash')), toHex(hashLeaf(answer.canonical))),
  );
  await report.step('path', 'leaf_hash, index, rows and path lead to partition.root', () =>
    checkPath(['leaf_hash', answer.leaf_hash], [answer.index, answer.rows], ['path', answer.path], ['partition.root', partition.root]),
  );
  await report.step('partition.leaf', 'day, table, schema_version, rows and partition.root hash to partition.leaf', () => checkPartitionLeaf(answer));
  await report.step('day_root', 'partition.leaf, index, count and path lead to day_root', () =>
    checkPath(
      ['partition.leaf', partition.leaf],
      [partition.index, partition.count],
      ['partition.path', partition.path],
      ['day_root', answer.day_root],
    ),
  );
  await report.step('row day', 'the row is of the day', () => checkRowDay(answer));
  await report.step('columns', 'table, layer and columns of the row belong together', () => checkColumns(answer));
  await checkChain(report, answer, url);
  return conclude(report, answer, `row ${answer.index} of ${answer.rows} of ${answer.table}`, url);
};

// --- Steps of a day and the files of one table ---

const findPartition = (answer, table) => {
  const found = answer.partitions.filter((partition) => partition.table === table);
  return found.length === 1 ? found[0] : refuse(`the day has not one partition ${table}`, 1, found.length);
};

const checkLeafText = ({ day, schema_version }, partition) =>
  checkText(partitionText(day, partition, partition.table, schema_version), partition.leaf, `the leaf of ${partition.table}`);

const checkDayTree = (answer) => {
  const { partitions } = answer;
  if (partitions.length === 0) refuse('the day has no partition');
  const names = partitions.map(({ table }) => table);
  requireEqual('the tables do not ascend', [...new Set(names)].sort(compareTexts).join(', '), names.join(', '));
  const tree = new Tree();
  for (const [at, partition] of partitions.entries()) {
    requireEqual(`the index of ${partition.table}`, partition.index, at);
    checkLeafText(answer, partition);
    tree.append(Buffer.from(partition.leaf, 'hex'));
  }
  requireEqual('the leaves have another root', toHex(readHash(answer.day_root, 'day_root')), tree.root());
};

const readFiles = (answer, leaves, names) => {
  requireKnownVersion(answer);
  for (const name of names) leaves.addFile(name, readFile(name));
  findPartition(answer, leaves.table.name);
};

const checkPartitionRoot = ({ root }, leaves) =>
  requireEqual('the rows have another root', toHex(readHash(root, 'the root of the partition')), leaves.root());

/** Steps that need the rows. Without all of them there is no root to compute. */
const verifyRows = async (report, answer, leaves) => {
  const partition = findPartition(answer, leaves.table.name);
  const { rows } = partition;
  const isComplete = await report.step('leaf_index', 'leaf_index is 0 to rows - 1, each once', () => leaves.requireComplete(rows));
  await report.step('row day', 'every row is of the day', () => leaves.require('row day'));
  if (isComplete) {
    await report.step('listings', 'rows of a listing are together, listings ascend', () => leaves.requireListings());
    await report.step('order', 'rows of a listing are in leaf order', () => leaves.requireLeafOrder());
    await report.step('partition.root', 'the rows as leaves have the root of the partition', () => checkPartitionRoot(partition, leaves));
  } else {
    for (const step of ['listings', 'order', 'partition.root']) report.skip(step, 'not every row is there once');
  }
  await report.step('partition.leaf', 'day, table, schema_version, rows and root hash to the leaf of the partition', () =>
    checkLeafText(answer, partition),
  );
};

const ROW_STEPS = ['leaf_index', 'row day', 'listings', 'order', 'partition.root', 'partition.leaf'];

const verifyDay = async (name, answer, files, url) => {
  say(`day ${name}, ${files.length} files`);
  const report = new Report();
  if (!(await hasForm(report, answer))) return 1;
  const leaves = new Leaves(answer.day);
  await report.step('text', 'no member appears twice, no text has a lone surrogate', () => requireClean(answer));
  if (await report.step('files', 'every file can be read and is of one table of the day', () => readFiles(answer, leaves, files)))
    await verifyRows(report, answer, leaves);
  else for (const step of ROW_STEPS) report.skip(step, 'the files cannot be used');
  await report.step('day_root', 'the partitions, ascending by table, have day_root', () => checkDayTree(answer));
  await checkChain(report, answer, url);
  return conclude(report, answer, leaves.table === null ? 'the table' : `all of ${leaves.table.name}`, url);
};

// --- Command line ---

const USAGE = 'usage: verify PROOF.json... [--rpc URL]\n       verify DAY.json FILE... [--rpc URL]';

const readArguments = (words) => {
  const files = [];
  let url = null;
  for (let at = 0; at < words.length; at += 1) {
    if (words[at] === '--rpc') {
      at += 1;
      if (url !== null || at === words.length) unusable('--rpc takes one URL');
      url = words[at];
      if (!/^https?:\/\/./.test(url)) unusable('--rpc takes an http or https URL');
    } else if (words[at].startsWith('--')) {
      unusable(`${words[at]} is not an option`);
    } else {
      files.push(words[at]);
    }
  }
  if (files.length === 0) unusable('no file is given');
  return { files, url };
};

const requireReadable = (name) => {
  try {
    closeSync(openSync(name));
  } catch {
    unusable(`${name} cannot be opened`);
  }
};

const run = async (words) => {
  if (zlib.zstdDecompressSync === undefined) unusable('Node 22.15 or newer is needed');
  const { files, url } = readArguments(words);
  const first = readAnswer(files[0]);
  if (!('row' in first)) {
    if (files.length === 1) unusable('the files of a table are missing');
    files.slice(1).forEach(requireReadable);
    return verifyDay(files[0], first, files.slice(1), url);
  }
  const answers = [first, ...files.slice(1).map(readAnswer)];
  answers.forEach((answer, at) => {
    if (!('row' in answer)) unusable(`${files[at]} is an answer for a day: it comes first, and files of a table after it`);
  });
  let code = 0;
  for (const [at, answer] of answers.entries()) code = Math.max(code, await verifyProof(files[at], answer, url));
  return code;
};

/** Prints the report; returns the exit code. */
const main = async (words) => {
  if (words.includes('--help') || words.includes('-h')) {
    console.log(USAGE);
    return 0;
  }
  try {
    return await run(words);
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    console.error(`${shown(error.message)}\n${USAGE}`);
    return 2;
  }
};

/**
 * Verifies a proof answer, as the text that came: for programs. `rpc` is the URL of a node of the chain, null for the offline steps alone;
 * `tell` receives each line of the report. Throws for input that cannot be used as a proof at all.
 */
const verifyProofText = async (text, { rpc = null, tell = () => {} } = {}) => {
  const answer = checkAnswer('the answer', Buffer.from(text));
  if (!('row' in answer)) unusable('the answer is for a day: the files of a table are verified with it, by this program itself');
  const report = new Report(tell);
  const code = await verifyProof('answer', answer, rpc, report);
  return { verified: code === 0, onChain: rpc !== null && code === 0, rehearsal: report.rehearsal, day: answer.day, day_root: answer.day_root, steps: report.steps };
};

export { main, openArchive, verifyProofText };

/** Whether this file is what Node was started with, and not imported. */
const isStarted = () => {
  try {
    return realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);
  } catch {
    return false;
  }
};

// Not awaited here: programs that use require could not load a module that waits.
if (isStarted())
  main(process.argv.slice(2)).then((code) => {
    process.exitCode = code;
  });
