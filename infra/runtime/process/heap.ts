// Memory settings of V8, applied before a process does its work.
import { setFlagsFromString } from 'node:v8';

/** V8 marks the whole heap each time buffers have grown by 64 MB, whatever the heap's size. With this flag buffers count as heap (D-59). */
export const countBuffersAsHeap = (): void => setFlagsFromString('--external-memory-accounted-in-global-limit');
