import { unreachable } from '../../assert.ts';
import type { RequestConnection } from '../../database/outcome.ts';
import type { DatabaseRequest } from '../../database/turn.ts';
import type { FeedRequest } from './feed-owner.ts';
import type { LiveOptions } from './live-connection.ts';

/** A request of a feed as the database takes it; `connection`: the feed's, as its calls name it. */
export function databaseRequestOf(
  request: FeedRequest,
  options: LiveOptions,
  connection: RequestConnection,
): DatabaseRequest {
  const { caller, connectionId, confirmed } = options;
  switch (request.kind) {
    case 'connect':
      return { kind: 'connect', caller, connectionId, stays: options.attached?.stays };
    case 'disconnect':
      return { kind: 'disconnect', connectionId };
    case 'call': {
      const { reducer, args, schemaVersion } = request;
      const call = { caller, connection, reducer, args, schemaVersion, confirmed };
      return { kind: 'call', call };
    }
    case 'procedure': {
      const { procedure, args, schemaVersion } = request;
      const called = { caller, connection, procedure, args, schemaVersion, confirmed };
      return { kind: 'procedure', procedure: called };
    }
    case 'subscribe':
      return { kind: 'subscribe', connection: options, subscribe: request };
    case 'resume':
      return { kind: 'resume', connection: options, resume: { ...request, confirmed } };
    case 'unsubscribe':
      return { kind: 'unsubscribe', connectionId, unsubscribe: request };
    case 'oneOff':
      return { kind: 'oneOff', connection: options, oneOff: request };
    default:
      return unreachable(request);
  }
}
