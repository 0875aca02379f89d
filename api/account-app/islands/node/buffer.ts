// The replacement of Node's `Buffer` in pages: bytes of a text, of hex and of a list, and their hex. The bundler inserts it where a program names it.

class Bytes extends Uint8Array {
  override toString(encoding?: string): string {
    return encoding === 'hex'
      ? [...this].map((byte) => byte.toString(16).padStart(2, '0')).join('')
      : new TextDecoder().decode(this);
  }
}

const toBytes = (value: string | Iterable<number>, encoding?: string): Iterable<number> => {
  if (typeof value !== 'string') return value;
  if (encoding !== 'hex') return new TextEncoder().encode(value);
  return (value.match(/[0-9a-fA-F]{2}/g) ?? []).map((pair) => Number.parseInt(pair, 16));
};

const InPage = {
  from: (value: string | Iterable<number>, encoding?: string): Bytes => new Bytes(toBytes(value, encoding)),
  concat: (parts: readonly Uint8Array[]): Bytes => new Bytes(parts.flatMap((part) => [...part])),
};

export { InPage as Buffer };
