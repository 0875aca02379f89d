// Metrics of the web process: requests by route and status, passwords that wait to be checked, mail, expired rows that were deleted.
import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { Gauge } from 'prom-client';
import { bindMetrics, type Registry } from '../../infra/runtime/process/metrics.ts';
import { limitTime } from '../../infra/runtime/time/within.ts';
import { readLetterBacklog } from '../accounts/mail.ts';
import { readPasswordLoad } from '../accounts/passwords.ts';

type LetterOutcome = 'sent' | 'failed';

type CountWeb = {
  readonly letter: (outcome: LetterOutcome) => void;
  readonly tidied: (table: string, rows: number) => void;
  /** Counts the requests of an app; call it before the app is ready. */
  readonly watch: (app: FastifyInstance) => void;
};

/** A database that is frozen must not hold the other figures back. */
const ANSWER_MS = 2_000;
const BUCKETS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

const addLoad = (registry: Registry, pool: Pool): void => {
  const { watchGauge, watchCounter } = bindMetrics(registry);
  watchGauge(
    'perp_web_passwords_waiting',
    'Passwords that are being checked or wait to be checked.',
    () => readPasswordLoad().waiting,
  );
  watchCounter(
    'perp_web_passwords_refused_total',
    'Passwords that were not checked because too many waited; the response was 503.',
    () => readPasswordLoad().refused,
  );
  watchGauge(
    'perp_web_database_waiting',
    'Requests that wait for a connection to PostgreSQL.',
    () => pool.waitingCount,
  );
};

const addBacklog = (registry: Registry, pool: Pool): void => {
  const { makeGauge } = bindMetrics(registry);
  const oldest = makeGauge(
    'perp_web_letters_oldest_seconds',
    'Age of the oldest message that waits; 0: no message waits.',
  );
  new Gauge({
    name: 'perp_web_letters_waiting',
    help: 'Messages of the last day that were not sent.',
    registers: [registry],
    async collect() {
      // While the database is unavailable the last figures remain.
      const backlog = await limitTime(readLetterBacklog(pool), ANSWER_MS).catch(() => null);
      if (backlog === null) return;
      this.set(backlog.waiting);
      oldest.set(backlog.oldestS);
    },
  });
};

export const createWebMetrics = (registry: Registry, pool: Pool): CountWeb => {
  const { makeCounter, makeHistogram } = bindMetrics(registry);
  const requests = makeCounter('perp_web_requests_total', 'Answers by route and status.', ['route', 'status']);
  const seconds = makeHistogram('perp_web_request_seconds', 'Time to answer.', {
    buckets: BUCKETS,
    labelNames: ['route'],
  });
  const letters = makeCounter('perp_web_letters_total', 'Attempts to send a message.', ['outcome']);
  const tidied = makeCounter('perp_web_tidied_rows_total', 'Expired rows that were deleted.', ['table']);
  for (const outcome of ['sent', 'failed'] as const) letters.inc({ outcome }, 0);
  addLoad(registry, pool);
  addBacklog(registry, pool);
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
