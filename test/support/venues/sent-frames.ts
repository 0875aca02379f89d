// Frames sent by a simulator of a test; the bench compares them with a raw topic.
import { readSentFrames, type SentFrames } from '../../../infra/dev/bench/soak/sent-frames.ts';
import type { Simulator } from '../services/pipeline.ts';

/** Everything the simulator sent on its sockets so far. */
export const readSent = ({ control }: Simulator): Promise<SentFrames> => readSentFrames(control);
