/** Stands in tap's bundle for the package async-hook-domain (D-1065): an error that nothing caught fails the test in which it was thrown. */
import { AsyncLocalStorage, type AsyncResource, executionAsyncResource } from 'node:async_hooks';

type OnError = (error: unknown, origin: string) => void;

/** Node carries it along for nothing; the package follows every promise by a hook, with which an `await` costs thirty times as much. */
const current = new AsyncLocalStorage<Domain>();
/** That of the file: tap makes it first. */
let ofFile: Domain | undefined;

process.on('uncaughtExceptionMonitor', passOn);

export class Domain {
  /** The name under which tap calls it too. */
  readonly onerror: OnError;
  readonly #around = current.getStore();
  #isLive = true;

  constructor(onerror: OnError) {
    this.onerror = onerror;
    ofFile ??= this;
    // tap makes the domain of a test inside the resource in which it runs the test afterwards.
    enterWithin(executionAsyncResource(), this);
  }

  /** The nearest whose test has not ended. */
  findLive(): Domain | undefined {
    return this.#isLive ? this : this.#around?.findLive();
  }

  destroy(): void {
    this.#isLive = false;
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
  const domain = current.getStore()?.findLive() ?? ofFile?.findLive();
  if (domain === undefined) {
    // The error ends the process. A process that ends already keeps the code that it has, and tap has set it to 0 (signal-exit).
    process.exitCode = 1;
    return;
  }
  // This error ends the process no more; the next one has its own turn.
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null));
  domain.onerror(error, origin);
}
