// Ends the supervised processes when their supervisor is gone, however it went (kill -9 included): its stdin closes then.
// Lines read: `+ <pid> <signal>` watches a process group, `- <pid>` forgets it.
import { createInterface } from 'node:readline';

const GRACE_MS = 8000;
const watched = new Map();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const [verb, pid, signal] = line.split(' ');
  if (verb === '+') watched.set(Number(pid), signal);
  else watched.delete(Number(pid));
});
lines.on('close', () => {
  for (const [pid, signal] of watched) send(pid, signal);
  const deadline = Date.now() + GRACE_MS;
  const timer = setInterval(() => {
    for (const pid of watched.keys()) {
      if (!send(pid, Date.now() > deadline ? 'SIGKILL' : 0)) watched.delete(pid);
    }
    if (watched.size === 0) clearInterval(timer);
  }, 50);
});

function send(pid, signal) {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}
