// What is stored of a token: its hash. No token can be guessed, so a plain hash is enough.
import { createHash } from 'node:crypto';

export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();
