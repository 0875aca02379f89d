// The machine of a bench, and the cost of each process of the run: CPU and memory from /proc (Linux only).
import { readdirSync, readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { readRun } from '../../engines/data-dir.ts';
import { findEngineJars } from '../../engines/java.ts';

export const PROCESSES = ['simulator', 'ingest', 'processors', 'api', 'kafka', 'questdb', 'bench'] as const;
/** Includes the processes that a load does not affect. */
export const EVERY_PROCESS = [...PROCESSES, 'nightly', 'postgres'] as const;
export type ProcessName = (typeof EVERY_PROCESS)[number];

/** `ownMb`: the process's own part of the resident memory; mapped files (columns, logs) are the system's cache and grow with the data. */
type Usage = { readonly cpuSeconds: number; readonly residentMb: number; readonly ownMb: number };
type UsageByProcess = ReadonlyMap<ProcessName, Usage>;

/** Linux counts CPU time in hundredths of a second, whatever the kernel's own tick is (man 5 proc, sysconf(_SC_CLK_TCK)). */
const TICKS_PER_SECOND = 100;

/** Resources a process used since its start; null when it is no longer ours. */
export const readProcessUsage = (pid: number): Usage | null => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name may hold blanks and brackets: fields are counted after its last bracket; utime and stime are 14 and 15.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const megabytes = (pattern: RegExp): number => Number(pattern.exec(status)?.[1] ?? 0) / 1024;
    const ticks = Number(fields[11]) + Number(fields[12]);
    return {
      cpuSeconds: ticks / TICKS_PER_SECOND,
      residentMb: megabytes(/^VmRSS:\s+(\d+) kB/m),
      ownMb: megabytes(/^RssAnon:\s+(\d+) kB/m),
    };
  } catch {
    return null;
  }
};

/** Milliseconds since its start that a main thread ran, and that it was ready while other threads used all cores. */
export type ThreadTimes = { readonly ranMs: number; readonly waitedMs: number };

/** The first thread of a process, on which JavaScript runs (proc_pid_schedstat: nanoseconds); null where the system does not report it. */
export const readMainThread = (pid: number): ThreadTimes | null => {
  try {
    const [ran, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { ranMs: (ran ?? 0) / 1e6, waitedMs: (waited ?? 0) / 1e6 };
  } catch {
    return null;
  }
};

/** Open file descriptors; null when the process is no longer ours. */
export const countDescriptors = (pid: number): number | null => {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
};

/** Process ids by name, of a run whose processes are recorded under `dir`. */
export const findPid = (dir: string, name: ProcessName): number | null =>
  name === 'bench' ? process.pid : (readRun(dir, name)?.pid ?? null);

export const readUsage = (dir: string): UsageByProcess => {
  const usage = new Map<ProcessName, Usage>();
  for (const name of PROCESSES) {
    const pid = findPid(dir, name);
    const of = pid === null ? null : readProcessUsage(pid);
    if (of !== null) usage.set(name, of);
  }
  return usage;
};

/** Cores each process kept busy between two readings; leaves out a process that was restarted meanwhile. */
export const computeCores = (
  before: UsageByProcess,
  after: UsageByProcess,
  seconds: number,
): Map<ProcessName, number> => {
  const cores = new Map<ProcessName, number>();
  for (const [name, { cpuSeconds }] of after) {
    const used = cpuSeconds - (before.get(name)?.cpuSeconds ?? cpuSeconds);
    if (used >= 0) cores.set(name, used / seconds);
  }
  return cores;
};

/** CPU time of the whole machine since its start, other processes included. */
export const readMachineCpuSeconds = (): number =>
  cpus().reduce((total, { times }) => total + times.user + times.nice + times.sys + times.irq, 0) / 1_000;

/** Milliseconds of all cores since its start in which a virtual machine was ready while its host ran others; 0 where this is not reported. */
export const readStolenMs = (): number => {
  try {
    const [, , , , , , , , stolen] = readFileSync('/proc/stat', 'utf8').slice(0, 200).split(/\s+/);
    return (Number(stolen ?? 0) * 1_000) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
};

const findJarVersion = (engine: 'kafka' | 'questdb', pattern: RegExp): string => {
  for (const file of readdirSync(findEngineJars(engine))) {
    const version = pattern.exec(file)?.[1];
    if (version !== undefined) return version;
  }
  return 'from outside';
};

/** One line to quote with every figure. */
export const describeMachine = (): string => {
  const cores = cpus();
  return [
    `${cores.length} cores (${cores[0]?.model.trim() ?? 'unknown'})`,
    `${Math.round(totalmem() / 1024 ** 3)} GB`,
    `Node ${process.versions.node}`,
    `Kafka ${findJarVersion('kafka', /^kafka_[\d.]+-([\d.]+)\.jar$/)}`,
    `QuestDB ${findJarVersion('questdb', /^questdb-([\d.]+)\.jar$/)}`,
    'everything on this machine',
  ].join(', ');
};
