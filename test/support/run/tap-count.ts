/** Counts the assertions in the output of a TAP file: the test points that are not the summary of a subtest. */

export interface TapCount {
  readonly passed: number;
  readonly failed: number;
}

const POINT = /^(\s*)(not )?ok\b(.*)$/;

/** Skipped and todo points count as neither; a failed summary counts when nothing inside it failed (a timeout, a plan). */
export function countAssertions(output: string): TapCount {
  let passed = 0;
  let failed = 0;
  /** By depth: counts of the points since the last point of a lesser depth. */
  const inside: (TapCount | undefined)[] = [];
  for (const line of output.split('\n')) {
    const point = POINT.exec(line);
    if (point === null || (point[1] ?? '').length % 4 !== 0) continue;
    const depth = (point[1] ?? '').length / 4;
    const children = inside[depth + 1];
    inside.length = depth + 1;
    const own = children ?? ownCount(point[2] !== undefined, point[3] ?? '');
    const missed =
      children !== undefined && children.failed === 0 && point[2] !== undefined && !isExcused(point[3] ?? '');
    const here = {
      passed: children === undefined ? own.passed : 0,
      failed: (children === undefined ? own.failed : 0) + Number(missed),
    };
    passed += here.passed;
    failed += here.failed;
    const before = inside[depth] ?? { passed: 0, failed: 0 };
    inside[depth] = { passed: before.passed + own.passed, failed: before.failed + own.failed + Number(missed) };
  }
  return { passed, failed };
}

function ownCount(isNot: boolean, rest: string): TapCount {
  if (isExcused(rest)) return { passed: 0, failed: 0 };
  return isNot ? { passed: 0, failed: 1 } : { passed: 1, failed: 0 };
}

function isExcused(rest: string): boolean {
  return /(?<!\\)#\s*(skip|todo)\b/i.test(rest);
}
