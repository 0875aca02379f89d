/** Stands in tap's bundle for the package async-hook-domain (D-1065): an error that nothing caught fails the test in which it was thrown. */
import { AsyncLocalStorage, type AsyncResource, executionAsyncResource } from 'node:async_hooks';

type OnError = (error: unknown, origin: string) => void;

/** Node carries it along for nothing; the package follows every promise by a hook, with which an `await` costs thirty times as much. */
const current = new AsyncLocalStorage<Domain>();
/** In the order in which they were made: the first is that of the file. */
const live = new Set<Domain>();

export class Domain {
  readonly onError: OnError;
  readonly #around = current.getStore();

  constructor(onError: OnError) {
    this.onError = onError;
    // tap makes the domain of a test inside the resource in which it runs the test afterwards.
    enterWithin(executionAsyncResource(), this);
    if (live.size === 0) process.on('uncaughtExceptionMonitor', passOn);
    live.add(this);
  }

  /** The nearest whose test has not ended. */
  findLive(): Domain | undefined {
    return live.has(this) ? this : this.#around?.findLive();
  }

  destroy(): void {
    live.delete(this);
    if (live.size === 0) process.off('uncaughtExceptionMonitor', passOn);
  }
}

function enterWithin(resource: object & Partial<AsyncResource>, domain: Domain): void {
  const run = resource.runInAsyncScope;
  if (run === undefined) return;
  resource.runInAsyncScope = (work, receiver, ...args) =>
    run.call(resource, () => current.run(domain, () => Reflect.apply(work, receiver, args))) as ReturnType<typeof work>;
}

/** A promise that was rejected and not caught comes here too. What a test listens for itself is left to it. */
function passOn(error: unknown, origin: string): void {
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return;
  const [ofFile] = live;
  const domain = current.getStore()?.findLive() ?? ofFile;
  // This error ends the process no more; the next one has its own turn.
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null));
  domain?.onError(error, origin);
}
