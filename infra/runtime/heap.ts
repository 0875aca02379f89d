// What V8 is told of memory before a process does its work.
import { setFlagsFromString } from 'node:v8';

/** V8 marks the whole heap each time buffers have grown by 64 MB, however large the heap is. With this they count as the heap does, and grow with it (D-59). */
export const countBuffersAsHeap = (): void => setFlagsFromString('--external-memory-accounted-in-global-limit');
