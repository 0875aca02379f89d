// kafkajs's encoder without zeroed memory. Upstream: pull request 811 (merged) gave it one growing buffer; no upstream issue found about its zeros.
import { replacePart, requirePart } from './replace.ts';

type Encoder = { buf: Buffer; offset: number; readonly buffer: Buffer };
type EncoderClass = { new (initialSize?: number): Encoder; nextPowerOfTwo(value: number): number };

const LARGE = 4_096;
const SOME_MORE = 64;
const ENCODER = 'kafkajs/src/protocol/encoder';
const OwnEncoder = requirePart<EncoderClass>(ENCODER);

/** kafkajs's own takes fresh memory for each part of a request and fills it with zeros. Here nothing is read that was not written. */
export class UnzeroedEncoder extends OwnEncoder {
  constructor(initialSize = 511) {
    super(0);
    this.buf = Buffer.allocUnsafe(OwnEncoder.nextPowerOfTwo(initialSize));
  }

  ensureAvailable(length: number): void {
    const needed = this.offset + length;
    if (needed <= this.buf.length) return;
    // A large value comes last, so it gets little more than its length. Small values double the buffer, or each would copy all before it.
    const isLarge = length >= LARGE && length > this.buf.length;
    const larger = Buffer.allocUnsafe(isLarge ? needed + SOME_MORE : OwnEncoder.nextPowerOfTwo(needed));
    this.buf.copy(larger, 0, 0, this.offset);
    this.buf = larger;
  }
}
replacePart(ENCODER, UnzeroedEncoder);
