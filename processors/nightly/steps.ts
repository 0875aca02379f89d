// The nightly steps, each in a file of its own.
import { anchor } from './anchor/anchor.ts';
import { archive } from './archive/archive.ts';
import { close } from './merkle/close.ts';
import { compare } from './merkle/compare.ts';
import { presence } from './presence.ts';
import { recheck } from './recheck.ts';
import { retention } from './retention.ts';
import { signInStep } from './sign-in.ts';
import type { Step } from './step.ts';
import { turnover } from './turnover.ts';

export const STEPS: readonly Step[] = [
  turnover,
  presence,
  recheck,
  retention,
  signInStep,
  archive,
  close,
  anchor,
  compare,
];
