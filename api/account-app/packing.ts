// Compresses what the site sends with brotli: assets once at start, pages when they are rendered.
import { brotliCompressSync, constants } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { isCodingTaken } from '../contract/negotiation.ts';

/** Higher levels are smaller by a few in a hundred at most, and take seconds over all scripts at every start. */
const ASSET_QUALITY = 6;
/** A board of 400 listings takes a millisecond. */
const PAGE_QUALITY = 3;

const pack = (bytes: Buffer, quality: number): Buffer =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } });

export const packAsset = (bytes: Buffer): Buffer => pack(bytes, ASSET_QUALITY);
export const packPage = (text: string): Buffer => pack(Buffer.from(text), PAGE_QUALITY);

/** Whether the browser of a request unpacks brotli. */
export const canUnpack = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  isCodingTaken(headers['accept-encoding'], 'br');
