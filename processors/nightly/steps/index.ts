// The registry of nightly steps: one line a step.
import type { Step } from '../step.ts';
import { anchor } from './anchor/anchor.ts';
import { archive } from './archive/archive.ts';
import { close } from './merkle/close.ts';
import { compare } from './merkle/compare.ts';
import { presence } from './presence.ts';
import { recheck } from './recheck.ts';
import { retention } from './retention.ts';
import { signIn } from './sign-in.ts';
import { turnover } from './turnover.ts';

export const STEPS: readonly Step[] = [turnover, presence, recheck, retention, signIn, archive, close, anchor, compare];
