// The disk spool: stores, in order, records that Kafka does not accept. Durable within milliseconds, bounded, and consistent after a crash.
import { type FileHandle, mkdir, open, readdir, readFile, rename, rmdir, stat, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { describeError } from '../../schemas/thrown.ts';
import { decodeRecords, encodeRecord, type SpoolRecord } from './spool-format.ts';
import { lockFolder, unlockFolder } from './spool-lock.ts';

export type SpoolOptions = {
  /** Created with the first record; removed at the end when empty. */
  readonly dir: string;
  /** Capacity in bytes: from there on `refusal` returns a reason, until a quarter is free. */
  readonly maxBytes: number;
  readonly log: Logger;
  readonly segmentBytes?: number;
  /** Delay before a failed write is retried. */
  readonly retryMs?: number;
};

/** A closed file of the spool. */
export type Segment = {
  readonly path: string;
  readonly bytes: number;
  /** Wall time of the first record, in milliseconds. */
  readonly firstMs: number;
  /** Written by an earlier process with this name. */
  readonly recovered: boolean;
};

type SpoolCounts = { readonly writtenBytes: number; readonly droppedBytes: number; readonly syncs: number };

type Active = { readonly handle: FileHandle; readonly path: string; readonly firstMs: number; bytes: number };

const SEGMENT_BYTES = 8 * 1024 * 1024;
const RETRY_MS = 1_000;
/** Records that arrive within this time share one write and one fsync. */
const GROUP_MS = 10;
/** While fewer bytes than this are on disk, new records wait in memory for the few milliseconds until the brokers have them. */
const HELD_BYTES = 512 * 1024;
/** A full spool accepts records again below this share, so that connections do not flap with every file. */
const ROOM_SHARE = 0.75;
const SUFFIX = '.spool';
const KEPT = 'connections.open';

const ignoreResult = (): void => undefined;

export class Spool {
  readonly #options: Required<SpoolOptions>;
  readonly #segments: Segment[] = [];
  #active: Active | null = null;
  #next = 1;
  #kept: readonly SpoolRecord[] = [];
  #locked = false;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #pendingMs: number | null = null;
  #writing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #held = false;
  #failure: string | null = null;
  #refusal: string | null = null;
  #looking: NodeJS.Timeout | null = null;
  #counts = { writtenBytes: 0, droppedBytes: 0, syncs: 0 };

  constructor(options: SpoolOptions) {
    this.#options = { segmentBytes: SEGMENT_BYTES, retryMs: RETRY_MS, ...options };
  }

  /** Finds the files of an earlier process. */
  async recover(): Promise<void> {
    const { dir, log } = this.#options;
    const names = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith(SUFFIX)).sort();
    if (names.length === 0) return;
    this.#lock();
    this.#kept = decodeRecords(await readFile(join(dir, KEPT)).catch(() => Buffer.alloc(0))).records;
    for (const name of names) {
      const path = join(dir, name);
      const { size: bytes, mtimeMs } = await stat(path);
      this.#next = Number.parseInt(name, 10) + 1;
      this.#segments.push({ path, bytes, firstMs: mtimeMs, recovered: true });
    }
    log.warn(
      { dir, files: names.length, bytes: this.bytes() },
      'an earlier process left messages: they go to Kafka first',
    );
  }

  /** Preserves the order of the calls. The record is durable within some milliseconds, see `pendingBytes`. */
  append(record: SpoolRecord): void {
    const [head, value] = encodeRecord(record);
    this.#pending.push(head, value);
    this.#pendingBytes += head.length + value.length;
    this.#pendingMs ??= Date.now();
    this.#schedule(GROUP_MS);
  }

  isEmpty(): boolean {
    return this.bytes() === 0;
  }

  /** Bytes on disk and in memory. */
  bytes(): number {
    const closed = this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
    return closed + (this.#active?.bytes ?? 0) + this.#pendingBytes;
  }

  /** Bytes in memory only, lost in a crash. */
  pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Milliseconds since the oldest record arrived; 0 when empty. */
  ageMs(): number {
    const firstMs = this.#segments[0]?.firstMs ?? this.#active?.firstMs ?? this.#pendingMs;
    return firstMs === null ? 0 : Math.max(0, Date.now() - firstMs);
  }

  counts(): SpoolCounts {
    return this.#counts;
  }

  /** Why nothing more is accepted, or null. Records appended regardless stay in memory until they can be written. */
  refusal(): string | null {
    if (this.#refusal === null && this.bytes() >= this.#options.maxBytes)
      this.#refuse(`the spool is full: ${this.#options.maxBytes} bytes`);
    return this.#refusal;
  }

  /** The oldest file, closed first if it is still open; null when the remaining records are in memory only (`takePending`). */
  async next(): Promise<Segment | null> {
    if (this.#segments.length === 0) {
      this.#held = true;
      this.#unschedule();
      await this.#writing;
      await this.#close();
    }
    const [oldest = null] = this.#segments;
    if (oldest !== null && this.bytes() - this.#pendingBytes > HELD_BYTES) this.release();
    return oldest;
  }

  /** Ends the hold in memory that `next` began for a nearly empty spool. */
  release(): void {
    this.#held = false;
    this.#schedule(GROUP_MS);
  }

  /** The records of a file, without a torn end. Never fails: unreadable bytes are counted as dropped and logged. */
  async read(segment: Segment): Promise<readonly SpoolRecord[]> {
    const { path, bytes } = segment;
    const content = await readFile(path).catch((error: unknown) => {
      this.#options.log.error({ err: error, path }, 'a file of the spool cannot be read');
      return Buffer.alloc(0);
    });
    const { records, wholeBytes } = decodeRecords(content.subarray(0, bytes));
    if (wholeBytes === bytes) return records;
    this.#counts.droppedBytes += bytes - wholeBytes;
    // A crash may cut a write that was never confirmed; anything else is a disk fault.
    const isTorn = this.isLastRecovered(segment);
    this.#options.log[isTorn ? 'warn' : 'error'](
      { path, dropped: bytes - wholeBytes },
      'the end of a spool file is incomplete',
    );
    return records;
  }

  /** True for the newest file of the earlier process. */
  isLastRecovered(segment: Segment): boolean {
    return this.#segments.findLast(({ recovered }) => recovered) === segment;
  }

  /** Removes a file whose records are acknowledged. */
  async drop(segment: Segment): Promise<void> {
    await unlink(segment.path).catch((error: unknown) =>
      this.#options.log.error({ err: error, path: segment.path }, 'a file of the spool cannot be removed'),
    );
    this.#segments.splice(this.#segments.indexOf(segment), 1);
  }

  /** What an earlier process kept of the files that it removed. */
  kept(): readonly SpoolRecord[] {
    return this.#kept;
  }

  /** Keeps records beside the files of an earlier process, in place of those kept before. Never fails: without them a later process knows less. */
  async keep(records: readonly SpoolRecord[]): Promise<void> {
    const path = join(this.#options.dir, KEPT);
    try {
      if (records.length === 0) {
        for (const name of [path, `${path}.new`]) await unlink(name).catch(ignoreResult);
        return;
      }
      const handle = await open(`${path}.new`, 'w');
      const write = async (): Promise<void> => {
        await handle.writeFile(Buffer.concat(records.flatMap(encodeRecord)));
        await handle.datasync();
      };
      await write().finally(() => handle.close());
      await rename(`${path}.new`, path);
    } catch (error) {
      this.#options.log.warn({ err: error, path }, 'open connections of an earlier process cannot be kept on disk');
    }
  }

  /** The records in memory, after `next` returned null: the caller owns them from here on. */
  takePending(): readonly SpoolRecord[] {
    const { records } = decodeRecords(Buffer.concat(this.#pending));
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#pendingMs = null;
    this.#failure = null;
    this.#held = false;
    return records;
  }

  /** True once everything is on disk; false when the disk does not accept it. */
  async sync(): Promise<boolean> {
    this.#held = false;
    this.#unschedule();
    await this.#writing;
    while (this.#pendingBytes > 0) {
      this.#commit();
      await this.#writing;
      if (this.#failure !== null) return false;
    }
    return true;
  }

  /** Stops; records on disk stay for the next process. Call `sync` first. */
  async close(): Promise<void> {
    this.#held = true;
    this.#unschedule();
    if (this.#looking !== null) clearInterval(this.#looking);
    await this.#writing;
    await this.#close();
    if (!this.#locked) return;
    unlockFolder(this.#options.dir);
    if (this.#segments.length === 0) await rmdir(this.#options.dir).catch(ignoreResult);
  }

  #lock(): void {
    if (!this.#locked) lockFolder(this.#options.dir);
    this.#locked = true;
  }

  #schedule(ms: number): void {
    if (this.#held || this.#writing !== null || this.#pendingBytes === 0) return;
    this.#timer ??= setTimeout(() => this.#commit(), ms);
  }

  #unschedule(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #commit(): void {
    this.#unschedule();
    const group = this.#pending.splice(0);
    const bytes = this.#pendingBytes;
    const write = async (): Promise<void> => {
      try {
        await this.#write(Buffer.concat(group));
        this.#pendingBytes -= bytes;
        this.#pendingMs = this.#pendingBytes === 0 ? null : Date.now();
        this.#failure = null;
      } catch (error) {
        this.#pending = [...group, ...this.#pending];
        this.#failure = describeError(error);
        this.#refuse(`the spool cannot be written: ${this.#failure}`);
      }
      this.#writing = null;
      this.#schedule(this.#failure === null ? GROUP_MS : this.#options.retryMs);
    };
    this.#writing = write();
  }

  async #write(group: Buffer): Promise<void> {
    this.#active ??= await this.#open();
    const active = this.#active;
    try {
      await active.handle.appendFile(group);
      await active.handle.datasync();
    } catch (error) {
      // The retry writes the whole group: a partial write must not precede it.
      await active.handle.truncate(active.bytes).catch(ignoreResult);
      await this.#close();
      throw error;
    }
    active.bytes += group.length;
    this.#counts.writtenBytes += group.length;
    this.#counts.syncs += 1;
    if (active.bytes >= this.#options.segmentBytes) await this.#close();
  }

  async #open(): Promise<Active> {
    const { dir } = this.#options;
    await mkdir(dir, { recursive: true });
    this.#lock();
    const path = join(dir, `${String(this.#next).padStart(12, '0')}${SUFFIX}`);
    const handle = await open(path, 'ax');
    this.#next += 1;
    const folder = await open(dir, 'r');
    // The directory entry must be durable too.
    await folder.sync().finally(() => folder.close());
    return { handle, path, firstMs: this.#pendingMs ?? Date.now(), bytes: 0 };
  }

  async #close(): Promise<void> {
    const active = this.#active;
    if (active === null) return;
    this.#active = null;
    await active.handle.close().catch(ignoreResult);
    const { path, bytes, firstMs } = active;
    if (bytes > 0) this.#segments.push({ path, bytes, firstMs, recovered: false });
    else await unlink(path).catch(ignoreResult);
  }

  #refuse(reason: string): void {
    if (this.#refusal === null) this.#options.log.error({ dir: this.#options.dir, bytes: this.bytes() }, reason);
    this.#refusal = reason;
    this.#looking ??= setInterval(() => void this.#look(), this.#options.retryMs);
  }

  /** Accepts records again once the last write succeeded, a quarter is free and the disk has room for two files. */
  async #look(): Promise<void> {
    const { dir, maxBytes, segmentBytes, log } = this.#options;
    const { bavail, bsize } = await statfs(dir).catch(() => ({ bavail: 0, bsize: 0 }));
    const hasRoom = bavail * bsize >= 2 * segmentBytes && this.bytes() <= ROOM_SHARE * maxBytes;
    if (this.#failure !== null || !hasRoom || this.#looking === null) return;
    clearInterval(this.#looking);
    this.#looking = null;
    this.#refusal = null;
    log.info({ dir, bytes: this.bytes() }, 'the spool takes again');
  }
}
