// The nightly steps, each in a file of its own.
import { archive } from './archive/archive.ts';
import { close } from './merkle/close.ts';
import { compare } from './merkle/compare.ts';
import { recheck } from './recheck.ts';
import { retention } from './retention.ts';
import type { Step } from './step.ts';
import { turnover } from './turnover.ts';

export const STEPS: readonly Step[] = [turnover, recheck, retention, archive, close, compare];
