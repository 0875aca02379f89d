// The processors' process: tasks over raw partitions and the sink into QuestDB. Reads its configuration, starts, stops.
import { venues } from '../ingest/venues/index.ts';
import { readConfig } from '../infra/runtime/config.ts';
import { openKafka } from '../infra/runtime/kafka.ts';
import { runProcess } from '../infra/runtime/lifecycle.ts';
import { createLog } from '../infra/runtime/log.ts';
import { createMetrics, serveMetrics } from '../infra/runtime/metrics.ts';
import { processorConfig } from './config.ts';
import { createProcessorMetrics } from './metrics.ts';
import { startTasks } from './run.ts';
import { startSink } from './sinks/questdb.ts';

runProcess('processors', async () => {
  const config = readConfig(processorConfig, process.env);
  const log = createLog('processors');
  const registry = createMetrics();
  const handle = openKafka({ brokers: config.KAFKA_BROKERS, clientId: 'processors' }, log);
  const known = config.VENUES.map((id) => venues.get(id) ?? fail(id));
  const shared = { handle, venues: known, namespace: config.TOPIC_NAMESPACE, log };
  const tasks = await startTasks({
    ...shared,
    groupId: `${config.TOPIC_NAMESPACE}${config.PROCESSOR_GROUP}`,
    ticks: config.OWNER_TICKS,
    metrics: createProcessorMetrics(registry),
  });
  const server = await serveMetrics(registry, config.METRICS_PORT, { problem: tasks.problem });
  return async () => {
    await tasks.stop();
    await server.close();
    await handle.close();
  };
});

function fail(id: string): never {
  throw new Error(`unknown venue "${id}"; known: ${[...venues.keys()].join(', ')}`);
}
