import { limits } from '../../limits.ts';
import { executingText } from '../../live/live-queries.ts';
import type { PreparedQuery } from '../../live/prepared-query.ts';
import { invalid, SqlFailure } from '../../sql/failure.ts';
import type { DatabaseCore } from '../core.ts';
import type { OpenConnection, SubscribeRequest } from '../outcome.ts';
import { expandAll, isOfAll } from './whole-database.ts';

type Texts = Pick<SubscribeRequest, 'queries' | 'knowsEvents'>;

/** Prepares each text once. Throws the error of the first that cannot be watched. */
export function prepareSet(
  core: DatabaseCore,
  connection: OpenConnection,
  { queries, knowsEvents }: Texts,
): PreparedQuery[] {
  const { caller } = connection;
  const characters = queries.reduce((sum, text) => sum + text.length, 0);
  if (characters > limits.querySetCharactersMax) {
    throw invalid(
      `The queries of a subscription have at most ${limits.querySetCharactersMax} characters`,
    );
  }
  /** True if the client has written it. */
  const texts = new Map<string, boolean>();
  for (const text of queries) {
    const sql = text.trim();
    const isWritten = !isOfAll(sql);
    const all = isWritten ? [sql] : expandAll(core.program.sql, caller.rights);
    for (const one of all) texts.set(one, isWritten || texts.get(one) === true);
    if (texts.size > limits.querySetQueriesMax) {
      throw invalid(`A subscription has at most ${limits.querySetQueriesMax} queries`);
    }
  }
  return Array.from(texts, ([sql, isWritten]) => {
    return prepareOne(core, connection, { sql, isWritten, knowsEvents });
  });
}

interface OneText {
  readonly sql: string;
  readonly isWritten: boolean;
  readonly knowsEvents: boolean;
}

/** An error names the text if the client has written it. */
function prepareOne(
  core: DatabaseCore,
  { caller, dialect }: OpenConnection,
  { sql, isWritten, knowsEvents }: OneText,
): PreparedQuery {
  try {
    if (sql === '') throw invalid('SubscriptionError: Empty string');
    const query = core.live.queries.prepare(sql, caller.rights, dialect);
    if (query.table.isEvent && !knowsEvents) throw invalid(eventsRefused);
    return query;
  } catch (error) {
    if (!(error instanceof SqlFailure) || !isWritten) throw error;
    throw invalid(executingText(error.message, sql));
  }
}

const eventsRefused =
  'Subscribing to event tables requires WebSocket v2. ' +
  'Please upgrade your client SDK and regenerate your module bindings.';
