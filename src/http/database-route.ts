import { type HttpContext, targetOf } from './context.ts';
import type { Exchange, Reply } from './exchange.ts';
import type { Method, Route } from './route.ts';

/** Makes the routes of a database, whose endpoints take `context`. */
export function databaseRouter<Context extends HttpContext>(context: Context) {
  /** An unknown database is reported before an unsupported method. */
  const resolve = (exchange: Exchange) => void context.host.database(targetOf(exchange));
  return {
    resolve,
    /** A caller without a token gets an identity. */
    method: (run: DatabaseEndpoint<Context>): Method => ({
      token: 'anonymous',
      run: (exchange) => run(exchange, context),
    }),
    below: (path: string, methods: Route['methods']): Route => ({
      path: `/v1/database/:db/${path}`,
      resolve,
      methods,
    }),
  };
}

export type DatabaseEndpoint<Context extends HttpContext> = (
  exchange: Exchange,
  context: Context,
) => Reply | Promise<Reply>;
