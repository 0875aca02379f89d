// What a simulator of a test sent; how it is held against a raw topic is the bench's.
import { readSentFrames, type SentFrames } from '../../infra/dev/bench/sent-frames.ts';
import type { Simulator } from './pipeline.ts';

/** Everything the simulator sent on its sockets so far. */
export const readSent = ({ control }: Simulator): Promise<SentFrames> => readSentFrames(control);
