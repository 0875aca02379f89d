// Records of the service's topics that are no values of their topic: they are passed over, counted, and logged once for each partition.
import { AvroError, LaterSchema } from '../../../schemas/avro/codec.ts';
import type { Logger } from '../process/log.ts';
import { bindMetrics, type Registry } from '../process/metrics.ts';

type RecordPlace = { readonly topic: string; readonly partition: number; readonly offset: number };

export class ForeignRecords {
  readonly #log: Pick<Logger, 'error'>;
  readonly #logged = new Set<string>();
  #count = 0;

  constructor(log: Pick<Logger, 'error'>) {
    this.#log = log;
  }

  /** Records passed over since the process started; one that is read twice counts twice. */
  get count(): number {
    return this.#count;
  }

  /**
   * Returns what `read` returns, or null when it throws `AvroError`: another producer wrote the record, so it states nothing. `read` must
   * decode before it changes anything. A record of a later version of the service throws: it states something that this process cannot read.
   */
  passOver<T>({ topic, partition, offset }: RecordPlace, read: () => T): T | null {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof AvroError) || error instanceof LaterSchema) throw error;
      this.#count += 1;
      const place = `${topic}/${partition}`;
      if (!this.#logged.has(place)) {
        this.#logged.add(place);
        const text =
          'another producer wrote to this topic: its record is passed over, and further ones of the partition';
        this.#log.error({ err: error, topic, partition, offset }, text);
      }
      return null;
    }
  }
}

/** Adds the counter of what is passed over to a process's metrics. */
export const countForeignRecords = (registry: Registry, foreign: ForeignRecords): void =>
  bindMetrics(registry).watchCounter(
    'kafka_foreign_records_total',
    'Records of another producer in topics of the service, which were passed over (alarm).',
    () => foreign.count,
  );
