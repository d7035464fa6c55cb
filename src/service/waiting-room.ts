import { notReady, readyPath } from '../http/ready.ts';
import type { Handler } from './listener.ts';

/**
 * Holds early requests until the service can answer them. The port is bound before the databases
 * start, so that a second service fails at once. Only the readiness check is answered immediately.
 */
export class WaitingRoom {
  #serve: Handler | undefined;
  #open: (serve: Handler) => void = () => undefined;
  readonly #opened = new Promise<Handler>((resolve) => {
    this.#open = resolve;
  });

  readonly handler: Handler = (request, bindings) => {
    if (this.#serve !== undefined) return this.#serve(request, bindings);
    if (new URL(request.url).pathname !== readyPath) {
      return this.#opened.then((serve) => serve(request, bindings));
    }
    const { body, ...rest } = notReady('starting');
    return new Response(body as string, rest);
  };

  open(serve: Handler): void {
    this.#serve = serve;
    this.#open(serve);
  }
}
