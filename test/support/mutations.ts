// Ways a frame may be damaged, chosen by a seeded generator so that a failure can be run again.

export type Random = (below: number) => number;

/** Whole numbers from 0 to `below` - 1 (Numerical Recipes' linear congruence, high bits). */
export const randomOf = (seed: number): Random => {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
};

type Damage = (frame: Buffer, random: Random) => Buffer;

const splice = (frame: Buffer, at: number, removed: number, put: Buffer): Buffer =>
  Buffer.concat([frame.subarray(0, at), put, frame.subarray(at + removed)]);

const places = (frame: Buffer, pattern: RegExp): number[] =>
  [...frame.toString('latin1').matchAll(pattern)].map(({ index }) => index);

const swapAt =
  (pattern: RegExp, put: string): Damage =>
  (frame, random) => {
    const found = places(frame, pattern);
    return found.length === 0 ? frame : splice(frame, found[random(found.length)] ?? 0, 1, Buffer.from(put));
  };

const DAMAGES: readonly Damage[] = [
  (frame, random) => frame.subarray(0, random(frame.length)),
  (frame, random) => splice(frame, random(frame.length), 1, Buffer.from([random(256)])),
  (frame, random) => splice(frame, random(frame.length), 1 + random(20), Buffer.alloc(0)),
  (frame, random) => splice(frame, random(frame.length), 0, Buffer.from([random(256), random(256)])),
  (frame, random) => {
    const at = random(frame.length);
    return splice(frame, at, 0, frame.subarray(at, at + random(30)));
  },
  swapAt(/\d/g, 'x'),
  swapAt(/\d/g, '-'),
  swapAt(/"/g, ''),
  swapAt(/\d(?=")/g, 'e999'),
  (frame, random) => {
    const text = frame.toString('latin1');
    const member = [...text.matchAll(/"(\w+)":("[^"]*"|\d+|\[)/g)];
    const chosen = member[random(member.length)];
    return chosen === undefined
      ? frame
      : Buffer.from(text.replace(`"${chosen[1]}":`, `"${chosen[1]}":null,"_":`), 'latin1');
  },
];

/** The frame with one damage; some damaged frames can still be read. */
export const mutate = (frame: Buffer, random: Random): Buffer => {
  const damage = DAMAGES[random(DAMAGES.length)];
  return damage === undefined ? frame : damage(frame, random);
};
