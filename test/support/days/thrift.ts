// The compact protocol of Thrift for tests that spoil Parquet files: structs read with their types, and written again.

export type ThriftField = { readonly id: number; readonly type: number; readonly value: ThriftValue };
export type ThriftStruct = readonly ThriftField[];
type ThriftList = { readonly of: number; readonly items: readonly ThriftValue[] };
type ThriftValue = boolean | bigint | Buffer | ThriftList | ThriftStruct;

const [TRUE, FALSE, BYTE, BINARY, LIST, STRUCT] = [1, 2, 3, 8, 9, 12];

/** The struct at `at`, and where it ends. */
export const readThriftStruct = (data: Buffer, at: number): { readonly fields: ThriftStruct; readonly end: number } => {
  let place = at;
  const byte = (): number => data[place++] as number;
  const varint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const part = byte();
      value |= BigInt(part & 127) << shift;
      if (part < 128) return value;
    }
  };
  const zigzag = (): bigint => {
    const value = varint();
    return (value >> 1n) ^ -(value & 1n);
  };
  const value = (type: number): ThriftValue => {
    if (type === TRUE || type === FALSE) return type === TRUE;
    if (type === BYTE) return BigInt(byte());
    if (type === STRUCT) return struct();
    if (type === BINARY) {
      const size = Number(varint());
      place += size;
      return data.subarray(place - size, place);
    }
    if (type !== LIST) return zigzag();
    const head = byte();
    const count = head >> 4 < 15 ? head >> 4 : Number(varint());
    return { of: head & 15, items: Array.from({ length: count }, () => value(head & 15)) };
  };
  const struct = (): ThriftStruct => {
    const fields: ThriftField[] = [];
    for (let id = 0, head = byte(); head !== 0; head = byte()) {
      id = head >> 4 > 0 ? id + (head >> 4) : Number(zigzag());
      fields.push({ id, type: head & 15, value: value(head & 15) });
    }
    return fields;
  };
  return { fields: struct(), end: place };
};

const writeVarint = (value: bigint): number[] =>
  value < 128n ? [Number(value)] : [Number(value & 127n) | 128, ...writeVarint(value >> 7n)];
const writeZigzag = (value: bigint): number[] => writeVarint(value < 0n ? -2n * value - 1n : 2n * value);

const writeValue = (type: number, value: ThriftValue): number[] => {
  if (typeof value === 'boolean') return [];
  if (typeof value === 'bigint') return type === BYTE ? [Number(value)] : writeZigzag(value);
  if (Buffer.isBuffer(value)) return [...writeVarint(BigInt(value.length)), ...value];
  if (!('of' in value)) return writeStruct(value);
  const { of, items } = value;
  return [0xf0 | of, ...writeVarint(BigInt(items.length)), ...items.flatMap((item) => writeValue(of, item))];
};

const writeStruct = (fields: ThriftStruct): number[] => [
  // Each id as a whole: fields may be in any order.
  ...fields.flatMap(({ id, type, value }) => [type, ...writeZigzag(BigInt(id)), ...writeValue(type, value)]),
  0,
];

export const formatThriftStruct = (fields: ThriftStruct): Buffer => Buffer.from(writeStruct(fields));

/** The member at a path of ids and places in lists, replaced by what `change` makes of it; null leaves it out. */
export const changeThrift = (
  fields: ThriftStruct,
  [id = 0, ...rest]: readonly number[],
  change: (field: ThriftField) => ThriftField | null,
): ThriftStruct =>
  fields.flatMap((field) => {
    if (field.id !== id) return [field];
    if (rest.length === 0) return change(field) ?? [];
    return [{ ...field, value: changeInside(field.value, rest, change) }];
  });

const changeInside = (
  value: ThriftValue,
  path: readonly number[],
  change: (field: ThriftField) => ThriftField | null,
): ThriftValue => {
  if (Array.isArray(value)) return changeThrift(value as ThriftStruct, path, change);
  if (typeof value !== 'object' || !('of' in value)) throw new Error(`there is nothing at ${path.join('.')}`);
  const [place = 0, ...rest] = path;
  const items = value.items.map((item, at) => (at === place ? changeInside(item, rest, change) : item));
  return { ...value, items };
};
