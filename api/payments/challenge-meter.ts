// Limits the 402 answers that a source address gets in a minute, both first challenges and refusals (P-05).
import { toSource } from '../contract/source-address.ts';

/** Answers a source address may have in a minute. */
export const CHALLENGES_PER_MINUTE = 60;
/** `drop-oldest`. */
const MOST_SOURCES = 50_000;

export class ChallengeMeter {
  readonly #sources = new Map<string, { minute: number; used: number }>();

  /** Seconds to wait when the address has had its share of this minute, else null. */
  admit(address: string, nowMs: number): number | null {
    const source = toSource(address);
    const minute = Math.floor(nowMs / 60_000);
    let count = this.#sources.get(source);
    if (count === undefined || count.minute !== minute) {
      count = { minute, used: 0 };
      this.#sources.delete(source);
      this.#sources.set(source, count);
      if (this.#sources.size > MOST_SOURCES) this.#forgetOldest();
    }
    if (count.used >= CHALLENGES_PER_MINUTE) return Math.ceil(60 - (nowMs % 60_000) / 1_000);
    count.used += 1;
    return null;
  }

  /** A payment of the address was served. */
  giveBack(address: string): void {
    const count = this.#sources.get(toSource(address));
    if (count !== undefined && count.used > 0) count.used -= 1;
  }

  #forgetOldest(): void {
    for (const source of this.#sources.keys()) return void this.#sources.delete(source);
  }
}
