// Metrics of the web process: requests by route and status, passwords that wait for their turn, letters, rows that were tidied away.
import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from '../../infra/runtime/metrics.ts';
import { readLetterBacklog } from '../accounts/mail.ts';
import { passwordLoad } from '../accounts/passwords.ts';

export type LetterOutcome = 'sent' | 'failed';

export type CountWeb = {
  readonly letter: (outcome: LetterOutcome) => void;
  readonly tidied: (table: string, rows: number) => void;
  /** Counts the requests of an app; call it before the app is ready. */
  readonly watch: (app: FastifyInstance) => void;
};

const BUCKETS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

const addLoad = (registers: Registry[], pool: Pool): void => {
  new Gauge({
    name: 'perp_web_passwords_waiting',
    help: 'Passwords that are checked or wait for it.',
    registers,
    collect() {
      this.set(passwordLoad().waiting);
    },
  });
  new Gauge({
    name: 'perp_web_passwords_refused_total',
    help: 'Passwords that were not checked, for too many waited: answered 503.',
    registers,
    collect() {
      this.set(passwordLoad().refused);
    },
  });
  new Gauge({
    name: 'perp_web_database_waiting',
    help: 'Requests that wait for a connection to PostgreSQL.',
    registers,
    collect() {
      this.set(pool.waitingCount);
    },
  });
};

const addBacklog = (registers: Registry[], pool: Pool): void => {
  const oldest = new Gauge({
    name: 'perp_web_letters_oldest_seconds',
    help: 'Age of the oldest letter that waits; 0: none does.',
    registers,
  });
  new Gauge({
    name: 'perp_web_letters_waiting',
    help: 'Letters of the last day that were not sent.',
    registers,
    async collect() {
      // While the database is unavailable the last figures remain.
      const backlog = await readLetterBacklog(pool).catch(() => null);
      if (backlog === null) return;
      this.set(backlog.waiting);
      oldest.set(backlog.oldestS);
    },
  });
};

export const createWebMetrics = (registry: Registry, pool: Pool): CountWeb => {
  const registers = [registry];
  const requests = new Counter({
    name: 'perp_web_requests_total',
    help: 'Answers by route and status.',
    labelNames: ['route', 'status'],
    registers,
  });
  const seconds = new Histogram({
    name: 'perp_web_request_seconds',
    help: 'Time to answer.',
    labelNames: ['route'],
    buckets: BUCKETS,
    registers,
  });
  const letters = new Counter({
    name: 'perp_web_letters_total',
    help: 'Attempts to send a letter.',
    labelNames: ['outcome'],
    registers,
  });
  const tidied = new Counter({
    name: 'perp_web_tidied_rows_total',
    help: 'Rows that were past their time and are gone.',
    labelNames: ['table'],
    registers,
  });
  for (const outcome of ['sent', 'failed'] as const) letters.inc({ outcome }, 0);
  addLoad(registers, pool);
  addBacklog(registers, pool);
  return {
    letter: (outcome) => letters.inc({ outcome }),
    tidied: (table, rows) => tidied.inc({ table }, rows),
    watch(app) {
      app.addHook('onResponse', async (request, reply) => {
        // An address without a route is counted as `none`: the caller chooses it, so it would make labels without bound.
        const route = request.routeOptions.url ?? 'none';
        requests.inc({ route, status: String(reply.statusCode) });
        seconds.observe({ route }, reply.elapsedTime / 1_000);
      });
    },
  };
};
