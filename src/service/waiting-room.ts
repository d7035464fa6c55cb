import { notReady, readyPath } from '../http/ready.ts';
import type { Handler } from './listener.ts';

/**
 * The port is taken before the databases start, so that a second service fails at once; requests
 * that come early wait here until there is somebody to answer them. Only whether the service is
 * ready is said at once.
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
